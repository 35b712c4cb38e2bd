"""A verdict as lines of text, for the terminal."""

import textwrap
from collections.abc import Iterator

from custext_sql.experiments.verdict.figures import Sentence, Verdict

SECTIONS = {  # the heading of each part of a verdict
    "word": "For a word",
    "row": "For a row",
    "dataset": "For the whole dataset",
    "in_clear": "What passes in the clear",
    "advice": "What would help most",
    "limits": "What the colors do not tell you",
}


def write_verdict(verdict: Verdict, width: int = 80) -> list[str]:
    """Return the verdict as lines of at most that many characters."""
    lines = write_opening(verdict, width)
    for name, heading in SECTIONS.items():
        lines += ["", heading]
        for sentence in getattr(verdict, name):
            lines += _write_sentence(sentence, width)
    return lines


def write_opening(verdict: Verdict, width: int = 80) -> list[str]:
    """Return the first lines: the color, and what it means."""
    text = " ".join(sentence.text for sentence in verdict.summary)
    return textwrap.wrap(f"Verdict: {verdict.color}. {text}", width, break_on_hyphens=False)


def _write_sentence(sentence: Sentence, width: int) -> Iterator[str]:
    mark = f"  {sentence.color or '-':>5}  "
    yield from textwrap.wrap(
        sentence.text, width, initial_indent=mark, subsequent_indent=" " * len(mark), break_on_hyphens=False
    )
