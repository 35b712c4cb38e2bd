"""An HTML page of Docs before and after, in the style of displaCy."""

from collections.abc import Iterable

from spacy.tokens import Doc

from custext_sql import CusTextError, Kind, Piece, Receipt, write_comparison
from spacy_plugin.attributes import is_replaced


def render(docs: Doc | Iterable[Doc], *, title: str = "Before and after") -> str:
    """Return a self-contained HTML page that shows annotated Docs before and after, with every replaced token marked.

    The page contains the original words: show it only to people who may read them. Raise CusTextError if a Doc has not
    been through the component, or is a new Doc, which no longer has the original words.
    """
    several = [docs] if isinstance(docs, Doc) else list(docs)
    pieces = [_read_pieces(doc) for doc in several]
    return write_comparison(pieces, title=title, remarks=[_count(doc._.custext_receipt) for doc in several])


def _count(receipt: Receipt) -> str:
    words = "1 word" if receipt.words == 1 else f"{receipt.words:,} words"
    clear = receipt.characters_in_clear
    characters = "1 character" if clear == 1 else f"{clear:,} characters"
    return f"{words}, {receipt.sampled:,} replaced; {characters} in the clear"


def _read_pieces(doc: Doc) -> list[Piece]:
    if doc._.custext is None:
        raise CusTextError("this Doc has not been through the custext component")
    if is_replaced(doc):
        raise CusTextError('this Doc no longer has the original words; to show both, set "output": "annotate"')
    pieces = []
    for token in doc:
        has_word = token._.custext_kind != "kept" or any(character.isalnum() for character in token.text)
        pieces.append(Piece(token.text, token._.custext, Kind[token._.custext_kind.upper()] if has_word else None))
        if token.whitespace_:
            pieces.append(Piece(token.whitespace_, token.whitespace_))
    return pieces
