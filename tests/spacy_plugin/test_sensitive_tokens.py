"""Choices of what is sensitive, and at what budget, as a pipeline's config names them."""

import pickle
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry

from custext_sql import CusTextError, Sanitizer, load_mapping, make_key
from custext_sql.arrays import Flags
from custext_sql.sanitizer.tally import Tally
from custext_sql.text.columns import open_column
from spacy_plugin.component import join_tokens
from tests.spacy_plugin.pipelines import kinds_of, make_pipeline, words_of

PATTERNS = [{"label": "PERSON", "pattern": "Alice Zzyzxa", "id": "a-1"}, {"label": "GPE", "pattern": "Boston"}]
TEXT = "The doctor met Alice Zzyzxa in Boston yesterday."


def open_pipeline(database: Path, sensitive: dict[str, Any], **config: Any) -> Language:
    nlp = make_pipeline(database, "entity_ruler", "attribute_ruler", patterns=PATTERNS, sensitive=sensitive, **config)
    ruler: Any = nlp.get_pipe("attribute_ruler")
    ruler.add([[{"LOWER": {"IN": ["doctor", "boston"]}}]], {"POS": "NOUN", "TAG": "NN"})
    ruler.add([[{"LOWER": "met"}]], {"POS": "VERB", "TAG": "VBD"})
    return nlp


def replaced(doc: Doc) -> list[str]:
    return [token.text for token in doc if token._.custext_kind in ("replaced", "unknown", "alone")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"@misc": "custext.all.v1"}, "The doctor met Alice Zzyzxa in Boston yesterday"),
        ({"@misc": "custext.all_but_stopwords.v1"}, "doctor met Alice Zzyzxa Boston yesterday"),
        ({"@misc": "custext.entities.v1", "labels": ["PERSON"]}, "Alice Zzyzxa"),
        ({"@misc": "custext.entities.v1", "labels": ["PERSON", "GPE"]}, "Alice Zzyzxa Boston"),
        ({"@misc": "custext.entities.v1", "labels": {"GPE": 2.0}}, "Boston"),
        ({"@misc": "custext.parts_of_speech.v1", "tags": ["NOUN"]}, "doctor Boston"),
        ({"@misc": "custext.parts_of_speech.v1", "tags": {"VERB": 1}}, "met"),
        ({"@misc": "custext.tags.v1", "tags": ["VBD"]}, "met"),
        ({"@misc": "custext.words.v1", "words": ["DOCTOR", "in"]}, "doctor in"),
        ({"@misc": "custext.words.v1", "words": ["met"], "eps": 0.5, "others": 2}, TEXT.replace(".", "")),
    ],
)
def test_chosen_tokens_are_replaced_and_the_others_stay(
    english_db: Path, choice: dict[str, Any], expected: str
) -> None:
    doc = open_pipeline(english_db, choice)(TEXT)
    assert replaced(doc) == expected.split()
    for token in doc:
        if token._.custext_kind == "kept":
            assert token._.custext == token.text
    receipt = doc._.custext_receipt
    assert receipt.words == 8
    stopwords = 2 if "stopwords" in choice["@misc"] else 0
    assert (receipt.kept, receipt.stopwords) == (8 - len(replaced(doc)) - stopwords, stopwords)
    clear = sum(len(token.text) for token in doc if token._.custext_kind in ("kept", "stopword") and not token.is_punct)
    assert receipt.characters_in_clear == clear


@pytest.mark.slow
def test_each_label_has_its_budget(english_db: Path) -> None:
    """At eps 100 a word almost always stays the same, at 0.001 almost never."""
    choice = {"@misc": "custext.entities.v1", "labels": {"PERSON": 0.001, "GPE": 100.0}, "others": 3.0}
    nlp = open_pipeline(english_db, choice)
    docs = list(nlp.pipe([TEXT] * 400))
    assert docs[0]._.custext_receipt.budgets == (0.001, 3.0, 100.0)
    assert docs[0]._.custext_receipt.largest_row_eps == pytest.approx(0.001 + 100 + 5 * 3)
    person, place = ([words_of(doc)[number] for doc in docs] for number in (3, 6))
    sanitizer = Sanitizer.load(english_db)
    union = sanitizer.guarantee({0.001, 3.0, 100.0}, {False}).union_log_ratio
    assert docs[0]._.custext_receipt.union_log_ratio == union
    for drawn, word, epsilon in ((person, "alice", 0.001), (place, "boston", 100.0)):
        chance = sanitizer.distribution(word, epsilon)[word]
        assert np.mean([output == word for output in drawn]) == pytest.approx(chance, abs=0.1)


