"""The spaCy component in real pipelines: what it stores on Docs, and what it refuses."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Token

from custext_sql import CusTextError, Receipt, Sanitizer, make_key
from custext_sql.store.database import default_path
from spacy_plugin.rendering import render
from tests.conftest import copy_database
from tests.spacy_plugin.pipelines import kinds_of, make_pipeline, words_of

KINDS = {"replaced", "stopword", "unknown", "number", "ending", "kept", "alone"}


@pytest.mark.slow
def test_it_works_without_an_import_or_a_config_and_costs_other_pipelines_nothing(english_db: Path) -> None:
    """SpaCy loads every factory in the environment whenever a pipeline is made."""
    default_path().parent.mkdir(parents=True)
    copy_database(english_db, default_path())
    script = """
        import sys, spacy
        nlp = spacy.blank("en")
        heavy = {"duckdb", "pyarrow", "sqlalchemy", "custext_sql.sanitizer.sanitizer", "spacy_plugin.component"}
        assert "spacy_plugin.factory" in sys.modules and not heavy & set(sys.modules), heavy & set(sys.modules)
        nlp.add_pipe("custext")
        doc = nlp("My doctor said it went well.")
        assert len(doc) == 7 and doc._.custext.endswith("."), doc._.custext
        assert doc._.custext_receipt.replaced == 6
    """
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(script)]
    subprocess.run(command, check=True, env=dict(os.environ))


def test_tokens_and_docs_hold_the_results(english_db: Path) -> None:
    nlp = make_pipeline(english_db, "sentencizer", plus=True, policy="paper")
    text = "Alice's doctor in Boston didn't call bob@example.com;  see http://x.org/a_b.\n\nShe paid 1234567 to Zzyzxa!"
    doc = nlp(text)
    assert doc.text == text  # the Doc itself is unchanged
    found = dict(zip((token.text for token in doc), kinds_of(doc), strict=True))
    expected = {
        "Alice": "replaced",
        "'s": "ending",
        "doctor": "replaced",
        "in": "stopword",
        "did": "stopword",
        "n't": "stopword",  # didn't is one word
        "bob@example.com": "replaced",
        ";": "kept",
        " ": "kept",
        "\n\n": "kept",
        "!": "kept",
        "1234567": "number",
        "Zzyzxa": "unknown",
    }
    assert expected.items() <= found.items()
    assert set(found.values()) <= KINDS
    assert doc._.custext == "".join(token._.custext + token.whitespace_ for token in doc)
    assert found["http://x.org/a_b"] == "unknown"  # because of its last part; the other parts are drawn
    assert doc[[token.text for token in doc].index("http://x.org/a_b")]._.custext.endswith("/a_b")
    kept = [token for token in doc if token._.custext_kind in ("kept", "stopword", "ending") or token.text == "Zzyzxa"]
    assert [token._.custext for token in kept] == [token.text for token in kept]
    address = doc[[token.text for token in doc].index("bob@example.com")]._.custext
    assert [character for character in address if not character.isalnum()] == ["@", "."]
    assert words_of(doc) == words_of(doc) and doc._.custext == doc._.custext  # drawn once


def test_the_receipt_of_a_doc_counts_that_doc_alone(english_db: Path) -> None:
    nlp = make_pipeline(english_db, eps=0.5, plus=True, policy="paper")
    first, empty, second = nlp.pipe(["The doctor paid 1234567 to Zzyzxa.", "", "It was"])
    receipt = first._.custext_receipt
    assert isinstance(receipt, Receipt)
    assert (receipt.rows, receipt.words, receipt.replaced, receipt.stopwords) == (1, 6, 2, 2)
    assert (receipt.numbers, receipt.unknown_kept, receipt.characters_in_clear) == (1, 1, len("ThetoZzyzxa"))
    assert (receipt.eps, receipt.budgets, receipt.largest_row_eps) == (0.5, (0.5,), 1.0)
    assert receipt.union_log_ratio == receipt.worst_log_ratio <= 0.5
    assert receipt.fingerprint == Sanitizer.load(english_db).mapping.info.fingerprint
    assert (empty._.custext, empty._.custext_receipt.words) == ("", 0)
    assert second._.custext == "It was" and second._.custext_receipt.replaced == 0


@pytest.mark.parametrize("output", ["annotate", "replace"])
def test_the_component_has_the_receipt_of_all_docs(english_db: Path, output: str) -> None:
    nlp = make_pipeline(english_db, eps=0.5, plus=True, output=output)
    component: Any = nlp.get_pipe("custext")
    assert (component.receipt.rows, component.receipt.words, component.receipt.budgets) == (0, 0, (0.5,))
    list(nlp.pipe(["The doctor paid 1234567 to Zzyzxa.", "", "It was"], batch_size=2))
    nlp("The doctor")
    receipt = component.receipt
    assert isinstance(receipt, Receipt)
    assert (receipt.rows, receipt.words, receipt.replaced, receipt.stopwords, receipt.numbers) == (4, 10, 3, 5, 1)
    assert (receipt.largest_row_eps, receipt.mean_row_eps) == (1.0, 0.375)
    assert receipt.fingerprint == component.sanitizer.mapping.info.fingerprint


def test_docs_without_results_and_tokens_changed_afterwards_are_noticed(english_db: Path) -> None:
    plain = spacy.blank("en")("doctor")
    assert plain._.custext is plain._.custext_receipt is plain[0]._.custext is plain[0]._.custext_kind is None
    with pytest.raises(CusTextError, match="has not been through"):
        render(plain)
    doc = make_pipeline(english_db)("The doctor said so.")
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    with doc.retokenize() as retokenizer:
        retokenizer.split(doc[1], ["sa", "id"], heads=[(doc[1], 1), doc[0]])  # as many tokens as before
    for owner, name in ((doc[0], "custext"), (doc[1], "custext_kind"), (doc, "custext")):
        with pytest.raises(CusTextError, match="the tokens of this Doc have changed since it was sanitized"):
            getattr(owner._, name)


def test_a_doc_cannot_be_sanitized_twice(english_db: Path) -> None:
    """The receipt would not count the second release."""
    for output in ("annotate", "replace"):
        nlp = make_pipeline(english_db, output=output)
        doc = nlp("The doctor said so.")
        copies = DocBin(docs=[doc], store_user_data=True).get_docs(nlp.vocab)
        for copy in (doc, Doc(nlp.vocab).from_bytes(doc.to_bytes()), *copies):
            with pytest.raises(CusTextError, match="this Doc has already been sanitized"):
                nlp(copy)
        assert nlp.get_pipe("custext").receipt.rows == 1  # type: ignore[attr-defined]


def test_attributes_of_other_code_are_not_overwritten(english_db: Path) -> None:
    ours = Token.remove_extension("custext")
    try:
        Token.set_extension("custext", default="mine")
        with pytest.raises(CusTextError, match="Token already has an extension attribute 'custext'"):
            make_pipeline(english_db)
    finally:
        Token.set_extension("custext", getter=ours[2], force=True)


def test_an_error_handler_gets_docs_that_could_not_be_sanitized(english_db: Path, tmp_path: Path) -> None:
    """Such Docs do not leave the pipeline, and the error does not quote them."""
    make_key(tmp_path / "key", english_db)
    nlp = make_pipeline(english_db, key_file=str(tmp_path / "key"))
    failed: dict[str, str] = {}
    nlp.set_error_handler(lambda name, proc, docs, error: failed.update({docs[0].text: str(error)}))  # type: ignore[arg-type, return-value]
    docs = [nlp.make_doc(text) for text in ("Marker81", "nurse", "surgery")]
    docs[1]._.custext_record = "n"
    [found] = nlp.pipe(docs)
    assert found.text == "nurse" and found._.custext
    assert list(failed) == ["Marker81", "surgery"] and "Marker81" not in failed["Marker81"]
    assert nlp.get_pipe("custext").receipt.rows == 1  # type: ignore[attr-defined]


def test_the_page_shows_both_texts_and_is_self_contained(english_db: Path) -> None:
    nlp = make_pipeline(english_db, plus=True, policy="paper")
    page = render(nlp.pipe(["The doctor <b>said</b> & left.", "Zzyzxa"]), title="A & B")
    assert page.count("<article>") == 2 and "<title>A &amp; B</title>" in page
    assert '<mark class="mark-green" title="replaced">doctor</mark>' in page
    assert '<mark class="mark-gray clear"' in page and '<mark class="mark-red clear"' in page
    assert "&lt;" in page and "<b>said" not in page
    assert "http" not in page and "src=" not in page
    with pytest.raises(CusTextError, match='set "output": "annotate"'):
        render(make_pipeline(english_db, output="replace")("The doctor left."))
