"""Where draws come from."""

import os
import warnings
from typing import Protocol

import numpy as np
import numpy.typing as npt

from custext_sql.errors import PrivacyWarning

Draws = npt.NDArray[np.uint64]


class Randomness(Protocol):
    """A source of uniform 64-bit integers."""

    def draw(self, count: int) -> Draws: ...


class SecureRandomness:
    """The operating system's secure source. Nothing is kept between calls, so nothing can be used twice: not by another
    row, thread or process, and not by a process that was forked.
    """

    def draw(self, count: int) -> Draws:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class SeededRandomness:
    """The same draws for the same seed: for tests and demonstrations only, since whoever knows the seed undoes them."""

    def __init__(self, seed: int) -> None:
        warnings.warn(
            "draws from a seed protect nothing: use them in tests and demonstrations only", PrivacyWarning, stacklevel=3
        )
        self._bits = np.random.PCG64(seed)

    def draw(self, count: int) -> Draws:
        return np.asarray(self._bits.random_raw(count), dtype=np.uint64)
