"""Mechanisms as experiments run them."""

from pathlib import Path

import numpy as np
import pytest

from custext_sql import CusTextError, Sanitizer, drop_embedding, load_embeddings
from custext_sql.errors import MappingError, SettingError
from custext_sql.experiments.mechanisms import NAMES, Arena
from custext_sql.replacing.kinds import Kind
from custext_sql.text.word_boundaries import fold_word
from tests.vector_samples import write_glove

TEXT = "Alice met Bob, and Mallory paid 42 to Zoë."


@pytest.fixture
def arena(mapped_db: Path) -> Arena:
    return Arena(mapped_db)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "original"])
def test_every_mechanism_replaces_words_by_words_of_the_vocabulary(arena: Arena, name: str) -> None:
    contender = arena.open(name)
    texts = [TEXT] * 50
    compared = contender.compare(texts, 0.5, 3)
    words = {piece.after for pieces in compared for piece in pieces if piece.kind == Kind.SAMPLED}
    assert words <= set(arena.mapping.words)
    assert len(words) > 4
    assert contender.sanitize(texts, 0.5, 3) == ["".join(piece.after for piece in pieces) for pieces in compared]


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_repeats_and_another_does_not(arena: Arena, name: str) -> None:
    contender, texts = arena.open(name), [TEXT] * 20
    assert contender.sanitize(texts, 1.0, 5) == contender.sanitize(texts, 1.0, 5)
    assert (contender.sanitize(texts, 1.0, 5) == contender.sanitize(texts, 1.0, 6)) == (name == "original")


def test_original_stays_as_it_is(arena: Arena) -> None:
    assert arena.open("original").sanitize([TEXT, ""], 1.0, 0) == [TEXT, ""]
    with pytest.raises(SettingError, match="no before and after"):
        arena.open("original").compare([TEXT], 1.0, 0)


def test_custext_draws_within_the_groups_of_the_mapping(arena: Arena, mapped_db: Path) -> None:
    sanitizer = Sanitizer.load(mapped_db)
    for pieces in arena.open("custext").compare([TEXT] * 100, 0.5, 1):
        for piece in pieces:
            if piece.kind == Kind.SAMPLED:
                assert piece.after in sanitizer.distribution(fold_word(piece.before), 0.5)


def test_custext_plus_keeps_stopwords(starter_db: Path) -> None:
    arena, texts = Arena(starter_db), ["the doctor and the nurse"] * 50
    assert all(text.startswith("the ") for text in arena.open("custext+").sanitize(texts, 0.1, 0))
    assert not all(text.startswith("the ") for text in arena.open("custext").sanitize(texts, 0.1, 0))


def test_eps_is_divided_by_the_largest_distance_unless_told_otherwise(mapped_db: Path) -> None:
    converted, plain = Arena(mapped_db), Arena(mapped_db, converted=False)
    largest = converted.space.largest_distance
    texts = [TEXT] * 200
    for name in ("santext", "santext+", "fbdd"):
        assert converted.open(name).sanitize(texts, largest, 0) == plain.open(name).sanitize(texts, 1.0, 0)


def test_vectors_that_are_gone_are_asked_for(arena: Arena, mapped_db: Path, tmp_path: Path) -> None:
    drop_embedding(mapped_db, name="small")
    assert arena.open("custext").sanitize([TEXT], 1.0, 0)  # needs none
    with pytest.raises(MappingError, match="built from the embedding 'small'.*custext load FILE --name small"):
        arena.open("santext")
    other = write_glove(tmp_path / "other.txt", ["alice", "bob"], np.array([[1.0], [2.0]], dtype=np.float32))
    load_embeddings(mapped_db, other, name="small")
    with pytest.raises(MappingError, match="no longer those"):
        Arena(mapped_db).open("fbdd")
    assert arena.find_space() is None


def test_a_typo_is_told(arena: Arena) -> None:
    with pytest.raises(CusTextError, match="no mechanism 'santex'; did you mean 'santext'"):
        arena.open("santex")
