"""A mapping: which words share a group, how alike they are, and the fingerprint over both. Arrays only."""

import hashlib
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cached_property

import numpy as np

from custext_sql.arrays import Sizes, Units
from custext_sql.errors import MappingError
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.scoring import UNIT
from custext_sql.parameters import find_closest
from custext_sql.text.word_boundaries import fold_word


@dataclass(frozen=True)
class MappingInfo:
    """A row of the table mappings: how a mapping was made, and what came of it."""

    name: str
    embedding: str
    embedding_sha256: str
    measure: str
    larger_is_closer: bool
    k: int
    normalization: str
    pivot_order: str
    seed: int | None
    stopword_language: str | None
    words: int
    group_count: int
    left_out: int
    fingerprint: str
    created_at: datetime

    @property
    def recipe(self) -> Recipe:
        """How it was made."""
        return Recipe(**{field.name: getattr(self, field.name) for field in fields(Recipe)})


@dataclass(frozen=True, eq=False)
class Mapping:
    """A partition of words into groups, with a score for every pair within a group.

    words: group after group, each group's pivot first. sizes: words in each group. scores: one square matrix a group,
    flattened row by row (a row is an input word) and laid end to end, in whole numbers of 2**-20.
    """

    info: MappingInfo
    words: tuple[str, ...] = field(repr=False)
    sizes: Sizes = field(repr=False)
    scores: Units = field(repr=False)

    @cached_property
    def word_starts(self) -> Sizes:
        """Index in `words` of each group's first."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def score_starts(self) -> Sizes:
        """Index in `scores` of each group's first."""
        return np.cumsum(self.sizes**2) - self.sizes**2

    @cached_property
    def index(self) -> dict[str, int]:
        """Index in `words` of each word."""
        return {word: index for index, word in enumerate(self.words)}

    def find(self, word: str) -> int:
        """Index in `words` of a word as it may be written."""
        folded = fold_word(word)
        if folded not in self.index:
            close = find_closest(folded, self.words)
            hint = "" if close is None else f"; did you mean {close!r}?"
            raise MappingError(f"that word is not in mapping {self.info.name}{hint}")
        return self.index[folded]

    def find_row(self, word: str) -> tuple[tuple[str, ...], Units]:
        """The output words of an input word, in the group's order, and their scores in units."""
        index = self.find(word)
        group = int(np.searchsorted(self.word_starts, index, side="right")) - 1
        size, first = int(self.sizes[group]), int(self.word_starts[group])
        start = int(self.score_starts[group]) + (index - first) * size
        return self.words[first : first + size], self.scores[start : start + size]


def fingerprint(words: tuple[str, ...], sizes: Sizes, scores: Units) -> str:
    """sha256 over words, groups and scores: equal on every machine for equal mappings, different for different ones."""
    digest = hashlib.sha256(b"custext mapping 1\n")
    digest.update(f"{len(words)} words, {len(sizes)} groups, unit 1/{UNIT}\n".encode())
    digest.update("\n".join(words).encode() + b"\n")  # a word holds no line break
    digest.update(sizes.astype("<i4").tobytes())
    digest.update(scores.astype("<i4").tobytes())
    return digest.hexdigest()
