"""Words and their vectors -> groups and scores: a mapping, made in memory."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from custext_sql.arrays import Places, Vectors
from custext_sql.errors import MappingError, SettingError
from custext_sql.mapping.grouping import GroupingProgress, Partition, partition_words
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import Cosine, Similarity, zero_rows


def split_classes(words: Sequence[str], stopwords: frozenset[str]) -> tuple[list[Places], str | None]:
    """Return the places of the words of each class to be grouped on its own, and the word of a class of one, if any."""
    is_stopword = np.array([word in stopwords for word in words], dtype=bool)
    classes = [part for part in (np.flatnonzero(~is_stopword), np.flatnonzero(is_stopword)) if len(part)]
    alone = [part for part in classes if len(part) == 1]
    if len(classes) == 2 and alone:
        return [np.arange(len(words))], words[int(alone[0][0])]
    return classes, None


def group_words(
    vectors: Vectors,
    similarity: Similarity,
    recipe: Recipe,
    classes: Sequence[Places],
    progress: GroupingProgress | None = None,
) -> Partition:
    """Return the groups of the words, each class on its own. progress: called with words grouped and words in all."""
    if not len(vectors):
        raise MappingError("the embedding has no entry that is one word, so there is nothing to group")
    if recipe.k > len(vectors):
        raise SettingError(f"k must not exceed the number of words, {len(vectors)}; found {recipe.k}")
    ranks = _rank_pivots(len(vectors), recipe.seed)
    parts: list[Partition] = []
    done = 0
    for part in classes:
        report = None if progress is None else partial(_report_part, progress, done, len(vectors))
        rows = vectors if len(part) == len(vectors) else vectors[part]
        found = partition_words(
            rows, similarity, min(recipe.k, len(part)), order=np.argsort(ranks[part]), progress=report
        )
        parts.append(Partition(part[found.members], found.sizes))
        done += len(part)
    return Partition(np.concatenate([p.members for p in parts]), np.concatenate([p.sizes for p in parts]))


def _report_part(progress: GroupingProgress, before: int, total: int, grouped: int, _: int) -> None:
    progress(before + grouped, total)


def _rank_pivots(count: int, seed: int | None) -> Places:
    """Return each word's place in the order of pivots; a raw bit stream is the same in every version of NumPy."""
    if seed is None:
        return np.arange(count)
    ranks = np.empty(count, dtype=np.int64)
    ranks[np.argsort(np.random.PCG64(seed).random_raw(count), kind="stable")] = np.arange(count)
    return ranks


def check_directions(embedding: str, vectors: Vectors, words: Sequence[str], similarity: Similarity) -> None:
    """Refuse vectors that a measure can do nothing with: zero ones have no direction."""
    if isinstance(similarity, Cosine) and len(zero := zero_rows(vectors)):
        shown = ", ".join(words[index] for index in zero[:10]) + (", ..." if len(zero) > 10 else "")
        raise MappingError(
            f"embedding {embedding}: cosine needs vectors that are not zero; found {len(zero)} that are: {shown}; "
            "use --measure euclidean, or load without these words"
        )
