"""A picture of Docs before and after, in the manner of displaCy."""

from collections.abc import Iterable

from spacy.tokens import Doc

from custext_sql import CusTextError, Kind, Piece, Receipt, write_comparison
from spacy_plugin.attributes import is_replaced


def render(docs: Doc | Iterable[Doc], *, title: str = "Before and after") -> str:
    """Return a self-contained HTML page of Docs that the component has annotated; each replaced token is marked.

    It shows the original words: it is for the eyes of those who may read them.
    """
    several = [docs] if isinstance(docs, Doc) else list(docs)
    pieces = [_read_pieces(doc) for doc in several]
    return write_comparison(pieces, title=title, remarks=[_count(doc._.custext_receipt) for doc in several])


def _count(receipt: Receipt) -> str:
    return f"{receipt.words:,} words, {receipt.sampled:,} drawn; {receipt.characters_in_clear:,} characters in clear"


def _read_pieces(doc: Doc) -> list[Piece]:
    if doc._.custext is None:
        raise CusTextError("this Doc has not passed the custext component")
    if is_replaced(doc):
        raise CusTextError('this Doc has only the new text; a picture of both needs Docs of output = "annotate"')
    pieces = []
    for token in doc:
        has_word = token._.custext_kind != "kept" or any(character.isalnum() for character in token.text)
        pieces.append(Piece(token.text, token._.custext, Kind[token._.custext_kind.upper()] if has_word else None))
        if token.whitespace_:
            pieces.append(Piece(token.whitespace_, token.whitespace_))
    return pieces
