"""Mechanisms as experiments run them."""

from pathlib import Path

import numpy as np
import pytest

from custext_sql import CusTextError, Sanitizer, drop_embedding, load_embeddings
from custext_sql.errors import MappingError
from custext_sql.experiments.mechanisms import MECHANISMS, MappingUnderTest, Trial
from custext_sql.kinds import Kind
from custext_sql.text.word_boundaries import fold_word
from tests.vector_samples import write_glove

TEXT = "Alice met Bob, and Mallory paid 42 to Zoë."


@pytest.fixture
def under_test(mapped_db: Path) -> MappingUnderTest:
    return MappingUnderTest(mapped_db)


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "original"])
def test_every_mechanism_replaces_words_with_words_of_the_vocabulary(under_test: MappingUnderTest, name: str) -> None:
    trial, texts = Trial(under_test, name, 0.5, 3), [TEXT] * 50
    compared = trial.compare(texts)
    words = {piece.after for pieces in compared for piece in pieces if piece.kind == Kind.REPLACED}
    assert words <= set(under_test.mapping.words)
    assert len(words) > 4
    assert trial.sanitize(texts) == ["".join(piece.after for piece in pieces) for pieces in compared]


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_seed_repeats_and_another_does_not(under_test: MappingUnderTest, name: str) -> None:
    first, again, other = (Trial(under_test, name, 1.0, seed).sanitize([TEXT] * 20) for seed in (5, 5, 6))
    assert first == again and (first == other) == (name == "original")


def test_original_changes_nothing(under_test: MappingUnderTest) -> None:
    assert Trial(under_test, "original").sanitize([TEXT, ""]) == [TEXT, ""]


def test_custext_draws_within_the_groups_of_the_mapping(under_test: MappingUnderTest, mapped_db: Path) -> None:
    sanitizer = Sanitizer.load(mapped_db)
    for pieces in Trial(under_test, "custext", 0.5, 1).compare([TEXT] * 100):
        for piece in pieces:
            if piece.kind == Kind.REPLACED:
                assert piece.after in sanitizer.distribution(fold_word(piece.before), 0.5)


def test_custext_plus_keeps_stopwords(few_db: Path) -> None:
    under_test, texts = MappingUnderTest(few_db), ["the doctor and the nurse"] * 50
    assert all(text.startswith("the ") for text in Trial(under_test, "custext+", 0.1).sanitize(texts))
    assert not all(text.startswith("the ") for text in Trial(under_test, "custext", 0.1).sanitize(texts))


def test_eps_is_divided_by_the_largest_distance_unless_told_otherwise(mapped_db: Path) -> None:
    converted, plain = MappingUnderTest(mapped_db), MappingUnderTest(mapped_db, converted=False)
    largest = converted.space.largest_distance
    texts = [TEXT] * 200
    for name in ("santext", "santext+", "fbdd"):
        assert Trial(converted, name, largest).sanitize(texts) == Trial(plain, name, 1.0).sanitize(texts)


def test_missing_vectors_are_an_error_that_says_what_to_run(
    under_test: MappingUnderTest, mapped_db: Path, tmp_path: Path
) -> None:
    drop_embedding(mapped_db, name="small")
    assert Trial(under_test, "custext", 1.0).sanitize([TEXT])  # needs no vectors
    with pytest.raises(MappingError, match="embedding 'small' was dropped.*: custext load FILE --name small"):
        under_test.open("santext")
    other = write_glove(tmp_path / "other.txt", ["alice", "bob"], np.array([[1.0], [2.0]], dtype=np.float32))
    load_embeddings(mapped_db, other, name="small")
    with pytest.raises(MappingError, match="dropped or replaced"):
        MappingUnderTest(mapped_db).open("fbdd")


def test_a_typo_gets_a_suggestion(under_test: MappingUnderTest) -> None:
    with pytest.raises(CusTextError, match="mechanism 'santex' does not exist; did you mean 'santext'"):
        under_test.open("santex")
