"""The section of a report on what passes in the user's data."""

from html import escape

from custext_sql.experiments.report.contents import LetThrough
from custext_sql.experiments.report.elements import trace_count

_FATES = {  # what becomes of words: of which count, how a reader is told, whether it stands in clear, in which colour
    "sampled": ("drawn anew", False, "#4c9f70"),
    "numbers": ("numbers, changed digit by digit or masked", False, "#e0b252"),
    "unknown_masked": ("not in the vocabulary, masked", False, "#b9a7d6"),
    "unknown_random": ("not in the vocabulary, replaced at random", False, "#9bb8d3"),
    "alone_masked": ("alone in their group once stopwords are kept, masked", False, "#8d7fb0"),
    "stopwords": ("stopwords, kept", True, "#aab4c0"),
    "endings": ("endings such as 's, kept", True, "#c9d0d8"),
    "unknown_kept": ("not in the vocabulary, kept", True, "#d96459"),
}


def find_share_in_clear(found: LetThrough) -> tuple[float, list[str]]:
    """Of all words, those that stand as they were without being drawn, and the rows that say so."""
    kept = [found.counts[name] for name, (_, in_clear, _) in _FATES.items() if in_clear]
    words = found.counts["words"]
    share = sum(number.value or 0.0 for number in kept) / max(words.value or 0.0, 1.0)
    return share, [number.measurement_id for number in (*kept, words)]


def write_let_through(found: LetThrough | None) -> str:
    """How many words are drawn, and what becomes of the others."""
    title = "<h2>What passes in your data</h2>"
    if found is None:
        return f"{title}<p>Name your texts to see it: <code>custext report --data FILE --column NAME</code></p>"
    words = max(found.counts["words"].value or 0.0, 1.0)
    fates = [(name, *fate) for name, fate in _FATES.items() if found.counts[name].value]
    bar = "".join(
        f'<i style="background:{colour};width:{100.0 * (found.counts[name].value or 0.0) / words:.3f}%" '
        f'title="{escape(label)}"></i>'
        for name, label, _, colour in fates
    )
    key = "".join(
        f'<li><i style="background:{colour}"></i>{escape(label)}{" (in clear)" if in_clear else ""}'
        f"<b>{trace_count(found.counts[name])}</b></li>"
        for name, label, in_clear, colour in fates
    )
    total, rows, clear, symbols = (
        trace_count(found.counts[name]) for name in ("words", "rows", "characters_in_clear", "symbols")
    )
    return (
        f"{title}<p>{escape(found.dataset)}: {total} words in {rows} texts under policy {escape(found.policy)}"
        f"{', stopwords kept' if found.plus else ''}. In clear stand {clear} characters of words and {symbols} symbols."
        "</p>"
        f'<div class="bar">{bar}</div><ul class="key">{key}</ul>'
    )
