"""Labels that no component of the pipeline sets are reported at the first Doc."""

import gc
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from custext_sql import CusTextError
from custext_sql.errors import PrivacyWarning, SettingError
from spacy_plugin.component import CusText
from tests.spacy_plugin.pipelines import PATTERNS, copy_pipeline, make_pipeline

TEXT = "The doctor met Alice in Boston."
WRONG = r"^sensitive: no component of the pipeline sets the label 'PERSN'; did you mean 'PERSON'\?$"


@Language.component("find_doctors")
def find_doctors(doc: Doc) -> Doc:
    """Set entities without declaring it."""
    doc.ents = [*doc.ents, *(Span(doc, token.i, token.i + 1, label="JOB") for token in doc if token.text == "doctor")]
    return doc


@Language.component("find_nothing", assigns=["doc.ents"])
def find_nothing(doc: Doc) -> Doc:
    """Declare that it sets entities, but list no labels."""
    doc.set_ents([], default="outside")
    return doc


@Language.component("leave_alone", assigns=["doc.user_data"])
def leave_alone(doc: Doc) -> Doc:
    return doc


class Lister:
    """A component that finds no entities but lists its labels."""

    labels = ("PERSON",)

    def __call__(self, doc: Doc) -> Doc:
        doc.set_ents([], default="outside")
        return doc


@Language.factory("lister", assigns=["doc.ents"])
def make_lister(nlp: Language, name: str) -> Lister:
    return Lister()


def open_pipeline(database: Path, *before: str, labels: Any, **config: Any) -> Language:
    """Return a pipeline that replaces entities with these labels."""
    nlp = make_pipeline(database, *before, sensitive={"@misc": "custext.entities.v1", "labels": labels}, **config)
    if "attribute_ruler" in before:
        nlp.get_pipe("attribute_ruler").add([[{"LOWER": "met"}]], {"TAG": "VBD"})  # type: ignore[attr-defined]
    return nlp


