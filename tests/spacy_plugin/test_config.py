"""The config of the component: what it accepts, and where its errors point."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc

from custext_sql import CusTextError, Policy, build_mapping, make_key
from spacy_plugin.component import CusText
from tests.spacy_plugin.test_component import make_pipeline


@pytest.mark.slow
def test_a_key_needs_records_and_the_settings_it_was_made_for(starter_db: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    make_key(key, starter_db, eps=2.0, plus=True)
    nlp = make_pipeline(starter_db, key_file=str(key))
    with pytest.raises(CusTextError, match="set doc._.custext_record to a string"):
        nlp("doctor")
    with pytest.raises(CusTextError, match="set doc._.custext_record to a string"):
        list(nlp.pipe(["doctor"]))
    doc = nlp.make_doc("doctor")
    doc._.custext_record = 3
    with pytest.raises(CusTextError, match="found int"):
        nlp(doc)
    entities = {"@misc": "custext.entities.v1", "labels": {"PERSON": 1.0}}
    for wrong in ({"eps": 1.0}, {"plus": False}, {"policy": "paper"}, {"sensitive": entities}):
        with pytest.raises(CusTextError, match="this key is for"):
            make_pipeline(starter_db, key_file=str(key), **wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"nothing": 1}, "nothing"),
        ({"eps": "1"}, "^eps must be a number; found str$"),
        ({"eps": True}, "eps"),
        ({"eps": 0.0005}, "^eps"),
        ({"eps": 101.0}, "^eps"),
        ({"epsilon": 1.0}, "epsilon"),
        ({"plus": 1}, "^plus must be a bool"),
        ({"policy": "secret"}, "policy"),
        ({"policy": {"unknown": "secret"}}, "policy"),
        ({"policy": {"nothing": "keep"}}, "policy"),
        ({"calibration": "loose"}, "calibration"),
        ({"mapping": "nothing"}, "mapping"),
        ({"mapping": 3}, "^mapping must be the name of a mapping; found int$"),
        ({"database": 3}, "database"),
        ({"database": "/nowhere/custext.duckdb"}, "database"),
        ({"key_file": "/nowhere/key"}, "key_file"),
        ({"output": "nothing"}, "output"),
        ({"output": None}, "output"),
        ({"carry": ["nothing"], "output": "replace"}, "carry"),
        ({"carry": "pos", "output": "replace"}, "carry"),
        ({"carry": ["pos"]}, "carry"),
        ({"carry": 3, "output": "replace"}, "^carry must be a list, .*; found int$"),
        ({"carry": [3], "output": "replace"}, "^carry must be a list of names; found int$"),
        ({"dataset": 5}, "^dataset must be a name, .*; found int$"),
        ({"dataset": ""}, "^dataset: the dataset name must not be empty"),
        ({"dataset": {"nmae": "x"}}, "^dataset has no part 'nmae'; did you mean 'name'"),
        ({"dataset": {"second_mapping": True}}, "^dataset must have a name"),
        ({"dataset": {"name": "x", "reuse_key": "no"}}, "^dataset: reuse_key must be true or false; found str"),
        ({"dataset": {"name": "x", "budget_total": 3.0}}, "^dataset: a pipeline cannot keep budget_total"),
        ({"sensitive": "entities"}, "sensitive"),
        ({"sensitive": {"labels": ["PERSON"]}}, 'sensitive .*found a dict without "@misc"'),
        ({"sensitive": {"@misc": "custext.entities.v1"}}, "labels"),
        ({"sensitive": {"@misc": "custext.entities.v1", "labels": []}}, "labels"),
        ({"sensitive": {"@misc": "custext.entities.v1", "labels": [""]}}, "labels"),
        ({"sensitive": {"@misc": "custext.entities.v1", "labels": {"PERSON": "0.5"}}}, "labels"),
        ({"sensitive": {"@misc": "custext.words.v1", "words": ["alice", "New York"]}}, "entry 2 is not"),
        ({"sensitive": {"@misc": "custext.words.v1", "words": [" "]}}, "entry 1 is not"),
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
    starter_db: Path, config: dict[str, Any], named: str
) -> None:
    with pytest.raises(Exception, match=named) as caught:
        spacy.blank("en").add_pipe("custext", config={"database": str(starter_db), **config})
    assert isinstance(caught.value, (CusTextError, ValueError))


@pytest.mark.slow
def test_eps_is_saved_with_the_pipeline(starter_db: Path, tmp_path: Path) -> None:
    nlp = make_pipeline(starter_db, eps=0.25)
    assert nlp.config["components"]["custext"]["eps"] == 0.25
    nlp.to_disk(tmp_path / "pipeline")
    for other in (spacy.load(tmp_path / "pipeline"), type(nlp).from_config(nlp.config), spacy.blank("en")):
        if not other.has_pipe("custext"):
            other.add_pipe("custext", source=nlp)
        assert other("The doctor")._.custext_receipt.budgets == (0.25,)
        assert other.get_pipe("custext").eps == 0.25  # type: ignore[attr-defined]


def test_what_the_ledger_refuses_names_the_config_key_that_allows_it(mapped_db: Path, tmp_path: Path) -> None:
    build_mapping(mapped_db, embedding="small", k=2, name="pairs")
    make_key(tmp_path / "key", mapped_db, mapping="pairs")
    keyed = {"key_file": str(tmp_path / "key")}
    make_pipeline(mapped_db, dataset="letters", mapping="small-euclidean-k4")("alice")
    nlp = make_pipeline(mapped_db, dataset="notes", **keyed)
    doc = nlp.make_doc("alice")
    doc._.custext_record = "1"
    nlp(doc)
    for name, config, key in (("letters", {"mapping": "pairs"}, "second_mapping"), ("diaries", keyed, "reuse_key")):
        allowed = {"name": name, key: True}
        with pytest.raises(CusTextError, match=f'^dataset: .*"dataset": {re.escape(json.dumps(allowed))}$'):
            make_pipeline(mapped_db, dataset=name, **config)
        make_pipeline(mapped_db, dataset=allowed, **config)


def test_a_list_is_needed_for_carry_and_for_the_budgets_of_a_function(mapped_db: Path) -> None:
    with pytest.raises(CusTextError, match=r'^carry must be a list, as in \["pos"\]; found str'):
        CusText(database=str(mapped_db), output="replace", carry="pos", nlp=spacy.blank("en"))

    def choose(doc: Doc) -> list[bool]:
        return [True] * len(doc)

    choose.budgets = 2.0  # type: ignore[attr-defined]
    with pytest.raises(CusTextError, match='^sensitive: the attribute "budgets" .* must be a list; found float'):
        CusText(database=str(mapped_db), sensitive=choose)


def test_errors_about_the_key_name_key_file(mapped_db: Path, tmp_path: Path) -> None:
    for sensitive in (None, {"@misc": "custext.words.v1", "words": ["alice"]}):
        for mask_unknown in (True, False):
            config = {"key_file": str(tmp_path / "none"), "sensitive": sensitive, "mask_unknown": mask_unknown}
            with pytest.raises(CusTextError, match="^key_file: "):
                spacy.blank("en").add_pipe("custext", config={"database": str(mapped_db), **config})


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"unit": "keep"}, "^policy has no part 'unit'; did you mean 'units'"),
        ({"units": "hide"}, "^policy: units must be one of mask, keep; found 'hide'"),
        ({"units": None}, "^policy: units must be one of"),
        ({"keep_words": "alice"}, "^policy: keep_words must be a list"),
        ({"keep_words": ["alice", 3]}, "^policy: keep_words must be a list"),
        ({"keep_words": ["alice", "New York"]}, "^policy: keep_words: .*entry 2 is not"),
        (["strict"], "^policy must be a name, or a table of its parts; found list"),
    ],
)
def test_an_invalid_part_of_a_policy_is_named(mapped_template: Path, policy: Any, message: str) -> None:
    with pytest.raises(CusTextError, match=message) as caught:
        make_pipeline(mapped_template, policy=policy)
    assert "alice" not in str(caught.value)


def test_every_part_of_a_policy_is_saved_with_the_pipeline(mapped_template: Path, tmp_path: Path) -> None:
    policy: dict[str, Any] = {
        "unknown": "random",
        "numbers": "shape",
        "case": "match",
        "invisible": "keep",
        "units": "keep",
    }
    policy["keep_words"] = ["Alice", "zoë"]
    nlp = make_pipeline(mapped_template, policy=policy)
    nlp.to_disk(tmp_path / "pipeline")
    json.dumps(nlp.config["components"]["custext"])
    for other in (
        nlp,
        spacy.load(tmp_path / "pipeline"),
        type(nlp).from_config(nlp.config),
        spacy.blank("en").from_config(spacy.util.load_config_from_str(nlp.config.to_str())),
    ):
        found: Any = other.get_pipe("custext")
        assert found.sanitizer.policy == Policy(**policy)
        assert [token._.custext_kind for token in other("ALICE Zoë bob")] == ["kept", "kept", "replaced"]
    reworked: Any = pickle.loads(pickle.dumps(nlp.get_pipe("custext")))
    assert reworked.sanitizer.policy == Policy(**policy)
