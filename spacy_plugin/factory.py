"""What spaCy finds by entry point: the factory `custext`, the choices for its config, the attributes it sets.

Every pipeline in an environment imports this module, whether it uses the component or not; so it stays light, and what
the component needs is imported when it is added.
"""

from typing import TYPE_CHECKING, Any

from pydantic import StrictBool, StrictFloat, StrictInt, StrictStr
from spacy.language import Language

from spacy_plugin import sensitive_tokens  # noqa: F401  (registers the choices)
from spacy_plugin.attributes import register_attributes

if TYPE_CHECKING:
    from spacy_plugin.component import CusText

register_attributes()


@Language.factory(
    "custext",
    assigns=["doc._.custext", "doc._.custext_receipt", "token._.custext", "token._.custext_kind"],
    default_config={
        "database": None,
        "mapping": None,
        "eps": None,
        "epsilon": None,
        "plus": None,
        "policy": None,
        "calibration": None,
        "key_file": None,
        "output": "annotate",
        "sensitive": None,
        "mask_unknown": None,
        "carry": None,
        "dataset": None,
    },
)
def make_custext(
    nlp: Language,
    name: str,
    database: StrictStr | None,
    mapping: StrictStr | None,
    eps: StrictFloat | StrictInt | None,
    epsilon: StrictFloat | StrictInt | None,
    plus: StrictBool | None,
    policy: StrictStr | dict[str, str] | None,
    calibration: StrictStr | None,
    key_file: StrictStr | None,
    output: StrictStr,
    sensitive: Any,
    mask_unknown: StrictBool | None,
    carry: list[StrictStr] | None,
    dataset: StrictStr | dict[str, Any] | None,
) -> "CusText":
    """Make the component for a pipeline, from its config."""
    from spacy_plugin.component import CusText

    return CusText(
        name,
        database=database,
        mapping=mapping,
        eps=eps,
        epsilon=epsilon,
        plus=plus,
        policy=policy,
        calibration=calibration,
        key_file=key_file,
        output=output,
        sensitive=sensitive,
        mask_unknown=mask_unknown,
        carry=carry,
        dataset=dataset,
        nlp=nlp,
    )
