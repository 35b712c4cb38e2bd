"""Mechanisms as experiments run them."""

from pathlib import Path

import numpy as np
import pytest

from custext_sql import CusTextError, Sanitizer, drop_embedding, load_embeddings
from custext_sql.errors import MappingError
from custext_sql.experiments.mechanisms import MECHANISMS, MappingUnderTest
from custext_sql.kinds import Kind
from custext_sql.text.word_boundaries import fold_word
from tests.vector_samples import write_glove

TEXT = "Alice met Bob, and Mallory paid 42 to Zoë."


@pytest.fixture
def under_test(mapped_db: Path) -> MappingUnderTest:
    return MappingUnderTest(mapped_db)


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "original"])
def test_every_mechanism_replaces_words_with_words_of_the_vocabulary(under_test: MappingUnderTest, name: str) -> None:
    opened = under_test.open(name)
    texts = [TEXT] * 50
    compared = opened.compare(texts, 0.5, 3)
    words = {piece.after for pieces in compared for piece in pieces if piece.kind == Kind.REPLACED}
    assert words <= set(under_test.mapping.words)
    assert len(words) > 4
    assert opened.sanitize(texts, 0.5, 3) == ["".join(piece.after for piece in pieces) for pieces in compared]


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_seed_repeats_and_another_does_not(under_test: MappingUnderTest, name: str) -> None:
    opened, texts = under_test.open(name), [TEXT] * 20
    assert opened.sanitize(texts, 1.0, 5) == opened.sanitize(texts, 1.0, 5)
    assert (opened.sanitize(texts, 1.0, 5) == opened.sanitize(texts, 1.0, 6)) == (name == "original")


def test_original_changes_nothing(under_test: MappingUnderTest) -> None:
    assert under_test.open("original").sanitize([TEXT, ""], 1.0, 0) == [TEXT, ""]


def test_custext_draws_within_the_groups_of_the_mapping(under_test: MappingUnderTest, mapped_db: Path) -> None:
    sanitizer = Sanitizer.load(mapped_db)
    for pieces in under_test.open("custext").compare([TEXT] * 100, 0.5, 1):
        for piece in pieces:
            if piece.kind == Kind.REPLACED:
                assert piece.after in sanitizer.distribution(fold_word(piece.before), 0.5)


def test_custext_plus_keeps_stopwords(starter_db: Path) -> None:
    under_test, texts = MappingUnderTest(starter_db), ["the doctor and the nurse"] * 50
    assert all(text.startswith("the ") for text in under_test.open("custext+").sanitize(texts, 0.1, 0))
    assert not all(text.startswith("the ") for text in under_test.open("custext").sanitize(texts, 0.1, 0))


def test_eps_is_divided_by_the_largest_distance_unless_told_otherwise(mapped_db: Path) -> None:
    converted, plain = MappingUnderTest(mapped_db), MappingUnderTest(mapped_db, converted=False)
    largest = converted.space.largest_distance
    texts = [TEXT] * 200
    for name in ("santext", "santext+", "fbdd"):
        assert converted.open(name).sanitize(texts, largest, 0) == plain.open(name).sanitize(texts, 1.0, 0)


def test_missing_vectors_are_an_error_that_says_what_to_run(
    under_test: MappingUnderTest, mapped_db: Path, tmp_path: Path
) -> None:
    drop_embedding(mapped_db, name="small")
    assert under_test.open("custext").sanitize([TEXT], 1.0, 0)  # needs no vectors
    with pytest.raises(MappingError, match="embedding 'small' was dropped.*: custext load FILE --name small"):
        under_test.open("santext")
    other = write_glove(tmp_path / "other.txt", ["alice", "bob"], np.array([[1.0], [2.0]], dtype=np.float32))
    load_embeddings(mapped_db, other, name="small")
    with pytest.raises(MappingError, match="dropped or replaced"):
        MappingUnderTest(mapped_db).open("fbdd")
    assert under_test.find_space() is None


def test_a_typo_gets_a_suggestion(under_test: MappingUnderTest) -> None:
    with pytest.raises(CusTextError, match="mechanism 'santex' does not exist; did you mean 'santext'"):
        under_test.open("santex")
