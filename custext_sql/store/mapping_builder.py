"""Builds a mapping from a stored embedding, and stores it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from dataclasses import replace as replaced
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np

from custext_sql.errors import MappingError, SettingError
from custext_sql.mapping.grouping import GroupingProgress, Partition
from custext_sql.mapping.making import check_directions, group_words, split_classes
from custext_sql.mapping.mapping import Mapping, MappingInfo, digest_ranks, fingerprint
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.scoring import score_groups
from custext_sql.mapping.similarity import MEASURES, Similarity
from custext_sql.store.connections import reading_file, writing_file
from custext_sql.store.rows.embeddings import Embedding, find_embedding, read_entries, read_vectors
from custext_sql.store.rows.mappings import delete_mapping, find_mapping, read_infos, read_mapping, save_mapping
from custext_sql.store.rows.stopwords import read_stopwords
from custext_sql.text.word_boundaries import are_words


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
    name, similarity = recipe.name_mapping(name), similarity or MEASURES[recipe.measure]
    with reading_file(path) as connection:
        source = find_embedding(connection, recipe.embedding)
        entries = read_entries(connection, source)[: recipe.word_limit]
        positions = np.flatnonzero(are_words(entries))
        words = [entries[position] for position in positions]
        language = recipe.stopword_language
        classes, merged = split_classes(words, read_stopwords(connection, language) if language else frozenset())
        if merged is not None:
            recipe = replaced(recipe, stopword_language=None)
        if not replace:
            _refuse_other(name, recipe, source, read_infos(connection))
        vectors = read_vectors(connection, source, positions)
    check_directions(source.name, vectors, words, similarity)
    partition = group(vectors, similarity, recipe, classes, progress, ranks=positions + 1)
    ordered = tuple(words[index] for index in partition.members)
    matrices = score_groups(vectors, partition, similarity, recipe.normalization)
    scores = np.concatenate([matrix.reshape(-1) for matrix in matrices])
    info = MappingInfo(
        name=name,
        embedding_sha256=source.sha256,
        words=len(words),
        group_count=len(partition.sizes),
        left_out=len(entries) - len(words),
        fingerprint=fingerprint(ordered, partition.sizes, scores),
        ranks_sha256=digest_ranks(positions[partition.members]),
        created_at=datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        **asdict(recipe),
    )
    mapping = Mapping(info, ordered, partition.sizes, scores, positions[partition.members])
    already_there = _store(path, mapping, source, replace)
    sizes = partition.sizes
    return MappingReport(info, already_there, merged, int(sizes.min()), int(sizes.max()), time.perf_counter() - started)


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
