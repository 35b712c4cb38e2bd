"""What every pipeline of an environment imports: the factory `custext`, and attributes such as `doc._.custext`.

SpaCy loads this module even for pipelines without the component, so it stays light.

The results of a Doc are in one entry of `doc.user_data`, in types that spaCy can serialize. On a new Doc, which may be
released, that entry is a constant. Counts and kinds would reveal something about the original: for a text of one word,
whether the word has changed.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from spacy.attrs import ORTH
from spacy.language import Language
from spacy.tokens import Doc, Token

from custext_sql import CusTextError, Kind
from spacy_plugin import sensitive_tokens  # noqa: F401  (registers the choices that a config can name)

if TYPE_CHECKING:  # all of them import Arrow
    from custext_sql import Receipt
    from spacy_plugin.component import CusText
    from spacy_plugin.new_docs import NewText

KEY = ("._.", "custext_results", None, None)  # the form of spaCy's keys for extension attributes
RECORD_KEY = ("._.", "custext_record", None, None)
REPLACED = "replaced"  # what a new Doc has under KEY


@Language.factory(
    "custext", assigns=["doc._.custext", "doc._.custext_receipt", "token._.custext", "token._.custext_kind"]
)
def make_custext(
    nlp: Language,
    name: str,
    database: Any = None,
    mapping: Any = None,
    eps: Any = None,
    plus: Any = None,
    policy: Any = None,
    calibration: Any = None,
    key_file: Any = None,
    language: Any = None,
    output: Any = "annotate",
    sensitive: Any = None,
    mask_unknown: Any = None,
    carry: Any = None,
    dataset: Any = None,
    ledger: Any = None,
) -> "CusText":
    """Return the component for a pipeline, made from its config; see `spacy_plugin.component.CusText`.

    The component checks the types itself: spaCy's own messages about them print the whole config.
    """
    settings = locals()  # all arguments
    from spacy_plugin.component import CusText

    return CusText(**settings)


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


def is_sanitized(doc: Doc) -> bool:
    """Return whether the Doc has been through the component, in either output mode."""
    return KEY in doc.user_data  # type: ignore[comparison-overlap]


def is_replaced(doc: Doc) -> bool:
    """Return whether this is a new Doc, which has no results except its text."""
    return bool(doc.user_data.get(KEY) == REPLACED)  # type: ignore[call-overload]


def find_results(doc: Doc, token: Token | None = None) -> dict[str, Any] | None:
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


def _get_text(doc: Doc) -> str | None:
    """Return the sanitized text; None if the Doc has not been through the component."""
    if is_replaced(doc):
        return doc.text
    found = find_results(doc)
    return None if found is None else found["text"].decode()


def _get_receipt(doc: Doc) -> "Receipt | None":
    """Return the receipt of the Doc; None on a new Doc, which only the component's own receipt counts."""
    from custext_sql import Receipt

    found = find_results(doc)
    return None if found is None else Receipt(**{**found["receipt"], "budgets": tuple(found["receipt"]["budgets"])})


def _get_replacement(token: Token) -> str | None:
    """Return the replacement of the token, which for a word of several tokens is at the first; itself on a new Doc."""
    if is_replaced(token.doc):
        return token.text
    found = find_results(token.doc, token)
    if found is None:
        return None
    start, end = (int.from_bytes(found[bound][4 * token.i : 4 * token.i + 4], "little") for bound in ("starts", "ends"))
    return str(found["text"][start:end].decode())


def _get_kind(token: Token) -> str | None:
    """Return the kind of the token, such as "replaced": of several words, the heaviest one in `custext_sql.kinds`.

    None on a new Doc, where the kind would distinguish a drawn "and" from a kept one.
    """
    found = find_results(token.doc, token)
    return None if found is None else Kind(found["kinds"][token.i]).name.lower()


_ATTRIBUTES: tuple[tuple[type[Doc] | type[Token], str, dict[str, Any]], ...] = (
    (Doc, "custext", {"getter": _get_text}),
    (Doc, "custext_receipt", {"getter": _get_receipt}),
    (Doc, "custext_record", {"default": None}),
    (Token, "custext", {"getter": _get_replacement}),
    (Token, "custext_kind", {"getter": _get_kind}),
)


def register_attributes() -> None:
    """Register the extension attributes. Raise CusTextError if other code has registered some of the same names."""
    for owner, name, options in _ATTRIBUTES:
        if not owner.has_extension(name):
            owner.set_extension(name, **options)
        elif owner.get_extension(name)[2] is not options.get("getter"):
            raise CusTextError(
                f"{owner.__name__} already has an extension attribute {name!r} from other code; give that one another "
                f'name, or remove it with {owner.__name__}.remove_extension("{name}")'
            )


with suppress(CusTextError):  # the component reports it; other pipelines import this module too
    register_attributes()
