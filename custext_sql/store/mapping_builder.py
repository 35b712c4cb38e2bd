"""From an embedding to a stored mapping: vocabulary, groups, scores, fingerprint."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from datetime import UTC, datetime
from functools import partial

import duckdb
import numpy as np

from custext_sql.arrays import Places, Vectors
from custext_sql.errors import MappingError, SettingError
from custext_sql.mapping.grouping import Partition, Progress, partition_words
from custext_sql.mapping.mapping import Mapping, MappingInfo, fingerprint
from custext_sql.mapping.scoring import check_normalization, score_groups
from custext_sql.mapping.similarity import Compare, Cosine, Similarity, choose_similarity, zero_rows
from custext_sql.parameters import check_name, check_whole
from custext_sql.store.database import Database, reading, writing
from custext_sql.store.embeddings import Embedding, find_embedding, read_tokens, read_vectors
from custext_sql.store.mappings import delete_mapping, find_mapping, read_infos, read_mapping, save_mapping
from custext_sql.store.stopwords import SHIPPED_LANGUAGE, read_stopwords
from custext_sql.text.word_boundaries import are_words

ORDERS = ("file", "random")


@dataclass(frozen=True)
class MappingReport:
    """What building did."""

    info: MappingInfo
    already_there: bool  # an identical mapping of that name was stored before; nothing was written
    merged: str | None  # the one word of a class of one, grouped with the other class
    smallest_group: int
    largest_group: int
    seconds: float


def build_mapping(
    database: Database = None,
    *,
    embedding: str,
    k: int = 20,
    measure: str | Compare = "euclidean",
    larger_is_closer: bool | None = None,
    normalization: str = "group",
    name: str | None = None,
    order: str = "file",
    seed: int | None = None,
    separate_stopwords: bool = False,
    language: str = SHIPPED_LANGUAGE,
    replace: bool = False,
    progress: Progress | None = None,
) -> MappingReport:
    """Group an embedding's words by Algorithm 1 of the paper, score every pair within a group, and store both.

    measure: "euclidean", "cosine", or a function (rows, rows) -> matrix together with larger_is_closer. order: pivots
    in the order of the embedding's source, or "random" by a seed; never by the frequencies of a private text.
    separate_stopwords: group the stopwords of `language` and the other words each on their own, so that CusText+ never
    turns a content word into a stopword. progress: called with words grouped and words in all.
    """
    started = time.perf_counter()
    similarity = choose_similarity(measure, larger_is_closer)
    check_normalization(normalization)
    k = check_whole(k, "k")
    seed = None if seed is None else check_whole(seed, "seed")
    _check_order(order, seed)
    with reading(database) as connection:
        source = find_embedding(connection, embedding)
        tokens = read_tokens(connection, source)
        positions = np.flatnonzero(are_words(tokens))
        words = [tokens[position] for position in positions]
        stopwords = read_stopwords(connection, language) if separate_stopwords else frozenset()
        classes, merged = _classes(words, stopwords)
        recipe = MappingInfo(
            name=check_name(name or f"{embedding}-{similarity.name}-k{k}", "a mapping"),
            embedding=embedding,
            embedding_sha256=source.sha256,
            measure=similarity.name,
            larger_is_closer=similarity.larger_is_closer,
            k=k,
            normalization=normalization,
            pivot_order=order,
            seed=seed,
            stopword_language=language if separate_stopwords and merged is None else None,
            words=len(words),
            group_count=0,
            left_out=len(tokens) - len(words),
            fingerprint="",
            created_at=datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        )
        if not replace:
            _refuse_other(recipe, read_infos(connection))
        vectors = read_vectors(connection, source, positions)
    _check_vectors(vectors, words, similarity, source)
    partition = _partition_classes(vectors, similarity, k, classes, _pivot_ranks(len(words), seed), progress)
    mapping = _assemble(recipe, words, vectors, partition, similarity)
    already_there = _store(database, mapping, source, replace)
    sizes = partition.sizes
    return MappingReport(
        mapping.info, already_there, merged, int(sizes.min()), int(sizes.max()), time.perf_counter() - started
    )


def _check_order(order: str, seed: int | None) -> None:
    if order not in ORDERS:
        raise SettingError(f"order must be one of {', '.join(ORDERS)}; found {order!r}")
    if order == "random" and seed is None:
        raise SettingError("order 'random' needs a seed, which is recorded with the mapping")
    if order == "file" and seed is not None:
        raise SettingError("a seed is for order 'random'; order 'file' takes none")
    if seed is not None and not 0 <= seed < 2**63:
        raise SettingError(f"seed must be a whole number from 0 to 2**63 - 1; found {seed}")


def _check_vectors(vectors: Vectors, words: Sequence[str], similarity: Similarity, source: Embedding) -> None:
    if isinstance(similarity, Cosine) and len(zero := zero_rows(vectors)):
        shown = ", ".join(words[index] for index in zero[:10]) + (", ..." if len(zero) > 10 else "")
        raise MappingError(
            f"embedding {source.name}: cosine needs vectors that are not zero; found {len(zero)} that are: {shown}; "
            "use --measure euclidean, or load without these words"
        )


def _classes(words: Sequence[str], stopwords: frozenset[str]) -> tuple[list[Places], str | None]:
    """Word indices of each class to be grouped on its own, and the word of a class of one."""
    is_stopword = np.array([word in stopwords for word in words], dtype=bool)
    classes = [part for part in (np.flatnonzero(~is_stopword), np.flatnonzero(is_stopword)) if len(part)]
    alone = [part for part in classes if len(part) == 1]
    if len(classes) == 2 and alone:
        return [np.arange(len(words))], words[int(alone[0][0])]
    return classes, None


def _pivot_ranks(count: int, seed: int | None) -> Places:
    """Each word's place in the order of pivots. A raw bit stream is the same in every version of NumPy."""
    if seed is None:
        return np.arange(count)
    ranks = np.empty(count, dtype=np.int64)
    ranks[np.argsort(np.random.PCG64(seed).random_raw(count), kind="stable")] = np.arange(count)
    return ranks


