"""Builds a mapping from a stored embedding, and stores it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from custext_sql.errors import MappingError, SettingError
from custext_sql.mapping.grouping import GroupingProgress, Partition
from custext_sql.mapping.making import group_words
from custext_sql.mapping.mapping import Mapping, MappingInfo
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import Similarity
from custext_sql.store.connections import reading_file, writing_file
from custext_sql.store.mapping_maker import make_mapping, read_words
from custext_sql.store.rows.embeddings import Embedding, find_embedding, read_vectors
from custext_sql.store.rows.mappings import delete_mapping, find_mapping, read_infos, read_mapping, save_mapping


@dataclass(frozen=True)
class MappingReport:
    """The result of `build_mapping`.

    info: how the mapping was made, how many words and groups it has, and its fingerprint.
    already_there: whether an identical mapping of that name was stored before, so that nothing was written.
    merged: with separate_stopwords, the only stopword, or the only other word, of the embedding: since a group has at
        least two words, all words were then grouped together. None otherwise.
    smallest_group, largest_group: numbers of words.
    seconds: how long it took.
    """

    info: MappingInfo
    already_there: bool
    merged: str | None
    smallest_group: int
    largest_group: int
    seconds: float


def build_in_file(
    path: Path,
    recipe: Recipe,
    similarity: Similarity | None = None,
    *,
    name: str | None = None,
    replace: bool = False,
    progress: GroupingProgress | None = None,
    group: Callable[..., Partition] = group_words,
) -> MappingReport:
    """Build a mapping in the database at `path`; see `build_mapping`.

    similarity: the recipe's measure; needed only if it is a function of the user. group: `group_words`, or a function
    with the same parameters that finds the same groups sooner.
    """
    started = time.perf_counter()
    given = recipe.name_mapping(name) if name or replace else None
    with reading_file(path) as connection:
        words = read_words(connection, recipe)
        recipe, infos = words.settle(recipe), read_infos(connection)
        name = given or name_new(recipe, infos)
        if not replace:
            _refuse_other(name, recipe, words.source, infos)
        vectors = read_vectors(connection, words.source, words.positions)
    mapping = make_mapping(words, vectors, recipe, name, similarity, progress=progress, group=group)
    already_there = _store(path, mapping, words.source, replace)
    sizes, seconds = mapping.sizes, time.perf_counter() - started
    return MappingReport(mapping.info, already_there, words.merged, int(sizes.min()), int(sizes.max()), seconds)


def name_new(recipe: Recipe, infos: Sequence[MappingInfo]) -> str:
    """Return the default name of a mapping in a database that has these mappings.

    It is the usual one, unless a mapping with other settings has that name.
    """
    usual, recipes = recipe.name_mapping(None), {info.name: info.recipe for info in infos}
    return usual if recipes.get(usual, recipe) == recipe else recipe.name_beside(recipes[usual])


def _store(path: Path, mapping: Mapping, source: Embedding, replace: bool) -> bool:
    """Save the mapping, and return whether it was already there."""
    info = mapping.info
    with writing_file(path) as connection:
        if find_embedding(connection, source.name) != source:
            raise MappingError(f"embedding {source.name} was replaced in the meantime; try again")
        if not replace:
            infos = read_infos(connection)
            _refuse_other(info.name, info.recipe, source, infos, info.fingerprint)
            if info.name in {other.name for other in infos} and _is_intact(connection, info.name):
                return True
        delete_mapping(connection, info.name)
        save_mapping(connection, mapping)
    return False


def _is_intact(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    try:
        read_mapping(connection, find_mapping(connection, name))
    except MappingError:
        return False
    return True


def _refuse_other(
    name: str, recipe: Recipe, source: Embedding, infos: Sequence[MappingInfo], fingerprint: str | None = None
) -> None:
    """Raise SettingError if a mapping of that name exists with other settings or another fingerprint."""
    for info in infos:
        if info.name == name and not (
            info.recipe == recipe and info.embedding_sha256 == source.sha256 and fingerprint in (None, info.fingerprint)
        ):
            raise SettingError(
                f"mapping {name!r} already exists with different settings; to replace it, use --replace (in Python: "
                "replace=True), or choose another name"
            )
