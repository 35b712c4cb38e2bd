"""Where draws come from."""

import os
import warnings
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from custext_sql.errors import PrivacyWarning

Draws = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]

UNKNOWN_WORD, DIGIT = 1 << 32, (1 << 32) + 1  # stand for what has no number in the vocabulary: any such word or digit


class Randomness(Protocol):
    """A source of uniform 64-bit integers, one for each word."""

    def draw(self, words: Numbers, rows: Callable[[], Numbers]) -> Draws:
        """A draw for each of these words, given by its number in the vocabulary, in the order of the text.

        rows: finds the row of each. All occurrences of a word in a row come in one call.
        """


class SecureRandomness:
    """The operating system's secure source. Nothing is kept between calls, so nothing can be used twice: not by another
    row, thread or process, and not by a process that was forked.
    """

    def draw(self, words: Numbers, rows: Callable[[], Numbers]) -> Draws:
        return np.frombuffer(os.urandom(8 * len(words)), dtype=np.uint64)


class SeededRandomness:
    """The same draws for the same seed: for tests and demonstrations only, since whoever knows the seed undoes them."""

    def __init__(self, seed: int) -> None:
        warnings.warn(
            "draws from a seed protect nothing: use them in tests and demonstrations only", PrivacyWarning, stacklevel=3
        )
        self._bits = np.random.PCG64(seed)

    def draw(self, words: Numbers, rows: Callable[[], Numbers]) -> Draws:
        return np.asarray(self._bits.random_raw(len(words)), dtype=np.uint64)
