"""The config of the component: what it accepts, and where its errors point."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc

from custext_sql import CusTextError, Policy, build_mapping, make_key
from spacy_plugin.component import CusText
from tests.spacy_plugin.pipelines import copy_pipeline, give_records, kinds_of, make_pipeline


@pytest.mark.slow
def test_a_key_needs_records_and_the_settings_it_was_made_for(english_db: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    make_key(key, english_db, eps=2.0, plus=True)
    nlp = make_pipeline(english_db, key_file=str(key))
    with pytest.raises(CusTextError, match="set doc._.custext_record to a string"):
        nlp("doctor")
    doc = nlp.make_doc("doctor")
    doc._.custext_record = 3
    with pytest.raises(CusTextError, match="found int"):
        nlp(doc)
    entities = {"@misc": "custext.entities.v1", "labels": {"PERSON": 1.0}}
    for wrong in ({"eps": 1.0}, {"plus": False}, {"policy": "paper"}, {"sensitive": entities}):
        with pytest.raises(CusTextError, match="this key is for"):
            make_pipeline(english_db, key_file=str(key), **wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"nothing": 1}, "nothing"),
        ({"eps": "1"}, "^eps must be a number; found str$"),
        ({"eps": 0.0005}, "^eps"),
        ({"plus": 1}, "^plus must be a bool"),
        ({"policy": "secret"}, "policy"),
        ({"policy": {"nothing": "keep"}}, "^policy has no part 'nothing'; parts: "),
        ({"policy": {"units": "hide"}}, "^policy: units must be one of mask, keep; found 'hide'"),
        ({"policy": {"keep_words": ["alice", 3]}}, "^policy: keep_words must be a list"),
        ({"policy": ["strict"]}, "^policy must be a name, or a table of its parts; found list"),
        ({"calibration": "loose"}, "calibration"),
        ({"mapping": 3}, "^mapping must be the name of a mapping; found int$"),
        ({"database": 3}, "database"),
        ({"database": "/nowhere/custext.duckdb"}, "database"),
        ({"key_file": "/nowhere/key"}, "^key_file: "),
        ({"mask_unknown": "yes"}, "^mask_unknown must be true or false; found str"),
        ({"output": "nothing"}, "output"),
        ({"carry": ["lemma"], "output": "replace"}, "^carry: 'lemma' cannot be .*: sentences, .*, user_data$"),
        ({"carry": "pos", "output": "replace"}, r'^carry must be a list, as in \["pos"\]; found str'),
        ({"carry": ["pos"]}, '^carry applies only to new Docs: set "output": "replace"'),
        ({"carry": [3], "output": "replace"}, "^carry must be a list of names; found int$"),
        ({"dataset": 5}, "^dataset must be a name, .*; found int$"),
        ({"dataset": ""}, "^dataset: the dataset name must not be empty"),
        ({"dataset": {"nmae": "x"}}, "^dataset has no part 'nmae'; did you mean 'name'"),
        ({"dataset": {"second_mapping": True}}, "^dataset must have a name"),
        ({"dataset": {"name": "x", "reuse_key": "no"}}, "^dataset: reuse_key must be true or false; found str"),
        ({"dataset": {"name": "x", "budget_total": 3.0}}, "^dataset: a pipeline cannot keep budget_total"),
        ({"sensitive": "entities"}, "sensitive"),
        ({"sensitive": {"labels": ["PERSON"]}}, 'sensitive .*found a dict without "@misc"'),
        ({"sensitive": {"@misc": "custext.entities.v1", "labels": []}}, "labels"),
        ({"sensitive": {"@misc": "custext.entities.v1", "labels": {"PERSON": "0.5"}}}, "labels"),
        ({"sensitive": {"@misc": "custext.words.v1", "words": ["alice", "New York"]}}, "entry 2 is not"),
        ({"sensitive": {"@misc": "custext.entities.v1", "labels": {"PERSON": 0.0005}}}, "PERSON"),
        ({"sensitive": {"@misc": "custext.entities.v1", "labels": ["PERSON"], "others": 1000}}, "others"),
        ({"sensitive": {"@misc": "custext.parts_of_speech.v1", "tags": ["NAME"]}}, "tags"),
        ({"sensitive": {"@misc": "custext.words.v1"}}, "words"),
        ({"sensitive": {"@misc": "custext.words.v1", "words": []}}, "words"),
        ({"sensitive": {"@misc": "custext.words.v1", "path": "/nowhere/words.txt"}}, "path"),
        ({"sensitive": {"@misc": "custext.all_but_stopwords.v1"}, "plus": False}, "plus"),
    ],
)
def test_an_invalid_config_is_an_error_when_the_component_is_added(
    english_db: Path, config: dict[str, Any], named: str
) -> None:
    with pytest.raises(Exception, match=named) as caught:
        spacy.blank("en").add_pipe("custext", config={"database": str(english_db), **config})
    assert isinstance(caught.value, (CusTextError, ValueError))
    assert "policy" not in config or "alice" not in str(caught.value)


@pytest.mark.slow
def test_settings_are_saved_with_the_pipeline(mapped_template: Path, tmp_path: Path) -> None:
    policy = {"unknown": "random", "numbers": "shape", "case": "match", "invisible": "keep", "units": "keep"}
    given: dict[str, Any] = {"eps": 0.25, "policy": {**policy, "keep_words": ["Alice", "zoë"]}}
    nlp = make_pipeline(mapped_template, **given)
    assert json.loads(json.dumps(nlp.config["components"]["custext"])).items() >= given.items()
    sourced = spacy.blank("en")
    sourced.add_pipe("custext", source=nlp)
    for other in (nlp, sourced, *copy_pipeline(nlp, tmp_path / "pipeline").values()):
        found: Any = other.get_pipe("custext")
        assert (found.eps, found.sanitizer.policy) == (0.25, Policy(**given["policy"]))
        doc = other("ALICE Zoë bob")
        assert kinds_of(doc) == ["kept", "kept", "replaced"] and doc._.custext_receipt.budgets == (0.25,)


@pytest.mark.slow
def test_what_the_ledger_refuses_names_the_config_key_that_allows_it(mapped_db: Path, tmp_path: Path) -> None:
    build_mapping(mapped_db, embedding="small", k=2, name="pairs")
    make_key(tmp_path / "key", mapped_db, mapping="pairs")
    keyed = {"key_file": str(tmp_path / "key")}
    make_pipeline(mapped_db, dataset="letters", mapping="small-euclidean-k4")("alice")
    nlp = make_pipeline(mapped_db, dataset="notes", **keyed)
    nlp(*give_records(nlp, "alice"))
    for name, config, key in (("letters", {"mapping": "pairs"}, "second_mapping"), ("diaries", keyed, "reuse_key")):
        allowed = {"name": name, key: True}
        with pytest.raises(CusTextError, match=f'^dataset: .*"dataset": {re.escape(json.dumps(allowed))}$'):
            make_pipeline(mapped_db, dataset=name, **config)
        make_pipeline(mapped_db, dataset=allowed, **config)


def test_the_budgets_of_a_function_are_a_list(mapped_db: Path) -> None:
    def choose(doc: Doc) -> list[bool]:
        return [True] * len(doc)

    choose.budgets = 2.0  # type: ignore[attr-defined]
    with pytest.raises(CusTextError, match='^sensitive: the attribute "budgets" .* must be a list; found float'):
        CusText(database=str(mapped_db), sensitive=choose)
