"""The results that the component stores on a Doc, and the attributes that read them, such as `doc._.custext`.

Everything is in one entry of `doc.user_data`, in types that spaCy can serialize, so that it travels with the Doc to
other processes and to files. On a new Doc, which may be released, that entry is a constant. Counts and kinds would
reveal something about the original: for a text of one word, whether the word has changed.
"""

from typing import TYPE_CHECKING, Any

from spacy.attrs import ORTH
from spacy.tokens import Doc, Token

from custext_sql import CusTextError, Kind

if TYPE_CHECKING:  # both import Arrow
    from custext_sql import Receipt
    from spacy_plugin.documents import NewText

KEY = ("._.", "custext_results", None, None)  # the form of spaCy's keys for extension attributes
RECORD_KEY = ("._.", "custext_record", None, None)
_REPLACED = "replaced"  # what a new Doc has under KEY


def store_results(doc: Doc, text: "NewText", receipt: "Receipt") -> None:
    """Store the results on a Doc that is only annotated."""
    doc.user_data[KEY] = {  # type: ignore[index]
        "text": text.content,
        "tokens": doc.to_array(ORTH).astype("<u8").tobytes(),
        "starts": text.starts.astype("<i4").tobytes(),
        "ends": text.ends.astype("<i4").tobytes(),
        "kinds": text.kinds.tobytes(),
        "joined": text.joined.tobytes(),
        "receipt": {**vars(receipt), "budgets": list(receipt.budgets)},
    }


def mark_replaced(doc: Doc) -> None:
    """Mark a new Doc as such, and store nothing else on it."""
    doc.user_data[KEY] = _REPLACED  # type: ignore[index]


def is_sanitized(doc: Doc) -> bool:
    """Return whether the Doc has been through the component, in either output mode."""
    return doc.user_data.get(KEY) is not None  # type: ignore[call-overload]


def is_replaced(doc: Doc) -> bool:
    """Return whether this is a new Doc, which has no results except its text."""
    return bool(doc.user_data.get(KEY) == _REPLACED)  # type: ignore[call-overload]


def _find(doc: Doc, token: Token | None = None) -> dict[str, Any] | None:
    """Return the results stored on an annotated Doc, else None. Raise CusTextError if its tokens have changed since.

    token: the only one to look at, because looking at all of them for each would take long.
    """
    found: dict[str, Any] | None = doc.user_data.get(KEY)  # type: ignore[call-overload]
    if found is None or is_replaced(doc):
        return None
    if token is None:
        is_same = found["tokens"] == doc.to_array(ORTH).astype("<u8").tobytes()
    else:
        stored = found["tokens"][8 * token.i : 8 * token.i + 8]
        is_same = len(found["kinds"]) == len(doc) and stored == token.orth.to_bytes(8, "little")
    if not is_same:
        raise CusTextError(
            "the tokens of this Doc have changed since it was sanitized; merge, split or remove tokens before the "
            "custext component"
        )
    return found


def get_text(doc: Doc) -> str | None:
    """Return the sanitized text; None if the Doc has not been through the component."""
    if is_replaced(doc):
        return doc.text
    found = _find(doc)
    return None if found is None else found["text"].decode()


def get_receipt(doc: Doc) -> "Receipt | None":
    """Return the receipt of the Doc; None on a new Doc, which only the component's own receipt counts."""
    from custext_sql import Receipt

    found = _find(doc)
    return None if found is None else Receipt(**{**found["receipt"], "budgets": tuple(found["receipt"]["budgets"])})


def get_replacement(token: Token) -> str | None:
    """Return the replacement of the token; the token itself if it was kept, and on a new Doc.

    If a word or unit spans several tokens, its output is the replacement of the first; that of the others is empty,
    or what follows the word.
    """
    if is_replaced(token.doc):
        return token.text
    found = _find(token.doc, token)
    if found is None:
        return None
    start, end = (int.from_bytes(found[bound][4 * token.i : 4 * token.i + 4], "little") for bound in ("starts", "ends"))
    return str(found["text"][start:end].decode())


def get_kind(token: Token) -> str | None:
    """Return the kind of the token: replaced, stopword, unknown, number, ending, kept, alone or unit.

    A token of several words, or parts of words, has the first kind that occurs among unit, unknown, alone, number,
    replaced, stopword and ending. None on a new Doc, where the kind would distinguish a drawn "and" from a kept one.
    """
    found = _find(token.doc, token)
    return None if found is None else Kind(found["kinds"][token.i]).name.lower()


def find_joined(doc: Doc) -> list[bool]:
    """Return for each token of an annotated Doc whether it begins within a word that began in an earlier token."""
    found = _find(doc) or {}
    return [flag != 0 for flag in found.get("joined", bytes(len(doc)))]


_ATTRIBUTES: tuple[tuple[type[Doc] | type[Token], str, dict[str, Any]], ...] = (
    (Doc, "custext", {"getter": get_text}),
    (Doc, "custext_receipt", {"getter": get_receipt}),
    (Doc, "custext_record", {"default": None}),
    (Token, "custext", {"getter": get_replacement}),
    (Token, "custext_kind", {"getter": get_kind}),
)


def register_attributes() -> None:
    """Register the extension attributes that do not exist yet."""
    for owner, name, options in _ATTRIBUTES:
        if not owner.has_extension(name):
            owner.set_extension(name, **options)


def check_attributes() -> None:
    """Raise CusTextError if other code has registered attributes with the same names."""
    register_attributes()
    for owner, name, options in _ATTRIBUTES:
        if owner.get_extension(name)[2] is not options.get("getter"):
            raise CusTextError(
                f"{owner.__name__} already has an extension attribute {name!r} from other code; give that one another "
                f'name, or remove it with {owner.__name__}.remove_extension("{name}")'
            )
