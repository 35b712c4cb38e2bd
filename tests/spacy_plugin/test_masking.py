"""Unknown words and numbers that a choice selects do not stay in the clear, whatever the policy."""

from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry

from custext_sql import CusTextError, make_key
from spacy_plugin.component import CusText
from tests.spacy_plugin.pipelines import give_records, make_pipeline

PATTERNS = [{"label": "PERSON", "pattern": "Zzyzxa Alice"}, {"label": "ID", "pattern": "1234567"}]
TEXT = "Qwrtz met Zzyzxa Alice about 1234567 and 7654321"
KEEP = {"unknown": "keep", "numbers": "keep", "invisible": "keep"}
CHOICES: list[dict[str, Any]] = [
    {"@misc": "custext.entities.v1", "labels": ["PERSON", "ID"]},
    {"@misc": "custext.tags.v1", "tags": ["SECRET"]},
    {"@misc": "custext.parts_of_speech.v1", "tags": ["PROPN"]},
    {"@misc": "custext.words.v1", "words": ["zzyzxa", "alice", "1234567"]},
    {"@misc": "test.chosen.v1"},
]


def choose(doc: Doc) -> list[bool]:
    return [token.text in ("Zzyzxa", "Alice", "1234567") for token in doc]


registry.misc.register("test.chosen.v1", func=lambda: choose)


def open_pipeline(database: Path, sensitive: dict[str, Any] | None, **config: Any) -> Language:
    nlp = make_pipeline(database, "entity_ruler", "attribute_ruler", patterns=PATTERNS, sensitive=sensitive, **config)
    ruler: Any = nlp.get_pipe("attribute_ruler")
    chosen = {"IN": ["zzyzxa", "alice", "1234567"]}
    ruler.add([[{"LOWER": chosen}]], {"POS": "PROPN", "TAG": "SECRET"})
    ruler.add([[{"LOWER": {"NOT_IN": chosen["IN"]}}]], {"POS": "NOUN", "TAG": "OTHER"})
    return nlp


def read(doc: Doc) -> list[str]:
    return [token._.custext if token.text != "Alice" else "" for token in doc]


@pytest.mark.slow
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("masks", [True, False])
def test_selected_unknown_words_and_numbers_are_masked_unless_the_policy_decides(
    english_db: Path, choice: dict[str, Any], masks: bool
) -> None:
    nlp = open_pipeline(english_db, choice, policy=KEEP, mask_unknown=None if masks else False)
    doc = nlp(TEXT)
    name, number = ("<unk>", "<num>") if masks else ("Zzyzxa", "1234567")
    assert read(doc) == ["Qwrtz", "met", name, "", "about", number, "and", "7654321"]  # the others stay unchanged
    for receipt in (doc._.custext_receipt, nlp.get_pipe("custext").receipt):  # type: ignore[attr-defined]
        assert (receipt.unknown_kept, receipt.unknown_masked, receipt.numbers) == (not masks, masks, 1)
        assert receipt.replaced + receipt.alone_masked == 1  # Alice: masked if she is the only listed word of her group
        clear = "Qwrtzmetaboutand7654321" if masks else TEXT.replace("Alice", "").replace(" ", "")
        assert (receipt.kept, receipt.characters_in_clear) == (5, len(clear))


def test_masking_leaves_the_rest_of_the_policy_alone(english_db: Path) -> None:
    doc = open_pipeline(english_db, CHOICES[0], policy="paper")(TEXT)
    assert doc[2]._.custext == "<unk>" and len(doc[5]._.custext) == 7 and doc[5]._.custext.isdigit()
    masked = open_pipeline(english_db, CHOICES[0], policy={**KEEP, "numbers": "mask"})(TEXT)
    assert (masked[2]._.custext, masked[5]._.custext) == ("<unk>", "<num>")
    drawn = open_pipeline(english_db, CHOICES[0], policy={"unknown": "random"})(TEXT)
    assert drawn[2]._.custext not in ("<unk>", "Zzyzxa") and drawn._.custext_receipt.unknown_random == 1
    assert drawn[5]._.custext == "<num>"

    # words to which "others" gives an eps are masked too: a run has one policy, so that its receipt is clear
    doc = open_pipeline(english_db, {**CHOICES[0], "others": 3.0}, policy=KEEP)(TEXT)
    assert (doc[0]._.custext, doc[2]._.custext, doc[7]._.custext) == ("<unk>", "<unk>", "<num>")
    receipt = doc._.custext_receipt
    assert (receipt.unknown_kept, receipt.unknown_masked, receipt.characters_in_clear) == (0, 2, 0)


@pytest.mark.slow
def test_a_key_that_keeps_unknown_words_is_refused(english_db: Path, tmp_path: Path) -> None:
    for name in ("paper", "strict"):
        make_key(tmp_path / name, english_db, policy=name)
    for wrong in ({}, {"policy": "paper"}, {"mask_unknown": True}):
        with pytest.raises(CusTextError, match=r'^key_file: .*--policy strict, or set "mask_unknown": false'):
            open_pipeline(english_db, CHOICES[0], key_file=str(tmp_path / "paper"), **wrong)
    found = []
    for config in (
        {"key_file": str(tmp_path / "paper"), "mask_unknown": False},
        {"key_file": str(tmp_path / "strict")},
        {"key_file": str(tmp_path / "strict"), "policy": "strict"},
    ):
        nlp = open_pipeline(english_db, CHOICES[0], **config)
        found.append(nlp(*give_records(nlp, TEXT))[2]._.custext)
    assert found == ["Zzyzxa", "<unk>", "<unk>"]
    assert open_pipeline(english_db, None, key_file=str(tmp_path / "paper"))


def test_a_pipeline_saved_without_mask_unknown_masks(english_db: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("custext", config={"database": str(english_db), "sensitive": CHOICES[3], "policy": KEEP})
    config = nlp.config.copy()
    del config["components"]["custext"]["mask_unknown"]
    assert spacy.util.load_model_from_config(config, auto_fill=True)(TEXT)[2]._.custext == "<unk>"
    assert CusText(database=str(english_db)).mask_unknown is False
    assert CusText(database=str(english_db), sensitive=choose).mask_unknown is True