@dataclass(frozen=True)
class LongWords:
    """A choice as a user might write it."""

    at_least: int
    budgets: tuple[float, ...] = (2.5,)

    def __call__(self, doc: Doc) -> list[bool | float | None]:
        return [2.5 if token.text == "Boston" else len(token) >= self.at_least or None for token in doc]


@pytest.mark.slow
def test_a_function_can_choose(english_db: Path) -> None:
    registry.misc.register("test.long_words.v1", func=LongWords)
    nlp = open_pipeline(english_db, {"@misc": "test.long_words.v1", "at_least": 5}, eps=0.5)
    doc = nlp(TEXT)
    assert replaced(doc) == ["doctor", "Alice", "Zzyzxa", "Boston", "yesterday"]
    assert doc._.custext_receipt.budgets == (0.5, 2.5)
    assert nlp("a")._.custext_receipt.budgets == (0.5, 2.5)  # whatever the text
    assert replaced(pickle.loads(pickle.dumps(nlp))(TEXT)) == replaced(doc)
    registry.misc.register("test.flags.v1", func=lambda: lambda doc: doc.to_array("IS_TITLE"))
    flagged = open_pipeline(english_db, {"@misc": "test.flags.v1"}, eps=0.25)(TEXT)
    assert replaced(flagged) == ["The", "Alice", "Zzyzxa", "Boston"]
    assert flagged._.custext_receipt.budgets == (0.25,)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([True], "one value per token: expected 9, found 1"),
        (["x"] * 9, "found str"),
        ([2] * 9, "such as 2.0"),
        ([0] * 9, "True, False or an eps such as 2.0 for each token; found int"),  # False, or eps = 0?
        ([2.0] * 9, 'returned eps 2, which its attribute "budgets" does not list'),
        ([0.0] * 9, "returned eps 0, which its attribute"),  # an eps, not False
        ([float("nan")] * 9, "found nan"),
        ({1: True}, "must return a list or an array with one value per token; found dict"),
        (None, "found NoneType"),
    ],
)
def test_a_function_with_a_wrong_result_is_an_error(english_db: Path, values: Any, message: str) -> None:
    registry.misc.register("test.wrong.v1", func=lambda: lambda doc: values)
    with pytest.raises(CusTextError, match=f"sensitive: .*{message}"):
        open_pipeline(english_db, {"@misc": "test.wrong.v1"})(TEXT)


def test_listed_words_are_found_within_tokens(english_db: Path, tmp_path: Path) -> None:
    choice = {"@misc": "custext.words.v1", "words": ["alice", "o'brien", "bob", "cannot", "im"]}
    text = "Mail alice@corp.com, #Alice; www.bob.org and o'brien bobby cannot do, I'm im, can not, wed"
    nlp = open_pipeline(english_db, choice)
    doc = nlp(text)
    assert nlp("")._.custext == "" and nlp("")._.custext_receipt.words == 0
    chosen = [token.text for token in doc if token._.custext_kind != "kept"]
    assert chosen == ["alice@corp.com", "#", "Alice", "www.bob.org", "o'brien", "can", "not", "i", "m"]
    (tmp_path / "names.txt").write_text("Alice\n\n  boston \n", encoding="utf-8")
    choice = {"@misc": "custext.words.v1", "path": str(tmp_path / "names.txt")}
    assert replaced(open_pipeline(english_db, choice)(TEXT)) == ["Alice", "Boston"]


@pytest.mark.parametrize(
    ("choice", "eps", "expected"),
    [
        ({"@misc": "custext.entities.v1", "labels": ["PERSON"], "others": 3.0}, 0.25, (0.25, 3.0)),
        ({"@misc": "custext.words.v1", "words": ["doctor"], "eps": 0.5}, None, (0.5,)),
        # "PERSON at 0.5, everything else at 3" needs `others`
        ({"@misc": "custext.entities.v1", "labels": {"PERSON": 0.5}}, 3.0, "^eps: no token would be drawn at eps 3"),
        ({"@misc": "custext.words.v1", "words": ["doctor"], "eps": 101.0}, None, "sensitive: eps: eps must"),
    ],
)
def test_names_have_the_budget_of_the_component_or_their_own(
    english_db: Path, choice: dict[str, Any], eps: float | None, expected: tuple[float, ...] | str
) -> None:
    if isinstance(expected, str):
        with pytest.raises(CusTextError, match=expected):
            open_pipeline(english_db, choice, eps=eps)
    else:
        assert open_pipeline(english_db, choice, eps=eps)(TEXT)._.custext_receipt.budgets == expected


