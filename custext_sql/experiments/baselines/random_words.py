"""Random: any word becomes any word, all equally likely. What no mechanism can be worse than."""

import numpy as np

from custext_sql.arrays import Draws, Floats, Numbers


class RandomWords:
    """Draws any word of the vocabulary with equal probability, whatever eps."""

    def __init__(self, size: int) -> None:
        self._size = size

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the replacement of each word."""
        return (draws % np.uint64(self._size)).astype(np.int64)
