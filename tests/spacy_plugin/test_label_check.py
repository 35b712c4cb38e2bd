"""Labels that no component of the pipeline sets are reported at the first Doc."""

import gc
import os
import pickle
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from custext_sql import CusTextError, PrivacyWarning, SettingError
from spacy_plugin.component import CusText

TEXT = "The doctor met Alice in Boston."
PATTERNS = [{"label": "PERSON", "pattern": "Alice"}, {"label": "GPE", "pattern": "Boston"}]
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


def make_pipeline(*before: str) -> Language:
    nlp = spacy.blank("en")
    for name in before:
        config = {"annotate_ents": True} if name == "span_ruler" else {}
        pipe: Any = nlp.add_pipe(name, config=config)
        if name == "attribute_ruler":
            pipe.add([[{"LOWER": "met"}]], {"TAG": "VBD"})
        elif name.endswith("_ruler"):
            pipe.add_patterns(PATTERNS)
    return nlp


def add(nlp: Language, database: Path, labels: Any, *, by: str = "labels", **config: Any) -> Language:
    name = "custext.entities.v1" if by == "labels" else "custext.tags.v1"
    sensitive = {"@misc": name, by: labels}
    nlp.add_pipe("custext", config={"database": str(database), "sensitive": sensitive, **config})
    return nlp


def train(nlp: Language, name: str, annotations: dict[str, Any]) -> Language:
    """Return the pipeline with an untrained component that has the labels of an example."""
    nlp.add_pipe(name)
    nlp.initialize(lambda: [Example.from_dict(nlp.make_doc(TEXT), annotations)])
    return nlp