def find_warnings(nlp: Any, *texts: str | Doc) -> list[str]:
    """Return the privacy warnings that the texts cause."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for text in texts:
            nlp(text)
    return [str(warning.message) for warning in caught if warning.category is PrivacyWarning]


@pytest.mark.slow
@pytest.mark.parametrize(
    "before",
    [("span_ruler",), ("lister",), ("sentencizer", "entity_ruler", "merge_entities", "attribute_ruler", "leave_alone")],
)
def test_a_label_that_nothing_sets_is_an_error(mapped_db: Path, before: tuple[str, ...]) -> None:
    nlp = open_pipeline(mapped_db, *before, labels=["PERSN", "PERSON"])
    for text in (TEXT, TEXT, "Nobody"):  # every time, until it is corrected
        with pytest.raises(SettingError, match=WRONG):
            nlp(text)
    with pytest.raises(SettingError, match=WRONG):
        list(nlp.pipe([TEXT, TEXT]))
    assert not find_warnings(open_pipeline(mapped_db, *before, labels=["PERSON"]), TEXT, "Nobody")


@pytest.mark.slow
def test_tags_are_checked_too(mapped_db: Path) -> None:
    def open_tagged(tag: str, *after: str) -> Language:
        nlp = spacy.blank("en")
        nlp.add_pipe("tagger")
        tags = {"tags": ["DT", "NN", "VBD", "NNP", "IN", "NNP", "."]}
        nlp.initialize(lambda: [Example.from_dict(nlp.make_doc(TEXT), tags)])
        for name in after:
            ruler: Any = nlp.add_pipe(name)
            ruler.add([[{"LOWER": "alice"}]], {"TAG": "NNPX", "POS": "PROPN"})
        sensitive = {"@misc": "custext.tags.v1", "tags": [tag]}
        nlp.add_pipe("custext", config={"database": str(mapped_db), "sensitive": sensitive})
        return nlp

    wrong = r"^sensitive: no component of the pipeline sets the tag 'NNPX'; did you mean 'NNP'\?$"
    with pytest.raises(SettingError, match=wrong):
        open_tagged("NNPX")(TEXT)
    assert not find_warnings(open_tagged("NNP"), TEXT)
    nlp = open_tagged("NNPX", "attribute_ruler")
    assert not find_warnings(nlp, TEXT)
    assert nlp(TEXT)[3]._.custext_kind == "replaced"


def test_labels_may_be_added_before_it_until_the_first_doc_and_after_an_error(mapped_db: Path) -> None:
    nlp = open_pipeline(mapped_db, "entity_ruler", labels=["DRUG"])
    drug = [{"label": "DRUG", "pattern": [{"LOWER": "aspirin"}]}]
    nlp.add_pipe("entity_ruler", name="behind").add_patterns(drug)  # type: ignore[attr-defined]
    for name, other in (("custext", "renamed"), ("renamed", "custext")):
        with pytest.raises(SettingError, match=r"the label 'DRUG'; labels: GPE, PERSON$"):
            nlp(TEXT)
        nlp.rename_pipe(name, other)
    nlp.get_pipe("entity_ruler").add_patterns(drug)  # type: ignore[attr-defined]
    assert nlp(TEXT)._.custext == TEXT
    late = open_pipeline(mapped_db, labels=["PERSON"])
    late.add_pipe("entity_ruler", first=True).add_patterns(PATTERNS)  # type: ignore[attr-defined]
    assert not find_warnings(late, TEXT)


@pytest.mark.parametrize("silent", ["find_doctors", "find_nothing"])
def test_it_is_only_a_warning_if_a_component_lists_no_labels(mapped_db: Path, silent: str) -> None:
    nlp = open_pipeline(mapped_db, "entity_ruler", silent, labels=["PERSN", "GPE"])
    assert find_warnings(nlp, "Nobody", TEXT, TEXT) == [
        "sensitive: no component of the pipeline lists the label 'PERSN'; did you mean 'PERSON'? Its words stay in the "
        f"clear unless {silent} sets it"
    ]
    [alone] = find_warnings(open_pipeline(mapped_db, silent, labels=["PERSN"]), TEXT)
    assert "lists the label 'PERSN'. Its words stay in the clear unless" in alone
    assert not find_warnings(open_pipeline(mapped_db, "entity_ruler", silent, labels=["PERSON"]), TEXT)


def test_labels_that_the_docs_have_are_not_reported(mapped_db: Path) -> None:
    """The entities are set by hand, before a pipeline that lists all of its labels."""
    for label in ("NAME", "PERSN"):
        nlp = open_pipeline(mapped_db, "entity_ruler", labels=[label])
        doc = nlp.make_doc(TEXT)
        doc.set_ents([Span(doc, 1, 2, label="NAME")])
        found = find_warnings(nlp, doc)
        assert bool(found) == (label == "PERSN")
    assert "'PERSN'; did you mean 'PERSON'? Its words stay in the clear unless something else sets it" in found[0]


def test_nothing_is_reported_outside_its_pipeline_or_if_no_component_sets_labels(mapped_db: Path) -> None:
    nlp = open_pipeline(mapped_db, "entity_ruler", labels=["PERSN"])
    component: Any = nlp.get_pipe("custext")
    other = spacy.blank("en")
    other.add_pipe("entity_ruler").add_patterns(PATTERNS)  # type: ignore[attr-defined]
    by_hand = CusText(database=str(mapped_db), sensitive=component.sensitive, nlp=other)
    assert not find_warnings(component, other(TEXT)) and not find_warnings(by_hand, other(TEXT))
    with pytest.raises(SettingError, match=WRONG):
        nlp(TEXT)
    for before in ((), ("sentencizer",)):
        nlp = open_pipeline(mapped_db, *before, labels=["NAME"])
        doc = nlp.make_doc(TEXT)
        doc.set_ents([Span(doc, 1, 2, label="OTHER")])
        assert not find_warnings(nlp, doc) and doc._.custext == TEXT
        with pytest.raises(CusTextError, match="add one before custext"):
            nlp(TEXT)


@pytest.mark.slow
def test_a_component_does_not_ask_the_pipeline_it_was_sourced_from(mapped_db: Path, tmp_path: Path) -> None:
    open_pipeline(mapped_db, "entity_ruler", labels=["DRUG"]).to_disk(tmp_path / "source")
    config = make_pipeline(mapped_db, "lister").config.copy()
    config["components"]["custext"] = {"source": str(tmp_path / "source")}
    gc.disable()  # as if garbage collection came late
    try:
        nlp = spacy.util.load_model_from_config(config)
        assert not find_warnings(nlp, TEXT)
    finally:
        gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize("output", ["annotate", "replace"])
@pytest.mark.parametrize("label", ["PERSN", "PERSON"])
def test_the_check_works_in_copies_of_the_pipeline(mapped_db: Path, tmp_path: Path, label: str, output: str) -> None:
    nlp = open_pipeline(mapped_db, "entity_ruler", labels=[label], output=output)
    ruler, component = nlp.get_pipe("entity_ruler"), pickle.loads(pickle.dumps(nlp.get_pipe("custext")))
    copies: list[Any] = [*copy_pipeline(nlp, tmp_path / label).values()]
    for run in (*copies, lambda text: component(ruler(nlp.make_doc(text)))):
        if label == "PERSON":
            assert not find_warnings(run, TEXT)
        else:
            with pytest.raises(SettingError, match=WRONG):
                run(TEXT)
