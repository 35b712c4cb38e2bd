"""Random: replaces each word with any word of the vocabulary, all equally likely; the lower bound on utility."""

import numpy as np

from custext_sql.arrays import Draws, Floats, Numbers


class RandomWords:
    """Draws any word of the vocabulary with equal probability, regardless of eps."""

    def __init__(self, size: int) -> None:
        self._size = size

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the replacement of each word."""
        return (draws % np.uint64(self._size)).astype(np.int64)
