"""Makes a mapping from a stored embedding, in memory."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from dataclasses import replace as replaced
from datetime import UTC, datetime

import duckdb
import numpy as np

from custext_sql.arrays import Places, Vectors
from custext_sql.mapping.grouping import GroupingProgress, Partition
from custext_sql.mapping.making import check_directions, group_words, split_classes
from custext_sql.mapping.mapping import Mapping, MappingInfo, digest_ranks, fingerprint
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import MEASURES, Similarity, score_groups
from custext_sql.store.rows.embeddings import Embedding, find_embedding, read_entries
from custext_sql.store.rows.stopwords import read_stopwords
from custext_sql.text.word_boundaries import are_words


@dataclass(frozen=True, eq=False)
class WordsToGroup:
    """The words of an embedding that a recipe groups, whatever its k.

    source: the embedding. entries: how many of its entries the recipe uses; those that are not single words are left
    out. positions: the place of each word in the embedding. classes: the words that are grouped separately.
    merged: the only word of its class, so that there is one class only; None otherwise.
    """

    source: Embedding
    entries: int
    words: Sequence[str]
    positions: Places
    classes: Sequence[Places]
    merged: str | None

    def settle(self, recipe: Recipe) -> Recipe:
        """Return the recipe as it applies to these words: without separate stopwords if the classes were merged."""
        return recipe if self.merged is None else replaced(recipe, stopword_language=None)


def read_words(connection: duckdb.DuckDBPyConnection, recipe: Recipe) -> WordsToGroup:
    """Return the words to group. CusTextError if the embedding does not exist, or has no stopwords of the language."""
    source = find_embedding(connection, recipe.embedding)
    entries = read_entries(connection, source)[: recipe.word_limit]
    positions = np.flatnonzero(are_words(entries))
    words = [entries[position] for position in positions]
    language = recipe.stopword_language
    classes, merged = split_classes(words, read_stopwords(connection, language) if language else frozenset())
    return WordsToGroup(source, len(entries), words, positions, classes, merged)


def make_mapping(
    words: WordsToGroup,
    vectors: Vectors,
    recipe: Recipe,
    name: str,
    similarity: Similarity | None = None,
    *,
    progress: GroupingProgress | None = None,
    group: Callable[..., Partition] = group_words,
) -> Mapping:
    """Return the mapping that a recipe makes of these words.

    vectors: of the words. recipe: as `settle` returns it. similarity: its measure; needed only if that is a function of
    the user. group: `group_words`, or a function with the same parameters that finds the same groups sooner.
    """
    similarity = similarity or MEASURES[recipe.measure]
    check_directions(words.source.name, vectors, words.words, similarity)
    partition = group(vectors, similarity, recipe, words.classes, progress, ranks=words.positions + 1)
    ordered = tuple(words.words[index] for index in partition.members)
    matrices = score_groups(vectors, partition.groups(), similarity, recipe.normalization)
    scores = np.concatenate([matrix.reshape(-1) for matrix in matrices])
    ranks = words.positions[partition.members]
    info = MappingInfo(
        name=name,
        embedding_sha256=words.source.sha256,
        words=len(ordered),
        group_count=len(partition.sizes),
        left_out=words.entries - len(ordered),
        fingerprint=fingerprint(ordered, partition.sizes, scores),
        ranks_sha256=digest_ranks(ranks),
        created_at=datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        **asdict(recipe),
    )
    return Mapping(info, ordered, partition.sizes, scores, ranks)