def find_warnings(nlp: Language, *texts: str) -> list[str]:
    """Return the privacy warnings that the texts cause."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for text in texts:
            nlp(text)
    return [str(warning.message) for warning in caught if warning.category is PrivacyWarning]


@pytest.mark.slow
@pytest.mark.parametrize("output", ["annotate", "replace"])
@pytest.mark.parametrize(
    "before",
    [
        ("entity_ruler",),
        ("span_ruler",),
        ("future_entity_ruler",),
        ("lister",),
        ("sentencizer", "attribute_ruler", "entity_ruler", "merge_entities", "leave_alone"),
    ],
)
def test_a_label_that_nothing_sets_is_an_error(mapped_db: Path, before: tuple[str, ...], output: str) -> None:
    nlp = add(make_pipeline(*before), mapped_db, ["PERSN", "PERSON"], output=output)
    for text in (TEXT, TEXT, "Nobody"):  # every time, until it is corrected
        with pytest.raises(SettingError, match=WRONG):
            nlp(text)
    with pytest.raises(SettingError, match=WRONG):
        list(nlp.pipe([TEXT, TEXT]))
    assert not find_warnings(add(make_pipeline(*before), mapped_db, ["PERSON"], output=output), TEXT, "Nobody")


def test_an_error_handler_gets_every_doc_until_the_label_is_corrected(mapped_db: Path) -> None:
    nlp = add(make_pipeline("entity_ruler"), mapped_db, {"PERSN": 1.0})
    failed: list[Exception] = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.append(error))  # type: ignore[arg-type, return-value]
    assert list(nlp.pipe([TEXT] * 5, batch_size=2)) == []
    assert len(failed) == 5 and {type(error) for error in failed} == {SettingError}


def test_the_labels_of_a_trained_component_are_known(mapped_db: Path) -> None:
    entities = {"entities": [(15, 20, "PERSON"), (24, 30, "GPE")]}
    with pytest.raises(SettingError, match=WRONG):
        add(train(spacy.blank("en"), "ner", entities), mapped_db, ["PERSN"])(TEXT)
    assert not find_warnings(add(train(spacy.blank("en"), "ner", entities), mapped_db, ["PERSON", "GPE"]), TEXT)


def test_tags_are_checked_too(mapped_db: Path) -> None:
    tags = {"tags": ["DT", "NN", "VBD", "NNP", "IN", "NNP", "."]}
    wrong = r"^sensitive: no component of the pipeline sets the tag 'NNPX'; did you mean 'NNP'\?$"
    nlp = train(spacy.blank("en"), "tagger", tags)
    nlp.add_pipe("entity_ruler").add_patterns(PATTERNS)  # type: ignore[attr-defined]
    with pytest.raises(SettingError, match=wrong):
        add(nlp, mapped_db, ["NNPX"], by="tags")(TEXT)
    assert not find_warnings(add(train(spacy.blank("en"), "tagger", tags), mapped_db, ["NNP"], by="tags"), TEXT)
    nlp = train(spacy.blank("en"), "tagger", tags)
    ruler: Any = nlp.add_pipe("attribute_ruler")
    ruler.add([[{"LOWER": "alice"}]], {"TAG": "NNPX", "POS": "PROPN"})
    add(nlp, mapped_db, ["NNPX"], by="tags")
    assert not find_warnings(nlp, TEXT)
    assert nlp(TEXT)[3]._.custext_kind == "replaced"


def test_labels_may_be_added_until_the_first_doc_and_after_an_error(mapped_db: Path) -> None:
    nlp = add(make_pipeline("entity_ruler"), mapped_db, ["DRUG"])
    with pytest.raises(SettingError, match=r"the label 'DRUG'; labels: GPE, PERSON$"):
        nlp(TEXT)
    nlp.get_pipe("entity_ruler").add_patterns([{"label": "DRUG", "pattern": "aspirin"}])  # type: ignore[attr-defined]
    assert nlp(TEXT)._.custext == TEXT
    late = add(make_pipeline(), mapped_db, ["PERSON"])
    late.add_pipe("entity_ruler", first=True).add_patterns(PATTERNS)  # type: ignore[attr-defined]
    assert not find_warnings(late, TEXT)


def test_only_components_before_it_count(mapped_db: Path) -> None:
    nlp = add(make_pipeline("entity_ruler"), mapped_db, ["DRUG"])
    behind: Any = nlp.add_pipe("entity_ruler", name="behind")
    behind.add_patterns([{"label": "DRUG", "pattern": [{"LOWER": "aspirin"}]}])
    with pytest.raises(SettingError, match="'DRUG'; labels: GPE, PERSON$"):
        nlp(TEXT)
    nlp.rename_pipe("custext", "renamed")
    with pytest.raises(SettingError, match="'DRUG'"):
        nlp(TEXT)


@pytest.mark.parametrize("silent", ["find_doctors", "find_nothing"])
def test_it_is_only_a_warning_if_a_component_lists_no_labels(mapped_db: Path, silent: str) -> None:
    nlp = add(make_pipeline("entity_ruler", silent), mapped_db, ["PERSN", "GPE"])
    assert find_warnings(nlp, "Nobody", TEXT, TEXT) == [
        "sensitive: no component of the pipeline lists the label 'PERSN'; did you mean 'PERSON'? Its words stay in the "
        f"clear unless {silent} sets it"
    ]
    [alone] = find_warnings(add(make_pipeline(silent), mapped_db, ["PERSN"]), TEXT)
    assert "lists the label 'PERSN'. Its words stay in the clear unless" in alone
    assert not find_warnings(add(make_pipeline("entity_ruler", silent), mapped_db, ["PERSON"]), TEXT)


def test_a_span_ruler_that_does_not_annotate_entities_sets_no_labels(mapped_db: Path) -> None:
    nlp = make_pipeline("entity_ruler")
    nlp.add_pipe("span_ruler").add_patterns([{"label": "DRUG", "pattern": "aspirin"}])  # type: ignore[attr-defined]
    with pytest.raises(SettingError, match="'DRUG'; labels: GPE, PERSON$"):
        add(nlp, mapped_db, ["DRUG"])(TEXT)


def test_labels_that_the_docs_have_are_not_reported(mapped_db: Path) -> None:
    """The entities are set by hand, before a pipeline that lists all of its labels."""
    nlp = add(make_pipeline("entity_ruler"), mapped_db, ["NAME"])
    doc = nlp.make_doc(TEXT)
    doc.set_ents([Span(doc, 1, 2, label="NAME")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nlp(doc)[1]._.custext_kind == "unknown"
    nlp = add(make_pipeline("entity_ruler"), mapped_db, ["PERSN"])
    doc = nlp.make_doc(TEXT)
    doc.set_ents([Span(doc, 1, 2, label="NAME")])
    with pytest.warns(PrivacyWarning, match="'PERSN'; did you mean 'PERSON'.* unless something else sets it"):
        nlp(doc)


def test_nothing_is_reported_if_no_component_sets_labels(mapped_db: Path) -> None:
    for nlp in (add(make_pipeline("sentencizer"), mapped_db, ["NAME"]), add(make_pipeline(), mapped_db, ["NAME"])):
        doc = nlp.make_doc(TEXT)
        doc.set_ents([Span(doc, 1, 2, label="OTHER")])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert nlp(doc)._.custext == TEXT
        with pytest.raises(CusTextError, match="add one before custext"):
            nlp(TEXT)


def test_nothing_is_reported_outside_its_pipeline(mapped_db: Path) -> None:
    nlp = add(make_pipeline("entity_ruler"), mapped_db, ["PERSN"])
    component: Any = nlp.get_pipe("custext")
    other = make_pipeline("entity_ruler")
    by_hand = CusText(database=str(mapped_db), sensitive=component.sensitive, nlp=other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert component(other(TEXT))._.custext == TEXT
        assert by_hand(other(TEXT))._.custext == TEXT
    with pytest.raises(SettingError, match=WRONG):
        nlp(TEXT)


def test_a_component_does_not_ask_the_pipeline_it_was_sourced_from(mapped_db: Path, tmp_path: Path) -> None:
    add(make_pipeline("entity_ruler"), mapped_db, ["DRUG"]).to_disk(tmp_path / "source")
    config = make_pipeline("lister").config.copy()
    config["nlp"]["pipeline"] = ["lister", "custext"]
    config["components"]["custext"] = {"source": str(tmp_path / "source")}
    gc.disable()  # as if garbage collection came late
    try:
        nlp = spacy.util.load_model_from_config(config)
        assert not find_warnings(nlp, TEXT)
    finally:
        gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize("output", ["annotate", "replace"])
def test_the_check_works_in_copies_of_the_pipeline(mapped_db: Path, tmp_path: Path, output: str) -> None:
    nlp = add(make_pipeline("entity_ruler"), mapped_db, ["PERSN"], output=output)
    right = add(make_pipeline("entity_ruler"), mapped_db, ["PERSON"], output=output)
    for number, (pipeline, is_right) in enumerate([(nlp, False), (right, True)]):
        pipeline.to_disk(tmp_path / str(number))
        ruler, component = pipeline.get_pipe("entity_ruler"), pickle.loads(pickle.dumps(pipeline.get_pipe("custext")))
        ways = {
            "disk": spacy.load(tmp_path / str(number)),
            "bytes": spacy.blank("en", config=pipeline.config).from_bytes(pipeline.to_bytes()),
            "pickle": pickle.loads(pickle.dumps(pipeline)),
            "component": lambda text, ruler=ruler, component=component: component(ruler(spacy.blank("en")(text))),
        }
        for way, run in ways.items():
            if is_right:
                assert not find_warnings(run, TEXT), way
            else:
                with pytest.raises(SettingError, match=WRONG):
                    run(TEXT)


SCRIPT = """
    import multiprocessing, sys
    import spacy

    def main():
        multiprocessing.set_start_method(sys.argv[1])
        nlp = spacy.blank("en")
        nlp.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "alice"}])
        sensitive = {"@misc": "custext.entities.v1", "labels": [sys.argv[3]]}
        nlp.add_pipe("custext", config={"database": sys.argv[2], "sensitive": sensitive})
        print(len(list(nlp.pipe(["alice met bob"] * 20, n_process=2, batch_size=5))))

    if __name__ == "__main__":
        main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes_check_too(mapped_db: Path, tmp_path: Path, method: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    for label in ("PERSON", "PERSN") if method == "fork" else ("PERSN",):  # test_processes.py has what works
        command = [sys.executable, str(script), method, str(mapped_db), label]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
        assert (done.returncode == 0) == (label == "PERSON"), done.stderr
        assert done.stdout.strip() == ("20" if label == "PERSON" else "")
        assert ("the label 'PERSN'; did you mean 'PERSON'?" in done.stderr) == (label == "PERSN")
