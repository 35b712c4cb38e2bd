"""The component works in several processes, and after being saved, pickled or loaded from a config file."""

import gc
import json
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
from tests.spacy_plugin.pipelines import make_pipeline, tokens_of

TEXT = " ".join(["alice bob carol dave erin frank grace heidi ivan judy mallory niaj"] * 2)
SCRIPT = """
    import json, multiprocessing, sys
    import spacy

    def main():
        multiprocessing.set_start_method(sys.argv[1])
        nlp = spacy.blank("en")
        nlp.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "alice"}])
        nlp.add_pipe("custext", config=json.loads(sys.argv[2]))
        stream = [(sys.argv[3], number) for number in range(60)]
        docs = [doc for doc, _ in nlp.pipe(stream, as_tuples=True, n_process=2, batch_size=5)]
        assert nlp.get_pipe("custext").receipt.rows == 0  # the workers have counted
        receipts = [doc._.custext_receipt and doc._.custext_receipt.replaced for doc in docs]
        kinds = [[token._.custext_kind for token in doc] for doc in docs]
        print(json.dumps([[doc.text for doc in docs], [doc._.custext for doc in docs], receipts, kinds]))

    if __name__ == "__main__":
        main()
"""


def run_in_processes(folder: Path, method: str, **config: Any) -> "subprocess.CompletedProcess[str]":
    """Run 60 equal Docs through a pipeline in two processes; the output has texts, results, receipts and kinds."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    command = [sys.executable, str(script), method, json.dumps(config), TEXT]
    return subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "output"), [("fork", "annotate"), ("spawn", "replace")])
def test_processes_draw_independently(mapped_db: Path, tmp_path: Path, method: str, output: str) -> None:
    """60 equal texts of 24 words with four almost equally likely outputs each: no two results are equal."""
    done = run_in_processes(tmp_path, method, database=str(mapped_db), eps=0.01, output=output)
    assert done.returncode == 0, done.stderr
    texts, results, receipts, kinds = json.loads(done.stdout)
    assert len(results) == len(set(results)) == 60
    assert texts == ([TEXT] * 60 if output == "annotate" else results)
    assert receipts == [24 if output == "annotate" else None] * 60
    assert kinds == [["replaced" if output == "annotate" else None] * 24] * 60


@pytest.mark.slow
def test_worker_processes_check_labels_too(mapped_db: Path, tmp_path: Path) -> None:
    for label in ("PERSON", "PERSN"):
        sensitive = {"@misc": "custext.entities.v1", "labels": [label]}
        done = run_in_processes(tmp_path, "spawn", database=str(mapped_db), sensitive=sensitive)
        assert (done.returncode == 0) == bool(done.stdout) == (label == "PERSON"), done.stderr
        assert ("the label 'PERSN'; did you mean 'PERSON'?" in done.stderr) == (label == "PERSN")


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


def test_a_pickled_component_includes_the_tokenizer_but_not_the_pipeline(mapped_db: Path) -> None:
    nlp = make_pipeline(mapped_db, "sentencizer", policy="paper", output="replace")
    component = nlp.get_pipe("custext")
    content = pickle.dumps(component)
    assert b"Language" not in content and b"Sentencizer" not in content
    plain = spacy.blank("en")
    doc = pickle.loads(content)(plain("Dr. alice, can't"))
    assert tokens_of(doc) == tokens_of(plain.tokenizer(doc.text))
    assert doc.vocab is plain.vocab
    token = Doc(plain.vocab, words=["alice."], spaces=[False])
    assert [token.is_sent_start for token in pickle.loads(content)(token)] == [True, False]  # as in its pipeline
    content = pickle.dumps(make_pipeline(mapped_db).get_pipe("custext"))
    assert len(content) < 2000  # settings, without tables or a tokenizer
    assert pickle.loads(content)(plain("alice"))._.custext in Sanitizer.load(mapped_db).distribution("alice", 1.0)


def test_a_component_sourced_from_a_pipeline_that_is_gone_works(mapped_db: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("custext", source=make_pipeline(mapped_db, output="replace"))
    gc.collect()
    doc = nlp("alice, bob")
    assert doc.vocab is nlp.vocab and tokens_of(doc)[1] == ","
