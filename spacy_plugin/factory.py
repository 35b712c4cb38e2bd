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
        "language": None,
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
    database: Any,
    mapping: Any,
    eps: Any,
    epsilon: Any,
    plus: Any,
    policy: Any,
    calibration: Any,
    key_file: Any,
    language: Any,
    output: Any,
    sensitive: Any,
    mask_unknown: Any,
    carry: Any,
    dataset: Any,
) -> "CusText":
    """Return the component for a pipeline, made from its config. Raise CusTextError if the config is invalid.

    The component checks the values itself: spaCy's own messages about types print the whole config.

    Everything is optional. A setting that is not given comes from the key file, if there is one, else it has the
    default named here.

    database: path of the custext database; default: $CUSTEXT_DB, else the user's default database.
    mapping: name of a mapping; default: the database's default mapping.
    eps: privacy budget per word, 0 or 0.001 to 100; default: 1.0. epsilon: another name for it.
    plus: true keeps stopwords (CusText+); default: false.
    policy: what happens to units, unknown words, numbers, listed words, case and invisible characters: "strict"
        (default), "paper", or a dict such as {"unknown": "random", "keep_words": ["agent", "customer"]}.
    calibration: "paper" (default) or "tight"; see `custext_sql.Settings`.
    key_file: path of a key; the same key, record and text then give the same output. Set doc._.custext_record to a
        string on every Doc before it reaches the component.
    language: of the stopwords that `plus` keeps, or the name of a list of your own; see `custext stopwords`. Default:
        the key's, else the pipeline's. If the mapping was made with the stopwords of another language, it is refused.
    output: "annotate" (default) leaves the Doc unchanged and adds doc._.custext, doc._.custext_receipt,
        token._.custext and token._.custext_kind; "replace" returns a new Doc with the sanitized text.
    sensitive: which tokens are replaced, and at what eps; default: all. A choice such as
        {"@misc": "custext.entities.v1", "labels": ["PERSON"]}; see `spacy_plugin.sensitive_tokens`.
    mask_unknown: true masks unknown words and numbers even if the policy would keep them; false leaves them to the
        policy, which always decides on units and listed words; default: true if `sensitive` selects some of the tokens,
        else false.
    carry: what a new Doc takes over from the original, only with output "replace"; default: ["sentences", "entities"].
        See `spacy_plugin.new_docs.CARRIED` for the entries and for what each reveals.
    dataset: name of the data in the ledger, or a dict with "name", "second_mapping" and "reuse_key"; without it,
        nothing is entered in the ledger.
    """
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
        language=language,
        output=output,
        sensitive=sensitive,
        mask_unknown=mask_unknown,
        carry=carry,
        dataset=dataset,
        nlp=nlp,
    )
