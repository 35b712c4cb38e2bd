"""The component works in several processes, and after being saved, pickled or loaded from a config file."""

import gc
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc

from custext_sql import Sanitizer
from tests.spacy_plugin.test_component import make_pipeline, words_of

TEXT = " ".join(["alice bob carol dave erin frank grace heidi ivan judy mallory niaj"] * 2)
SCRIPT = """
    import multiprocessing, sys
    import spacy

    def main():
        multiprocessing.set_start_method(sys.argv[1])
        nlp = spacy.blank("en")
        sensitive = {"@misc": "custext.all_but_stopwords.v1"}
        nlp.add_pipe("custext", config={"database": sys.argv[2], "eps": 0.01, "sensitive": sensitive,
                                        "output": sys.argv[3]})
        texts = [sys.argv[4]] * 60
        found = []
        for doc, number in nlp.pipe(zip(texts, range(60)), as_tuples=True, n_process=2, batch_size=5):
            if sys.argv[3] == "annotate":
                assert doc._.custext_receipt.replaced == 24, doc._.custext_receipt
                assert [token._.custext_kind for token in doc] == ["replaced"] * 24
            else:
                assert doc._.custext_receipt is None
                assert [token._.custext for token in doc] == doc.text.split()
            assert (doc.text == sys.argv[4]) == (sys.argv[3] == "annotate")
            found.append(doc._.custext)
        print(len(found), len(set(found)))
        assert nlp.get_pipe("custext").receipt.rows == 0  # the workers have counted

    if __name__ == "__main__":
        main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("output", ["annotate", "replace"])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_draw_independently(mapped_db: Path, tmp_path: Path, method: str, output: str) -> None:
    """60 equal texts of 24 words with four almost equally likely outputs each: no two results are equal."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    command = [sys.executable, str(script), method, str(mapped_db), output, TEXT]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["60", "60"]


def test_the_database_is_read_once_and_never_written(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[object] = []
    load = Sanitizer.load

    def counting(*args: Any, **options: Any) -> Sanitizer:
        loads.append(args)
        return load(*args, **options)

    monkeypatch.setattr(Sanitizer, "load", counting)
    mapped_db.chmod(0o400)
    nlp = make_pipeline(mapped_db)
    for _ in range(3):
        list(nlp.pipe([TEXT] * 10))
    assert len(loads) == 1
    mapped_db.chmod(0o600)
    mapped_db.unlink()  # nothing holds it open
    assert nlp(TEXT)._.custext


@pytest.mark.slow
def test_copies_of_a_pipeline_work_however_they_are_made(mapped_db: Path, tmp_path: Path) -> None:
    sensitive = {"@misc": "custext.words.v1", "words": ["alice", "bob"], "eps": 0.5}
    nlp = make_pipeline(mapped_db, "sentencizer", sensitive=sensitive, policy={"unknown": "mask"}, output="replace")
    nlp("alice bob")  # its copies do not count this
    nlp.to_disk(tmp_path / "pipeline")
    (tmp_path / "pipeline.cfg").write_text(nlp.config.to_str(), encoding="utf-8")
    copies = {
        "disk": spacy.load(tmp_path / "pipeline"),
        "bytes": spacy.blank("en", config=nlp.config).from_bytes(nlp.to_bytes()),
        "pickle": pickle.loads(pickle.dumps(nlp)),
        "config": spacy.util.load_model_from_config(nlp.config, auto_fill=True),
        "from_disk": spacy.util.load_model_from_config(nlp.config).from_disk(tmp_path / "pipeline"),
    }
    subprocess.run(
        [sys.executable, "-m", "spacy", "assemble", str(tmp_path / "pipeline.cfg"), str(tmp_path / "assembled")],
        check=True,
        capture_output=True,
    )
    copies["assemble"] = spacy.load(tmp_path / "assembled")
    for way, other in copies.items():
        assert other.config["components"]["custext"] == nlp.config["components"]["custext"], way
        assert words_of(other("alice carol zzz."))[1:] == ["carol", "zzz", "."], way
        receipt = other.get_pipe("custext").receipt
        assert (receipt.rows, receipt.alone_masked, receipt.kept, receipt.budgets) == (1, 1, 2, (0.5,)), way


def test_the_component_itself_can_be_pickled(mapped_db: Path) -> None:
    component = make_pipeline(mapped_db).get_pipe("custext")
    content = pickle.dumps(component)
    assert len(content) < 2000  # settings without tables
    doc = pickle.loads(content)(spacy.blank("en")("alice"))
    assert doc._.custext in Sanitizer.load(mapped_db).distribution("alice", 1.0)


def test_a_pickled_component_includes_the_tokenizer_but_not_the_pipeline(mapped_db: Path) -> None:
    nlp = make_pipeline(mapped_db, "sentencizer", policy="paper", output="replace")
    component = nlp.get_pipe("custext")
    content = pickle.dumps(component)
    assert b"Language" not in content and b"Sentencizer" not in content
    plain = spacy.blank("en")
    doc = pickle.loads(content)(plain("Dr. alice, can't"))
    assert [token.text for token in doc] == [token.text for token in plain.tokenizer(doc.text)]
    assert doc.vocab is plain.vocab
    token = Doc(plain.vocab, words=["alice."], spaces=[False])
    assert [token.is_sent_start for token in pickle.loads(content)(token)] == [True, False]  # as in its pipeline
    assert len(pickle.dumps(make_pipeline(mapped_db, output="replace", carry=["tokens"]).get_pipe("custext"))) < 2000


def test_a_component_sourced_from_a_pipeline_that_is_gone_works(mapped_db: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("custext", source=make_pipeline(mapped_db, output="replace"))
    gc.collect()
    doc = nlp("alice, bob")
    assert doc.vocab is nlp.vocab and [token.text for token in doc][1] == ","
