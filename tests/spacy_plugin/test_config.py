"""What the config of the component may say."""

from pathlib import Path
from typing import Any

import pytest
import spacy

from custext_sql import CusTextError, make_key
from tests.spacy_plugin.test_component import make_pipeline


@pytest.mark.slow
def test_a_key_needs_a_record_and_its_own_settings(starter_db: Path, tmp_path: Path) -> None:
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
    for wrong in ({"eps": 1.0}, {"epsilon": 1.0}, {"plus": False}, {"policy": "paper"}, {"sensitive": entities}):
        with pytest.raises(CusTextError, match="this key was made for"):
            make_pipeline(starter_db, key_file=str(key), **wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"nothing": 1}, "nothing"),
        ({"eps": "1"}, "eps"),
        ({"eps": True}, "eps"),
        ({"eps": 0}, "^eps"),
        ({"eps": 101.0}, "^eps"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": 0}, "^epsilon"),
        ({"epsilon": 101.0}, "^epsilon"),
        ({"eps": 1.0, "epsilon": 1.0}, "^eps and epsilon are two names"),
        ({"plus": 1}, "plus"),
        ({"policy": "secret"}, "policy"),
        ({"policy": {"unknown": "secret"}}, "policy"),
        ({"policy": {"nothing": "keep"}}, "policy"),
        ({"calibration": "loose"}, "calibration"),
        ({"mapping": "nothing"}, "mapping"),
        ({"mapping": 3}, "mapping"),
        ({"database": 3}, "database"),
        ({"database": "/nowhere/custext.duckdb"}, "database"),
        ({"key_file": "/nowhere/key"}, "key_file"),
        ({"output": "nothing"}, "output"),
        ({"output": None}, "output"),
        ({"carry": ["nothing"], "output": "replace"}, "carry"),
        ({"carry": "pos", "output": "replace"}, "carry"),
        ({"carry": ["pos"]}, "carry"),
        ({"sensitive": "entities"}, "sensitive"),
        ({"sensitive": {"@misc": "custext.entities.v1"}}, "labels"),
        ({"sensitive": {"@misc": "custext.entities.v1", "labels": []}}, "labels"),
        ({"sensitive": {"@misc": "custext.entities.v1", "labels": [""]}}, "labels"),
        ({"sensitive": {"@misc": "custext.entities.v1", "labels": {"PERSON": "0.5"}}}, "labels"),
        ({"sensitive": {"@misc": "custext.words.v1", "words": ["alice", "New York"]}}, "number 2"),
        ({"sensitive": {"@misc": "custext.words.v1", "words": [" "]}}, "number 1"),
        ({"sensitive": {"@misc": "custext.entities.v1", "labels": {"PERSON": 0}}}, "PERSON"),
        ({"sensitive": {"@misc": "custext.entities.v1", "labels": ["PERSON"], "others": 1000}}, "others"),
        ({"sensitive": {"@misc": "custext.parts_of_speech.v1", "tags": ["NAME"]}}, "tags"),
        ({"sensitive": {"@misc": "custext.words.v1"}}, "words"),
        ({"sensitive": {"@misc": "custext.words.v1", "words": []}}, "words"),
        ({"sensitive": {"@misc": "custext.words.v1", "path": "/nowhere/words.txt"}}, "path"),
        ({"sensitive": {"@misc": "custext.all_but_stopwords.v1"}, "plus": False}, "plus"),
    ],
)
def test_what_is_wrong_is_said_when_the_pipe_is_added(starter_db: Path, config: dict[str, Any], named: str) -> None:
    with pytest.raises(Exception, match=named) as caught:
        spacy.blank("en").add_pipe("custext", config={"database": str(starter_db), **config})
    assert isinstance(caught.value, (CusTextError, ValueError))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["eps", "epsilon"])
def test_eps_has_two_names_that_travel(starter_db: Path, tmp_path: Path, name: str) -> None:
    config: dict[str, Any] = {name: 0.25}
    nlp = make_pipeline(starter_db, **config)
    assert nlp.config["components"]["custext"][name] == 0.25
    nlp.to_disk(tmp_path / "pipeline")
    for other in (spacy.load(tmp_path / "pipeline"), type(nlp).from_config(nlp.config), spacy.blank("en")):
        if not other.has_pipe("custext"):
            other.add_pipe("custext", source=nlp)
        assert other("The doctor")._.custext_receipt.budgets == (0.25,)
        assert other.get_pipe("custext").eps == 0.25  # type: ignore[attr-defined]


def test_a_fault_of_the_key_is_blamed_on_the_key(mapped_db: Path, tmp_path: Path) -> None:
    for sensitive in (None, {"@misc": "custext.words.v1", "words": ["alice"]}):
        for mask_unknown in (True, False):
            config = {"key_file": str(tmp_path / "none"), "sensitive": sensitive, "mask_unknown": mask_unknown}
            with pytest.raises(CusTextError, match="^key_file: cannot read"):
                spacy.blank("en").add_pipe("custext", config={"database": str(mapped_db), **config})
