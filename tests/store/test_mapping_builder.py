"""Mappings follow the paper, contain only words, and are stored with their settings."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from custext_sql import CusTextError, build_mapping, list_mappings, load_embeddings, load_mapping
from custext_sql.arrays import Floats
from custext_sql.mapping.similarity import STEPS
from tests import oracle
from tests.cli.test_commands import run
from tests.vector_samples import stored_vectors


def grouped_words(path: Path, name: str | None = None) -> list[list[str]]:
    mapping = load_mapping(path, name)
    return [
        list(mapping.words[start : start + size])
        for start, size in zip(mapping.word_starts, mapping.sizes, strict=True)
    ]


def load(path: Path, names: list[str], vectors: Floats | None = None, *, name: str = "v") -> None:
    given = np.random.default_rng(2).normal(size=(len(names), 4)) if vectors is None else vectors
    load_embeddings(path, (names, given), name=name)


def dot(rows: Floats, columns: Floats) -> Floats:
    return np.asarray((rows[:, None] * columns[None]).sum(axis=2))


@pytest.mark.parametrize("measure", ["euclidean", "cosine"])
@pytest.mark.parametrize("k", [2, 5])
def test_stored_groups_and_scores_equal_the_oracle(loaded_db: Path, measure: str, k: int) -> None:
    build_mapping(loaded_db, embedding="small", k=k, measure=measure, name="m")
    words, vectors = stored_vectors(loaded_db, "small")
    distance = {"euclidean": oracle.euclidean, "cosine": oracle.cosine}[measure]
    groups = oracle.greedy_groups(vectors, k, distance)
    assert grouped_words(loaded_db, "m") == [[words[index] for index in group] for group in groups]
    mapping = load_mapping(loaded_db, "m")
    for group in groups:
        rows = vectors[group].astype(np.float64)
        points = oracle.unit(rows) if measure == "cosine" else rows
        squares = np.square(points[:, None] - points[None]).sum(axis=2)
        far = 1 - squares / 2 if measure == "cosine" else np.sqrt(squares)
        scaled = (far - far.min()) / (far.max() - far.min()) * (1 if measure == "cosine" else -1)
        found = np.array([mapping.find_row(words[index])[1] for index in group])
        assert np.abs(found / STEPS - scaled).max() <= 0.5 / STEPS + 1e-12


def test_a_user_function_builds_a_mapping(loaded_db: Path) -> None:
    report = build_mapping(loaded_db, embedding="small", k=3, measure=dot, larger_is_closer=True)
    assert (report.info.name, report.info.measure, report.info.larger_is_closer) == ("small-dot-k3", "dot", True)
    words, vectors = stored_vectors(loaded_db, "small")
    groups = oracle.greedy_groups(vectors, 3, lambda pivot, others: -dot(pivot[None], others)[0])
    assert grouped_words(loaded_db) == [[words[index] for index in group] for group in groups]
    assert load_mapping(loaded_db).scores.min() >= 0


def test_only_single_words_enter_a_mapping_and_the_rest_is_counted(db_path: Path) -> None:
    load(db_path, ["the", ".", "at\xa0name@domain.com", "don't", "'s", "naïve", "a-b", "1"])
    report = build_mapping(db_path, embedding="v", k=2)
    assert sorted(load_mapping(db_path).words) == ["1", "don't", "naïve", "the"]
    assert (report.info.words, report.info.left_out) == (4, 4)


def test_a_limit_uses_only_the_first_entries(db_path: Path) -> None:
    names = ["the", ".", "cat", "dog", ",", "cow", "hen", "pig"]
    vectors = np.random.default_rng(0).normal(size=(8, 3))
    load(db_path, names, vectors)
    report = build_mapping(db_path, embedding="v", k=2, limit=6)
    assert sorted(load_mapping(db_path).words) == ["cat", "cow", "dog", "the"]
    assert (report.info.words, report.info.left_out, report.info.word_limit) == (4, 2, 6)
    load(db_path, names[:6], vectors[:6], name="six")
    assert build_mapping(db_path, embedding="six", k=2).info.fingerprint == report.info.fingerprint
    with pytest.raises(CusTextError, match="already exists with different settings"):
        build_mapping(db_path, embedding="v", k=2, name=report.info.name)
    build_mapping(db_path, embedding="v", k=3, order="random", seed=1, name="random")
    mapping = load_mapping(db_path, "random")
    assert [names[rank] for rank in mapping.ranks] == list(mapping.words)


def test_what_was_asked_for_is_recorded(loaded_db: Path) -> None:
    report = build_mapping(
        loaded_db, embedding="small", k=4, measure="cosine", normalization="word", order="random", seed=5
    )
    [info], default = list_mappings(loaded_db)
    assert info == report.info
    assert (info.name, info.embedding, info.k) == ("small-cosine-k4-by-word-seed5", "small", 4)
    assert info.measure == "cosine"
    assert (info.normalization, info.pivot_order, info.seed, info.stopword_language) == ("word", "random", 5, None)
    assert (info.grouping, info.word_limit) == ("greedy", None)
    assert (info.words, info.group_count, report.smallest_group, report.largest_group) == (16, 4, 4, 4)
    assert default == info.name
    settings: dict[str, Any] = {"k": np.int64(4), "measure": "cosine", "normalization": "word", "order": "random"}
    made = [
        build_mapping(loaded_db, embedding="small", name=f"m{seed}", seed=seed, **settings).info.fingerprint
        for seed in (5, 6)
    ]
    assert made[0] == info.fingerprint != made[1]


def test_stopwords_apart_share_no_group_with_other_words(db_path: Path) -> None:
    names = ["the", "he", "she", "it", "of", "cat", "dog", "cow", "pig", "hen"]
    load(db_path, names)
    report = build_mapping(db_path, embedding="v", k=4, separate_stopwords=True)
    assert report.info.stopword_language == "english"
    assert report.merged is None
    sizes = []
    for group in grouped_words(db_path):
        assert set(group) <= set(names[:5]) or set(group) <= set(names[5:])
        sizes.append(len(group))
    assert sizes == [5, 5]  # the fifth word of each class joins the closest pivot of its class


@pytest.mark.parametrize(("names", "alone"), [("the cat dog cow", "the"), ("the he she cat", "cat")])
def test_a_class_of_one_word_is_merged_and_reported(db_path: Path, names: str, alone: str) -> None:
    load(db_path, names.split())
    report = build_mapping(db_path, embedding="v", k=2, separate_stopwords=True)
    assert report.merged == alone
    assert report.info.stopword_language is None  # stopwords are not separate, and the mapping must not claim it
    assert build_mapping(db_path, embedding="v", k=2, separate_stopwords=True).already_there
    assert sorted(word for group in grouped_words(db_path) for word in group) == sorted(names.split())


def test_a_zero_vector_under_cosine_is_an_error_that_names_the_words(db_path: Path) -> None:
    load(db_path, ["a", "b", ".", "d"], np.diag([1.0, 0, 1, 0]))
    with pytest.raises(CusTextError, match="found 2 zero vectors: b, d;"):
        build_mapping(db_path, embedding="v", k=2, measure="cosine")
    assert build_mapping(db_path, embedding="v", k=2).info.words == 3


def test_building_the_same_mapping_again_changes_nothing(mapped_db: Path) -> None:
    before = list_mappings(mapped_db)
    report = build_mapping(mapped_db, embedding="small", k=4)
    assert report.already_there
    assert list_mappings(mapped_db) == before


def test_a_name_that_is_taken_needs_replace(mapped_db: Path, glove_file: Path, tmp_path: Path) -> None:
    name = "small-euclidean-k4"
    with pytest.raises(CusTextError, match=f"mapping '{name}' already exists with different settings"):
        build_mapping(mapped_db, embedding="small", k=5, name=name)
    command = run("--db", mapped_db, "map", "--embedding", "small", "--k", "5", "--name", name)
    assert command.exit_code == 1 and f"mapping '{name}' already exists with different settings" in command.output
    assert "use --replace" in command.output and load_mapping(mapped_db, name).info.k == 4
    assert build_mapping(mapped_db, embedding="small", k=5, name=name, replace=True).info.k == 5
    assert sorted(load_mapping(mapped_db, name).sizes) == [5, 5, 6]
    # Fewer words of the same file: the same recipe, but another result.
    load_embeddings(mapped_db, glove_file, name="small", limit=12, replace=True)
    with pytest.raises(CusTextError, match="already exists with different settings"):
        build_mapping(mapped_db, embedding="small", k=5, name=name)
    assert load_mapping(mapped_db, name).sizes.sum() == 16


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embedding": "smal"}, "embedding 'smal' does not exist; did you mean 'small'"),
        ({"k": 17}, "must not exceed the number of words, 16; found 17"),
        ({"k": 1}, "at least 2"),
        ({"separate_stopwords": True, "language": "german"}, "run: custext stopwords --language german"),
        ({"order": "random", "seed": "x"}, "seed must be a whole number; found 'x'"),
        ({"measure": []}, "euclidean, cosine or a function"),
        ({"measure": dot, "larger_is_closer": "no"}, "needs larger_is_closer=True or"),
        ({"normalization": "row"}, "group, word; found 'row'"),
        ({"order": "alphabet"}, "file, random; found 'alphabet'"),
        ({"order": "random"}, "needs a seed"),
        ({"seed": 3}, "a seed requires order 'random'"),
        ({"order": "random", "seed": -1}, "from 0 to"),
        ({"grouping": "best"}, "grouping.* must be one of greedy, refined; found 'best'"),
        ({"limit": 1}, "limit.* from 2 to .*; found 1"),
        ({"limit": "all"}, "limit.* must be a whole number; found 'all'"),
        ({"limit": 3}, "must not exceed the number of words, 3; found 4"),
        ({"name": "a b"}, "name of a mapping must have 1 to 100 characters, only letters"),
    ],
)
def test_bad_parameters_are_named_and_nothing_is_written(
    loaded_db: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(CusTextError, match=message):
        build_mapping(loaded_db, **{"embedding": "small", "k": 4, **options})  # type: ignore[arg-type]
    assert list_mappings(loaded_db) == ([], None)


def test_a_function_cannot_change_the_vectors(loaded_db: Path) -> None:
    def shifting(rows: Floats, columns: Floats) -> Floats:
        columns -= rows
        return np.asarray(np.abs(columns).sum(axis=1)[None])

    with pytest.raises(CusTextError, match="similarity shifting: .*read-only"):
        build_mapping(loaded_db, embedding="small", k=4, measure=shifting, larger_is_closer=False)


def test_a_function_named_as_a_measure_is_called_custom(loaded_db: Path) -> None:
    def cosine(rows: Floats, columns: Floats) -> Floats:
        return dot(rows, columns)

    info = build_mapping(loaded_db, embedding="small", k=4, measure=cosine, larger_is_closer=True).info
    assert (info.name, info.measure) == ("small-custom-k4", "custom")


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM tokens WHERE token = 'bob'",
        "UPDATE tokens SET token = 'bob' WHERE token = 'judy'",
        "UPDATE tokens SET position = 99 WHERE token = 'bob'",
        "DELETE FROM vectors WHERE position = 4",
        "UPDATE vectors SET position = -1 WHERE position = 4",
        "UPDATE vectors SET vector = CASE position WHEN 4 THEN vector[1:4] ELSE list_append(vector, 1) END "
        "WHERE position IN (4, 5)",
        "UPDATE vectors SET vector = ['nan'::FLOAT, 1, 1, 1, 1] WHERE position = 4",
    ],
)
def test_an_embedding_that_was_changed_is_refused(loaded_db: Path, change: str) -> None:
    with duckdb.connect(loaded_db) as connection:
        connection.execute(change)
    with pytest.raises(CusTextError, match=r"embedding small: .* were changed after loading .* load small\.txt again"):
        build_mapping(loaded_db, embedding="small", k=4)


def test_an_embedding_with_no_words_is_an_error(db_path: Path) -> None:
    load(db_path, [".", ","])
    with pytest.raises(CusTextError, match="no entry that is a single word"):
        build_mapping(db_path, embedding="v")
