"""How a verdict is written: its numbers, and its lines on the terminal."""

import math
import textwrap
from collections.abc import Iterator

from custext_sql.experiments.verdict.figures import Sentence, Verdict

_LARGEST_FACTOR = 1e6


def write_share(share: float) -> str:
    """Return a share, 0 to 1, as a percentage that never rounds something to nothing, or less than all to all."""
    if share <= 0.0 or share >= 1.0:
        return f"{share:.0%}"
    if share < 0.0005:
        return "less than 0.1%"
    if share > 0.9995:
        return "more than 99.9%"
    return f"{share:.0%}" if 0.0995 <= share < 0.985 else f"{share:.1%}".replace(".0%", "%")


def write_count(number: float) -> str:
    """Return a whole number with commas; above 1,000, with three digits that count."""
    rounded = round(number, -max(0, math.floor(math.log10(number)) - 2)) if number >= 1000 else number
    return f"{rounded:,.0f}"


def write_eps(eps: float) -> str:
    """Return an eps, or a sum of eps."""
    return f"{eps:,.0f}" if eps >= 1000 else f"{eps:.3g}"


def write_factor(eps: float) -> str:
    """Return e^eps, as a factor."""
    if eps > math.log(_LARGEST_FACTOR):
        return "more than a million"
    return f"{math.exp(eps):.2g}" if eps < math.log(10) else write_count(math.exp(eps))


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
