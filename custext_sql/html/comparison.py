"""Texts before and after, word by word, on one page: what was drawn, and what stands in clear."""

from collections import Counter
from collections.abc import Sequence

from custext_sql.html.escaped_pages import render_page
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.replacer import Piece

LEGEND = {  # what a reader is told of each kind, and how a page calls it
    Kind.SAMPLED: ("drawn anew", "sampled"),
    Kind.UNKNOWN: ("not in the vocabulary", "unknown"),
    Kind.NUMBER: ("number", "number"),
    Kind.STOPWORD: ("stopword, kept", "stopword"),
    Kind.ENDING: ("ending, kept", "ending"),
    Kind.KEPT: ("not sensitive, kept", "kept"),
    Kind.ALONE: ("alone in its group, masked", "alone"),
}


def write_comparison(
    texts: Sequence[Sequence[Piece]], *, title: str, note: str = "", remarks: Sequence[str] | None = None
) -> str:
    """Return a page that shows each text before and after; it needs nothing but itself.

    remarks: what is said below each text, instead of how many of its words are in clear.
    """
    counts = Counter(piece.kind for text in texts for piece in text)
    said = map(_count_clear, texts) if remarks is None else remarks
    return render_page(
        "comparison.html",
        title=title,
        note=note,
        legend=LEGEND,
        counts=counts,
        texts=list(zip(texts, said, strict=True)),
    )


def _count_clear(text: Sequence[Piece]) -> str:
    words = [piece for piece in text if piece.kind is not None]
    clear = sum(piece.in_clear for piece in words)
    return f"{clear:,} of {len(words):,} words in clear" if words else "no words"
