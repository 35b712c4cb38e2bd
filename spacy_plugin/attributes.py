"""What the component leaves on a Doc: `doc._.custext` and its kin.

Everything lies in one entry of `doc.user_data`, in types that spaCy can write to bytes, so that it travels with the Doc
between processes and in files. On a new Doc, which may be released, that entry is a constant: counts and kinds would
tell about the original, for one whether the word of a one-word text is still the same.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from spacy.attrs import ORTH
from spacy.tokens import Doc, Token

from custext_sql import CusTextError, Kind
from spacy_plugin.new_text import NewText

if TYPE_CHECKING:
    from custext_sql import Receipt

KEY = ("._.", "custext_results", None, None)  # as spaCy keys extension attributes, so that it knows how to treat it
RECORD_KEY = ("._.", "custext_record", None, None)
_REPLACED = "replaced"  # what a new Doc has under the key


@dataclass(frozen=True, eq=False)
class Sanitized:
    """A document's new text, what each token is, and the receipt: what a Doc has that is left as it is otherwise."""

    text: NewText
    kinds: npt.NDArray[np.uint8]
    receipt: "Receipt"

    def store(self, doc: Doc) -> None:
        doc.user_data[KEY] = {  # type: ignore[index]
            "text": self.text.to_bytes(),
            "tokens": doc.to_array(ORTH).astype("<u8").tobytes(),
            "starts": self.text.starts.astype("<i4").tobytes(),
            "ends": self.text.ends.astype("<i4").tobytes(),
            "kinds": self.kinds.tobytes(),
            "receipt": {**vars(self.receipt), "budgets": list(self.receipt.budgets)},
        }


def mark_replaced(doc: Doc) -> None:
    """Leave on a new Doc that it is one, and nothing else."""
    doc.user_data[KEY] = _REPLACED  # type: ignore[index]


def is_sanitized(doc: Doc) -> bool:
    return doc.user_data.get(KEY) is not None  # type: ignore[call-overload]


def is_replaced(doc: Doc) -> bool:
    """Whether it is a new Doc, which has nothing but its text."""
    return bool(doc.user_data.get(KEY) == _REPLACED)  # type: ignore[call-overload]


def _read(doc: Doc) -> dict[str, Any] | None:
    found: dict[str, Any] | None = None if is_replaced(doc) else doc.user_data.get(KEY)  # type: ignore[call-overload]
    return found


def _find(doc: Doc) -> dict[str, Any] | None:
    """What is stored on a Doc that was left as it is."""
    found = _read(doc)
    if found is not None and found["tokens"] != doc.to_array(ORTH).astype("<u8").tobytes():
        raise _changed()
    return found


def _find_at(token: Token) -> dict[str, Any] | None:
    """The same, looking only at one token."""
    found = _read(token.doc)
    if found is not None:
        place = slice(8 * token.i, 8 * token.i + 8)
        if len(found["kinds"]) != len(token.doc) or found["tokens"][place] != token.orth.to_bytes(8, "little"):
            raise _changed()
    return found


def _changed() -> CusTextError:
    return CusTextError(
        "the tokens of this Doc are not those that were sanitized: what was merged, split or cut out since has no "
        "replacement; do that before the custext component"
    )


def get_text(doc: Doc) -> str | None:
    """The sanitized text; None before the component has seen the Doc."""
    if is_replaced(doc):
        return doc.text
    found = _find(doc)
    return None if found is None else found["text"].decode()


def get_receipt(doc: Doc) -> "Receipt | None":
    """What was drawn, let through and spent; None on a new Doc, whose receipt the component holds."""
    from custext_sql import Receipt

    found = _find(doc)
    return None if found is None else Receipt(**{**found["receipt"], "budgets": tuple(found["receipt"]["budgets"])})


def get_replacement(token: Token) -> str | None:
    """What stands in the sanitized text for the token; the token itself where it stays, and on a new Doc."""
    if is_replaced(token.doc):
        return token.text
    found = _find_at(token)
    if found is None:
        return None
    start, end = (int.from_bytes(found[bound][4 * token.i : 4 * token.i + 4], "little") for bound in ("starts", "ends"))
    return str(found["text"][start:end].decode())


def get_kind(token: Token) -> str | None:
    """sampled, stopword, unknown, number, ending or kept.

    Of a token with several words in it, the first of unknown, number, sampled, stopword and ending that occurs. None on
    a new Doc, where it would tell a drawn "and" from one that was kept.
    """
    found = _find_at(token)
    return None if found is None else Kind(found["kinds"][token.i]).name.lower()


_ATTRIBUTES: tuple[tuple[type[Doc] | type[Token], str, dict[str, Any]], ...] = (
    (Doc, "custext", {"getter": get_text}),
    (Doc, "custext_receipt", {"getter": get_receipt}),
    (Doc, "custext_record", {"default": None}),
    (Token, "custext", {"getter": get_replacement}),
    (Token, "custext_kind", {"getter": get_kind}),
)


def register_attributes() -> None:
    """Make those that are not there yet."""
    for owner, name, options in _ATTRIBUTES:
        if not owner.has_extension(name):
            owner.set_extension(name, **options)


def check_attributes() -> None:
    """Refuse to work beside attributes of the same names that somebody else made."""
    register_attributes()
    for owner, name, options in _ATTRIBUTES:
        if owner.get_extension(name)[2] is not options.get("getter"):
            raise CusTextError(f"{owner.__name__} already has an extension attribute {name}, made by somebody else")
