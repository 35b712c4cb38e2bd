"""Sources of randomness: secure draws, and seeded draws for tests."""

import os
from collections.abc import Callable
from typing import Protocol

import numpy as np

from custext_sql.arrays import Draws, Places
from custext_sql.errors import PrivacyWarning, SettingError, warn_caller
from custext_sql.parameters import check_whole

WORDS, DIGITS = 0, 1  # what draws are for; words and digits have positions of their own


class Randomness(Protocol):
    """A source of uniform 64-bit integers."""

    def draw(self, places: Places, find_rows: Callable[[], Places], stream: int) -> Draws:
        """Return a draw for each of some words, or of some digits.

        places: where they are among all words of the texts, or all digits, in ascending order. find_rows: returns the
        place where each row begins, and at the end the number of all words, or all digits; only keyed draws need it.
        stream: WORDS or DIGITS.

        For the second and the last of five words in two rows, of two and three words: places 1 4, rows 0 2 5.
        """


class SecureRandomness:
    """The secure source of the operating system.

    Nothing is kept between calls, so no randomness is used twice: not by another row, thread or process, even after a
    fork.
    """

    def draw(self, places: Places, find_rows: Callable[[], Places], stream: int) -> Draws:
        """Return draws, as `Randomness.draw` does."""
        return np.frombuffer(os.urandom(8 * len(places)), dtype=np.uint64)


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

    def draw(self, places: Places, find_rows: Callable[[], Places], stream: int) -> Draws:
        """Return draws, as `Randomness.draw` does."""
        return np.asarray(self._bits.random_raw(len(places)), dtype=np.uint64)
