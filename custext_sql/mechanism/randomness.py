"""Sources of randomness: secure draws, and seeded draws for tests."""

import os
from collections.abc import Callable
from typing import Protocol

import numpy as np

from custext_sql.arrays import Draws, Numbers
from custext_sql.errors import PrivacyWarning, SettingError, warn_caller
from custext_sql.parameters import check_whole

# Numbers of words that are not in the vocabulary: any unknown word, and any digit
UNKNOWN_WORD, DIGIT = 1 << 32, (1 << 32) + 1


class Randomness(Protocol):
    """A source of uniform 64-bit integers, one per word."""

    def draw(self, words: Numbers, find_places: Callable[[], tuple[Numbers, Numbers]]) -> Draws:
        """Return a draw for each of these words, given by their numbers in the vocabulary.

        find_places: returns the row of each word, and how many earlier draws of the same word its row has.
        """


class SecureRandomness:
    """The secure source of the operating system.

    Nothing is kept between calls, so no randomness is used twice: not by another row, thread or process, even after a
    fork.
    """

    def draw(self, words: Numbers, find_places: Callable[[], tuple[Numbers, Numbers]]) -> Draws:
        """Return a draw for each word, as `Randomness.draw` does."""
        return np.frombuffer(os.urandom(8 * len(words)), dtype=np.uint64)


class SeededRandomness:
    """Draws that are the same for the same seed.

    For tests and demonstrations only: anyone who knows the seed can reproduce the draws. Creating one warns with a
    PrivacyWarning.
    """

    def __init__(self, seed: int) -> None:
        if check_whole(seed, "seed") < 0:
            raise SettingError(f"seed must not be negative; found {seed}")
        warn_caller("seeded draws protect nothing; use a seed only for tests and demonstrations", PrivacyWarning)
        self._bits = np.random.PCG64(seed)

    def draw(self, words: Numbers, find_places: Callable[[], tuple[Numbers, Numbers]]) -> Draws:
        """Return a draw for each word, as `Randomness.draw` does."""
        return np.asarray(self._bits.random_raw(len(words)), dtype=np.uint64)


def count_earlier(rows: Numbers, words: Numbers) -> Numbers:
    """Return for each word how often it occurs earlier in its row."""
    pairs = rows << 33 | words
    order = np.argsort(pairs, kind="stable")
    is_first = np.append(True, np.diff(pairs[order]) != 0)[: len(pairs)]
    starts = np.flatnonzero(is_first)
    earlier = np.empty(len(pairs), dtype=np.int64)
    earlier[order] = np.arange(len(pairs)) - starts[np.cumsum(is_first) - 1]
    return earlier
