"""Makes a mapping of words and their vectors, as a recipe says."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial

import numpy as np

from custext_sql.arrays import Draws, Numbers, Places, Vectors
from custext_sql.errors import MappingError, SettingError
from custext_sql.mapping.grouping import GroupingProgress, Partition, partition_words
from custext_sql.mapping.mapping import Mapping, MappingInfo, digest_ranks, fingerprint
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.refining import refine_partition
from custext_sql.mapping.similarity import MEASURES, Cosine, Geometric, Similarity, score_groups
from custext_sql.parameters import count_of
from custext_sql.text.word_boundaries import are_words


@dataclass(frozen=True, eq=False)
class WordsToGroup:
    """The words of an embedding that a recipe groups, whatever its k.

    sha256: of the source of the embedding. entries: how many of its entries the recipe uses, also those that are not
    single words. positions: the place of each word in the embedding. classes: the words that are grouped separately.
    merged: the only word of its class, so that there is one class only; None otherwise.
    """

    sha256: str
    entries: int
    words: Sequence[str]
    positions: Places
    classes: Sequence[Places]
    merged: str | None

    def settle(self, recipe: Recipe) -> Recipe:
        """Return the recipe as it applies to these words: without separate stopwords if the classes were merged."""
        return recipe if self.merged is None else replace(recipe, stopword_language=None)


def choose_words(sha256: str, entries: list[str], recipe: Recipe, stopwords: frozenset[str]) -> WordsToGroup:
    """Return the words to group, of all entries of an embedding. stopwords: those to group separately."""
    entries = entries[: recipe.word_limit]
    positions = np.flatnonzero(are_words(entries))
    words = [entries[position] for position in positions]
    classes, merged = split_classes(words, stopwords)
    return WordsToGroup(sha256, len(entries), words, positions, classes, merged)


def split_classes(words: Sequence[str], stopwords: frozenset[str]) -> tuple[list[Places], str | None]:
    """Return the indices of the words of each class: stopwords and other words.

    If a class has one word, return a single class of all words, and that word.
    """
    is_stopword = np.array([word in stopwords for word in words], dtype=bool)
    classes = [part for part in (np.flatnonzero(~is_stopword), np.flatnonzero(is_stopword)) if len(part)]
    alone = [part for part in classes if len(part) == 1]
    if len(classes) == 2 and alone:
        return [np.arange(len(words))], words[int(alone[0][0])]
    return classes, None


def make_mapping(
    words: WordsToGroup,
    vectors: Vectors,
    recipe: Recipe,
    name: str,
    similarity: Similarity | None = None,
    *,
    progress: GroupingProgress | None = None,
    group: Callable[..., Partition] | None = None,
) -> Mapping:
    """Return the mapping that a recipe makes of these words.

    vectors: of the words. recipe: as `settle` returns it. similarity: its measure; needed only if that is a function of
    the user. group: a function with the parameters of `group_words` that finds the same groups sooner.
    """
    similarity = similarity or MEASURES[recipe.measure]
    _check_directions(recipe.embedding, vectors, words.words, similarity)
    find_groups = group or group_words
    partition = find_groups(vectors, similarity, recipe, words.classes, progress, ranks=words.positions + 1)
    ordered = tuple(words.words[index] for index in partition.members)
    matrices = score_groups(vectors, partition.groups(), similarity, recipe.normalization)
    scores = np.concatenate([matrix.reshape(-1) for matrix in matrices])
    ranks = words.positions[partition.members]
    info = MappingInfo(
        name=name,
        embedding_sha256=words.sha256,
        words=len(ordered),
        group_count=len(partition.sizes),
        left_out=words.entries - len(ordered),
        fingerprint=fingerprint(ordered, partition.sizes, scores),
        ranks_sha256=digest_ranks(ranks),
        created_at=datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        **asdict(recipe),
    )
    return Mapping(info, ordered, partition.sizes, scores, ranks)


def group_words(
    vectors: Vectors,
    similarity: Similarity,
    recipe: Recipe,
    classes: Sequence[Places],
    progress: GroupingProgress | None = None,
    *,
    ranks: Numbers | None = None,
) -> Partition:
    """Return the groups of the words, each class grouped separately. Raise MappingError if there are no words.

    progress: called with the work done so far and all work, counted in words; refining counts twice. ranks: the place
    of each word in the vector file, from 1 and in ascending order; by default, the words are the whole file.
    """
    if not len(vectors):
        raise MappingError("the embedding has no entry that is a single word, so there is nothing to group")
    if recipe.k > len(vectors):
        raise SettingError(f"k must not exceed the number of words, {len(vectors):,}; found {recipe.k:,}")
    refined = recipe.grouping == "refined"
    if refined and not isinstance(similarity, Geometric):
        raise SettingError(
            "refined groups need the centers of groups, which a similarity function does not have: use measure "
            f"{' or '.join(MEASURES)}, or --grouping greedy (in Python: grouping='greedy')"
        )
    ranks = np.arange(1, len(vectors) + 1) if ranks is None else ranks
    turns: Numbers | Draws = np.arange(len(vectors))
    if recipe.seed is not None:  # raw bit streams are equal in all versions of NumPy
        turns = np.random.PCG64(recipe.seed).random_raw(len(vectors))
    parts: list[Partition] = []
    tell = partial(_tell, progress, (3 if refined else 1) * len(vectors))
    done = 0
    for part in classes:
        rows = vectors if len(part) == len(vectors) else vectors[part]
        k, order = min(recipe.k, len(part)), np.argsort(turns[part], kind="stable")
        found = partition_words(rows, similarity, k, order=order, progress=partial(tell, done, len(part)))
        done += len(part)
        if refined and isinstance(similarity, Geometric):
            found = refine_partition(rows, similarity, found, ranks[part], partial(tell, done, 2 * len(part)))
            done += 2 * len(part)
        parts.append(Partition(part[found.members], found.sizes))
    return Partition(np.concatenate([p.members for p in parts]), np.concatenate([p.sizes for p in parts]))


def _tell(progress: GroupingProgress | None, total: int, before: int, words: int, share: float) -> None:
    if progress is not None:
        progress(before + round(words * share), total)


def _check_directions(embedding: str, vectors: Vectors, words: Sequence[str], similarity: Similarity) -> None:
    """Raise MappingError if the measure is cosine and a vector is zero, since it has no direction."""
    if isinstance(similarity, Cosine) and len(zero := np.flatnonzero(~vectors.any(axis=1))):
        shown = ", ".join(words[index] for index in zero[:10]) + (", ..." if len(zero) > 10 else "")
        raise MappingError(
            f"embedding {embedding}: the cosine measure needs nonzero vectors; found "
            f"{count_of(len(zero), 'zero vector')}: {shown}; use --measure euclidean (in Python: measure='euclidean'), "
            "or load the embedding without these words"
        )
