"""The entry point for spaCy: the factory `custext`, the choices its config can name and the attributes it sets.

Every pipeline in an environment imports this module, even if it does not use the component. So this module stays light;
the rest is imported when the component is added.
"""

from typing import TYPE_CHECKING, Any

from spacy.language import Language

from spacy_plugin import sensitive_tokens  # noqa: F401  (registers the choices)
from spacy_plugin.attributes import register_attributes

if TYPE_CHECKING:
    from spacy_plugin.component import CusText

register_attributes()


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
    """Return the component for a pipeline, made from its config. Raise CusTextError if the config is invalid.

    See `spacy_plugin.component.CusText` for the settings, all of which are optional. The component checks the values
    itself: spaCy's own messages about types print the whole config.
    """
    settings = locals()  # all arguments
    from spacy_plugin.component import CusText

    return CusText(**settings)