def _partition_classes(
    vectors: Vectors,
    similarity: Similarity,
    k: int,
    classes: Sequence[Places],
    ranks: Places,
    progress: Progress | None,
) -> Partition:
    if not len(vectors):
        raise MappingError("the embedding has no token that is one word, so there is nothing to group")
    if k > len(vectors):
        raise SettingError(f"k must not exceed the number of words, {len(vectors)}; found {k}")
    parts: list[Partition] = []
    done = 0
    for part in classes:
        report = None if progress is None else partial(_report_part, progress, done, len(vectors))
        rows = vectors if len(part) == len(vectors) else vectors[part]
        found = partition_words(rows, similarity, min(k, len(part)), order=np.argsort(ranks[part]), progress=report)
        parts.append(Partition(part[found.members], found.sizes))
        done += len(part)
    return Partition(np.concatenate([p.members for p in parts]), np.concatenate([p.sizes for p in parts]))


def _report_part(progress: Progress, before: int, total: int, grouped: int, _: int) -> None:
    progress(before + grouped, total)


def _assemble(
    recipe: MappingInfo,
    words: Sequence[str],
    vectors: Vectors,
    partition: Partition,
    similarity: Similarity,
) -> Mapping:
    ordered = tuple(words[index] for index in partition.members)
    matrices = score_groups(vectors, partition, similarity, recipe.normalization)
    scores = np.concatenate([matrix.reshape(-1) for matrix in matrices])
    info = replaced(recipe, group_count=len(partition.sizes), fingerprint=fingerprint(ordered, partition.sizes, scores))
    return Mapping(info, ordered, partition.sizes, scores)


def _store(database: Database, mapping: Mapping, source: Embedding, replace: bool) -> bool:
    """Save the mapping; True if it was there already."""
    info = mapping.info
    with writing(database) as connection:
        if find_embedding(connection, source.name) != source:
            raise MappingError(f"embedding {source.name} was replaced meanwhile; run the command again")
        if not replace:
            _refuse_other(info, infos := read_infos(connection))
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


def _refuse_other(wanted: MappingInfo, infos: Sequence[MappingInfo]) -> None:
    """An error if a mapping of that name is stored that was made otherwise, or came out otherwise."""
    for info in infos:
        if info.name != wanted.name:
            continue
        same = replaced(info, created_at=wanted.created_at)
        if not wanted.fingerprint:  # not built yet
            same = replaced(same, group_count=0, fingerprint="")
        if same != wanted:
            raise SettingError(
                f"there is a mapping {info.name!r} already, made otherwise; replace it (--replace, "
                "replace=True), or choose another name"
            )
