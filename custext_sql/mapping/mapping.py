"""A mapping: groups of words, scores within each group, and the fingerprint of both. Arrays only."""

import hashlib
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cached_property

import numpy as np

from custext_sql.arrays import Places, Scores, Sizes
from custext_sql.errors import MappingError
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import STEPS
from custext_sql.parameters import find_closest
from custext_sql.text.word_boundaries import fold_word


@dataclass(frozen=True)
class MappingInfo:
    """A row of the table `mappings`: the recipe of a mapping and facts about the result.

    left_out: how many entries, of those that the recipe uses, are not single words.
    """

    name: str
    embedding: str
    embedding_sha256: str
    measure: str
    larger_is_closer: bool
    k: int
    grouping: str
    normalization: str
    pivot_order: str
    seed: int | None
    stopword_language: str | None
    word_limit: int | None
    words: int
    group_count: int
    left_out: int
    fingerprint: str
    ranks_sha256: str
    created_at: datetime

    @property
    def recipe(self) -> Recipe:
        """The recipe that made the mapping."""
        return Recipe(**{field.name: getattr(self, field.name) for field in fields(Recipe)})


@dataclass(frozen=True, eq=False)
class Mapping:
    """A partition of words into groups, with a score for every pair within a group.

    words: group after group. sizes: words per group. scores: one square matrix per group, flattened row by row (a row
    is an input word) and laid end to end, in steps of 2**-20. ranks: the place of each word in the vector file.
    """

    info: MappingInfo
    words: tuple[str, ...] = field(repr=False)
    sizes: Sizes = field(repr=False)
    scores: Scores = field(repr=False)
    ranks: Places = field(repr=False)

    @cached_property
    def word_starts(self) -> Sizes:
        """Index in `words` of the first word of each group."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def group_of(self) -> Sizes:
        """The number of the group of each word."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def score_starts(self) -> Sizes:
        """Index in `scores` of the first score of each group."""
        return np.cumsum(self.sizes**2) - self.sizes**2

    @cached_property
    def index(self) -> dict[str, int]:
        """Index in `words` of each word."""
        return {word: index for index, word in enumerate(self.words)}

    def find(self, word: str) -> int:
        """Return the index in `words` of a word in any spelling. Raise MappingError if the mapping does not have it."""
        folded = fold_word(word)
        if folded not in self.index:
            close = find_closest(folded, self.words, cutoff=0.75)
            hint = "" if close is None else f"; did you mean {close!r}?"
            raise MappingError(f"the word is not in mapping {self.info.name!r}{hint}")
        return self.index[folded]

    def find_row(self, word: str) -> tuple[tuple[str, ...], Scores]:
        """Return the output words of an input word, in the order of the group, and their scores, in steps."""
        index = self.find(word)
        group = int(self.group_of[index])
        size, first = int(self.sizes[group]), int(self.word_starts[group])
        start = int(self.score_starts[group]) + (index - first) * size
        return self.words[first : first + size], self.scores[start : start + size]


def find_flaw(mapping: Mapping) -> str | None:
    """Return how a mapping differs from the one that its info describes; None if it does not differ."""
    words, sizes, scores, ranks = mapping.words, mapping.sizes, mapping.scores, mapping.ranks
    if len(words) != mapping.info.words or not words or sizes.sum() != len(words) or len(ranks) != len(words):
        return "words were removed or added"
    if len(sizes) != mapping.info.group_count:
        return "groups were removed or added"
    if (sizes < 2).any():
        return "a word is alone in a group"
    if len(set(words)) != len(words):
        return "a word is in two groups"
    if ranks.min() < 0 or (np.diff(np.sort(ranks)) == 0).any():
        return "a rank is negative, or two words have the same rank"
    if len(scores) != (sizes**2).sum():
        return "a word has more or fewer scores than its group has words"
    if scores.min() < -STEPS or scores.max() > STEPS:
        return "a score is not between -1 and 1"
    if fingerprint(words, sizes, scores) != mapping.info.fingerprint:
        return "fingerprint mismatch"
    if digest_ranks(ranks) != mapping.info.ranks_sha256:
        return "the ranks of words differ"
    return None


def digest_ranks(ranks: Places) -> str:
    """Return the sha256 of the ranks of words, in the order of the mapping. They decide what comes out at eps = 0."""
    return hashlib.sha256(ranks.astype("<i4").tobytes()).hexdigest()


def fingerprint(words: tuple[str, ...], sizes: Sizes, scores: Scores) -> str:
    """Return the sha256 of words, groups and scores. Equal mappings have equal fingerprints on every machine."""
    digest = hashlib.sha256(b"custext mapping 1\n")
    digest.update(f"{len(words)} words, {len(sizes)} groups, unit 1/{STEPS}\n".encode())
    digest.update("\n".join(words).encode() + b"\n")  # a word contains no line break
    for numbers in (sizes, scores):
        digest.update(np.ascontiguousarray(numbers, dtype="<i4").data)  # copied only if it has to be
    return digest.hexdigest()
