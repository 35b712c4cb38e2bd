"""An HTML page of Docs before and after, in the style of displaCy."""

from collections.abc import Iterable
from itertools import pairwise

from spacy.tokens import Doc

from custext_sql import CusTextError, Kind, Receipt
from custext_sql.html.comparison import write_comparison
from custext_sql.parameters import count_of
from custext_sql.sanitizer.traced_text import Piece
from spacy_plugin.factory import find_results, is_replaced


def render(docs: Doc | Iterable[Doc], *, title: str = "Before and after") -> str:
    """Return a self-contained HTML page that shows annotated Docs before and after, with every replaced token marked.

    The page contains the original words: show it only to people who may read them. Raise CusTextError if a Doc has not
    been through the component, or is a new Doc, which no longer has the original words.
    """
    several = [docs] if isinstance(docs, Doc) else list(docs)
    pieces = [_read_pieces(doc) for doc in several]
    return write_comparison(pieces, title=title, remarks=[_describe(doc._.custext_receipt) for doc in several])


def _describe(receipt: Receipt) -> str:
    units = f", {count_of(receipt.units, 'unit')} masked" if receipt.units else ""
    unchanged = "; unchanged" if receipt.texts_unchanged else ""
    clear = f"{count_of(receipt.characters_in_clear, 'character')} in the clear"
    return f"{count_of(receipt.words, 'word')}, {receipt.replaced:,} replaced{units}; {clear}{unchanged}"


def _read_pieces(doc: Doc) -> list[Piece]:
    if is_replaced(doc):
        raise CusTextError('this Doc no longer has the original words; to show both, set "output": "annotate"')
    if (results := find_results(doc)) is None:
        raise CusTextError("this Doc has not been through the custext component")
    pieces = []
    begins = [place for place, joined in enumerate(results["joined"]) if not joined]
    for start, end in pairwise([*begins, len(doc)]):
        span, kind = doc[start:end], doc[start]._.custext_kind
        has_word = kind != "kept" or any(character.isalnum() for character in span.text)
        after = "".join(token._.custext for token in span)
        pieces.append(Piece(span.text, after, Kind[kind.upper()] if has_word else None))
        if space := span[-1].whitespace_:
            pieces.append(Piece(space, space))
    return pieces
