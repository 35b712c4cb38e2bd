"""Where draws come from."""

import os
from collections.abc import Callable
from typing import Protocol

import numpy as np

from custext_sql.arrays import Draws, Numbers
from custext_sql.errors import PrivacyWarning, SettingError, warn_caller
from custext_sql.parameters import check_whole

UNKNOWN_WORD, DIGIT = 1 << 32, (1 << 32) + 1  # stand for what has no number in the vocabulary: any such word or digit


class Randomness(Protocol):
    """A source of uniform 64-bit integers, one for each word."""

    def draw(self, words: Numbers, find_places: Callable[[], tuple[Numbers, Numbers]]) -> Draws:
        """A draw for each of these words, given by its number in the vocabulary.

        find_places: finds the row of each, and how many draws of the same word in the same row came before.
        """


class SecureRandomness:
    """The operating system's secure source. Nothing is kept between calls, so nothing can be used twice: not by another
    row, thread or process, and not by a process that was forked.
    """

    def draw(self, words: Numbers, find_places: Callable[[], tuple[Numbers, Numbers]]) -> Draws:
        return np.frombuffer(os.urandom(8 * len(words)), dtype=np.uint64)


class SeededRandomness:
    """The same draws for the same seed: for tests and demonstrations only, since whoever knows the seed undoes them."""

    def __init__(self, seed: int) -> None:
        if check_whole(seed, "seed") < 0:
            raise SettingError(f"seed must not be negative; found {seed}")
        warn_caller("draws from a seed protect nothing: use them in tests and demonstrations only", PrivacyWarning)
        self._bits = np.random.PCG64(seed)

    def draw(self, words: Numbers, find_places: Callable[[], tuple[Numbers, Numbers]]) -> Draws:
        return np.asarray(self._bits.random_raw(len(words)), dtype=np.uint64)


def count_earlier(rows: Numbers, words: Numbers, draws: Numbers | None = None) -> Numbers:
    """For each word how many draws its earlier occurrences in its row make: one each, or as many as given."""
    pairs = rows << 33 | words
    order = np.argsort(pairs, kind="stable")
    each = np.ones(len(pairs), dtype=np.int64) if draws is None else draws[order]
    before = np.cumsum(each) - each
    is_first = np.append(True, np.diff(pairs[order]) != 0)[: len(pairs)]
    starts = np.flatnonzero(is_first)
    earlier = np.empty(len(pairs), dtype=np.int64)
    earlier[order] = before - before[starts[np.cumsum(is_first) - 1]]
    return earlier