@pytest.mark.slow
def test_missing_entities_or_tags_are_an_error(english_db: Path) -> None:
    """Otherwise every word would stay in the clear because a component is missing."""
    sensitive = {"@misc": "custext.entities.v1", "labels": ["PERSON"]}
    nlp = make_pipeline(english_db, sensitive=sensitive)
    with pytest.raises(CusTextError, match="no component has set entities on this Doc; add one before custext"):
        nlp(TEXT)
    assert nlp("")._.custext == ""
    for name, tags in (("custext.parts_of_speech.v1", ["NOUN"]), ("custext.tags.v1", ["NN"])):
        with pytest.raises(CusTextError, match="add one before custext"):
            make_pipeline(english_db, sensitive={"@misc": name, "tags": tags})(TEXT)
    nothing_found = open_pipeline(english_db, sensitive)("The doctor left.")
    assert nothing_found._.custext == "The doctor left." and nothing_found._.custext_receipt.kept == 3


def test_a_word_that_is_the_only_listed_one_of_its_group_is_masked(mapped_db: Path) -> None:
    """If all other words stay, it would not hide at all; masked, it hides among the other words that are masked."""
    mapping = load_mapping(mapped_db)
    group = sorted(mapping.find_row("alice")[0], key="alice".__ne__)
    other = next(word for word in mapping.words if word not in group)
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"words": ["alice"]}, 1, "alone"),
        ({"words": group[:2]}, 2, "replaced"),
        ({"words": ["alice"], "others": 2.0}, 4, "replaced"),
    ]
    for options, expected, kind in cases:
        doc = make_pipeline(mapped_db, sensitive={"@misc": "custext.words.v1", **options})(f"alice {other}")
        assert doc._.custext_receipt.hides_among == expected
        assert (doc[0]._.custext_kind, doc[0]._.custext == "<unk>") == (kind, kind == "alone")
        assert doc._.custext_receipt.alone_masked == kinds_of(doc).count("alone")


def test_what_a_key_drew_for_a_doc_depends_on_that_doc_alone(mapped_db: Path, tmp_path: Path) -> None:
    """Otherwise, the same Docs in other batches would count as other texts of their records."""
    make_key(tmp_path / "key", mapped_db)
    sanitizer, nlp = Sanitizer.load(mapped_db, key_file=tmp_path / "key"), spacy.blank("en")
    docs, stays, none = [nlp("alice bob"), nlp("carol")], np.array([False, True, False]), np.zeros(3, dtype=bool)

    def digest(records: list[str], docs: list[Doc], stays: Flags, listed: frozenset[str] | None = None) -> set[Any]:
        batch, _ = join_tokens(docs)
        result = sanitizer.sanitize_tokens(batch, np.where(stays, np.nan, 1.0), listed=listed, records=records)
        return set(result.counts.drawn.tolist())

    whole = digest(["0", "1"], docs, stays)
    first, text = digest(["0"], docs[:1], stays[:2]), digest(["1"], docs[1:], none[2:])
    assert whole == first | text and (len(first), len(text)) == (1, 1)
    all_drawn, other_drawn = digest(["0"], docs[:1], none[:2]), digest(["0"], docs[:1], ~stays[:2])
    masked = digest(["0"], docs[:1], none[:2], frozenset({"alice"}))  # the only word of its group that is listed
    found = [*first, *all_drawn, *other_drawn, *masked]
    assert len({record for record, _, _ in found}) == 1  # the same record, with four texts
    assert len({text for _, text, _ in found}) == 4 and [words for _, _, words in found] == [1, 2, 1, 1]
    tally = Tally()
    sanitizer.sanitize_column(open_column(["carol"])[0], records=["1"], tally=tally)
    assert set(tally.records.take_all().tolist()) == text  # as in a file: so is the output
    assert not len(Sanitizer.load(mapped_db).sanitize_tokens(join_tokens(docs)[0], np.ones(3)).counts.drawn)


def test_a_list_of_words_matches_every_unicode_form(mapped_db: Path) -> None:
    listed = {"@misc": "custext.words.v1", "words": [unicodedata.normalize("NFD", "zoë"), "ａｌｉｃｅ"]}
    nlp = make_pipeline(mapped_db, sensitive=listed)
    for form in ("NFC", "NFD"):
        assert kinds_of(nlp(unicodedata.normalize(form, "zoë alice bob"))) == ["unknown", "alone", "kept"]
