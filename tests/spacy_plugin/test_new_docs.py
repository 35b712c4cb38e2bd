"""New Docs (output="replace") contain no trace of the original words, in memory or on disk."""

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.strings import get_string_id
from spacy.tokens import Doc, DocBin, Span

from custext_sql import make_key
from spacy_plugin.new_docs import CARRIED
from tests.spacy_plugin.pipelines import make_pipeline, tokens_of

SECRETS = ["Zzyzxa", "doctorate", "Bostonians", "q7zk-81"]
SECRETS += ["zzlemma", "zznorm", "zzkb", "zzid", "zzcat", "zzspan", "zzdata"]
TEXT = "Alice Zzyzxa holds a Doctoratez. The Bostonianz wrote to q7zk-81@example.com, twice, Dr. Who."


@Language.component("leave_traces")
def leave_traces(doc: Doc) -> Doc:
    """Set everything that components can set, each to a value that can be searched for."""
    doc[1].lemma_, doc[2].norm_ = "zzlemma", "zznorm"
    doc.ents = [Span(doc, 0, 2, label="PERSON", kb_id="zzkb", span_id="zzid")]
    doc.cats["zzcat"] = 1.0
    doc.spans["zzspan"] = [Span(doc, 0, 2, label="zzspan", kb_id="zzkb", span_id="zzid")]
    doc.tensor = np.full((len(doc), 3), 81.25, dtype=np.float32)
    doc.user_data["zzdata"] = doc.text
    doc.sentiment = 81.25
    doc[0].dep_ = "zzspan"
    return doc


def open_pipeline(database: Path, **config: Any) -> Language:
    config = {"policy": "strict", "eps": 0.01, "output": "replace", **config}
    return make_pipeline(database, "sentencizer", "leave_traces", **config)


def check_clean(content: bytes) -> None:
    for secret in SECRETS:
        assert secret.encode() not in content, secret
        assert get_string_id(secret).to_bytes(8, "little") not in content, secret  # its hash in spaCy
    assert np.float32(81.25).tobytes() not in content


def test_a_new_doc_has_no_trace_of_the_original(english_db: Path) -> None:
    doc = open_pipeline(english_db)(TEXT)
    assert doc.text == doc._.custext != TEXT
    check_clean(doc.to_bytes())
    check_clean(zlib.decompress(DocBin(docs=[doc], store_user_data=True).to_bytes()))
    check_clean(repr(doc.user_data).encode() + repr(doc.cats).encode() + repr(dict(doc.spans)).encode())
    attributes = doc.to_array(
        ["ORTH", "LOWER", "NORM", "LEMMA", "SHAPE", "PREFIX", "SUFFIX", "ENT_ID", "ENT_KB_ID", "DEP"]
    )
    hashes = {get_string_id(form) for secret in SECRETS for form in (secret, secret.lower())}
    assert not set(attributes.ravel().tolist()) & hashes
    assert doc.tensor.size == 0 and not doc.cats and not doc.spans and doc.sentiment == 0
    assert [token._.custext for token in doc] == tokens_of(doc)
    assert doc._.custext_receipt is None and {token._.custext_kind for token in doc} == {None}


def test_sentences_and_entity_labels_are_kept_for_later_components(english_db: Path) -> None:
    nlp, seen = open_pipeline(english_db), list[str]()

    @Language.component("look")
    def look(doc: Doc) -> Doc:
        seen.append(doc.text)
        return doc

    nlp.add_pipe("look")
    for number, (doc, context) in enumerate(nlp.pipe(((TEXT, place) for place in range(50)), as_tuples=True)):
        assert (context, seen[number]) == (number, doc.text) and doc.text == doc._.custext
        words = doc.text.split(" ")
        assert [sentence.text for sentence in doc.sents] == [" ".join(words[:5]), " ".join(words[5:])]
        assert [(entity.text, entity.label_) for entity in doc.ents] == [(" ".join(words[:2]), "PERSON")]
        assert not any(token.ent_id_ or token.ent_kb_id_ or token.lemma_ or token.dep_ for token in doc)
        assert len(words) == len(TEXT.split(" "))


@pytest.mark.slow
@pytest.mark.parametrize("item", [None, *CARRIED])
def test_only_what_carry_names_is_carried(english_db: Path, item: str | None) -> None:
    doc = open_pipeline(english_db, carry=[item] if item else [])(TEXT)
    present = {
        "sentences": doc.has_annotation("SENT_START") and len(list(doc.sents)) == 2,
        "entities": [entity.label_ for entity in doc.ents] == ["PERSON"],
        "tokens": doc.text.split(" ")[-2] in tokens_of(doc),  # like "Dr.", which is one token
        "pos": False,  # no component has set any
        "tag": False,
        "morph": False,
        "dep": doc[0].dep_ == "zzspan",
        "ent_id": doc[0].ent_id_ == "zzid",
        "ent_kb_id": doc[0].ent_kb_id_ == "zzkb",
        "cats": doc.cats == {"zzcat": 1.0},
        "spans": [span.label_ for span in doc.spans.get("zzspan", [])] == ["zzspan"],
        "user_data": doc.user_data.get("zzdata") == TEXT,
    }
    expected = {item} if item not in ("pos", "tag", "morph") else set()
    if item not in (None, "sentences", "entities", "cats", "spans"):
        expected.add("tokens")
    assert {name for name, is_present in present.items() if is_present} == expected - {None}


def test_a_written_pipeline_does_not_hold_the_words_seen_in_a_memory_zone(english_db: Path, tmp_path: Path) -> None:
    """The docs recommend this. Outside a zone, the vocabulary remembers all words, as the counter-test shows."""
    nlp = open_pipeline(english_db)
    with nlp.memory_zone():
        docs = list(nlp.pipe([TEXT] * 3))
        DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "clean.spacy")
        del docs
    nlp.to_disk(tmp_path / "clean")
    check_clean(nlp.to_bytes())
    check_clean(zlib.decompress((tmp_path / "clean.spacy").read_bytes()))
    for path in (tmp_path / "clean").rglob("*"):
        if path.is_file():
            check_clean(path.read_bytes())
    [doc, *_] = DocBin().from_disk(tmp_path / "clean.spacy").get_docs(spacy.blank("en").vocab)
    assert doc._.custext == doc.text and doc._.custext_receipt is None
    nlp(TEXT)
    with pytest.raises(AssertionError, match="Zzyzxa"):
        check_clean(nlp.to_bytes())


def test_the_record_of_a_keyed_doc_is_not_carried(english_db: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "key", english_db)
    nlp = make_pipeline(english_db, key_file=str(tmp_path / "key"), output="replace", carry=["user_data"])
    doc = nlp.make_doc("the doctor")
    doc._.custext_record, doc.user_data["other"] = "patient 81", 1
    new = nlp(doc)
    assert new._.custext_record is None and new.user_data["other"] == 1
    assert b"patient 81" not in new.to_bytes()


@pytest.mark.parametrize("carry", [["tokens"], ["tokens", "pos", "user_data"], None])
def test_tokens_of_invisible_characters_only_do_not_break_new_docs(mapped_db: Path, carry: list[str] | None) -> None:
    nlp = make_pipeline(mapped_db, output="replace", carry=carry)
    doc = nlp(Doc(nlp.vocab, words=["alice", "\u200b\u200b", "bob", "\U000e0041"], spaces=[True, True, True, False]))
    assert "\u200b" not in doc.text and "\U000e0041" not in doc.text
    assert len(doc.text.split()) == 2
    if carry is not None:
        assert len(doc) == 4
