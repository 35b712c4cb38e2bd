"""A page that shows texts before and after, word by word: what was replaced, and what is in the clear."""

from collections import Counter
from collections.abc import Sequence

from custext_sql.html.escaped_pages import render_page
from custext_sql.kinds import KINDS
from custext_sql.parameters import count_of
from custext_sql.sanitizer.traced_text import Piece


def write_comparison(
    texts: Sequence[Sequence[Piece]], *, title: str, note: str = "", remarks: Sequence[str] | None = None
) -> str:
    """Return a self-contained HTML page that shows each text before and after, with each word marked by its kind.

    texts: the pieces of each text, as `Sanitizer.compare` returns them. title: the title of the page. note: a paragraph
    below the title. remarks: a line below each text; by default the number of its words that are in the clear.

    The page contains the original texts, so protect it like the data.
    """
    counts = Counter(piece.kind for text in texts for piece in text)
    lines = map(count_clear, texts) if remarks is None else remarks
    return render_page(
        "comparison.html",
        title=title,
        note=note,
        kinds=KINDS,
        counts=counts,
        texts=list(zip(texts, lines, strict=True)),
    )


def count_clear(text: Sequence[Piece]) -> str:
    """Return how many words of a text are in the clear, in words."""
    words = [piece for piece in text if piece.kind is not None]
    clear = sum(piece.in_clear for piece in words)
    return f"{clear:,} of {count_of(len(words), 'word')} in the clear" if words else "no words"
