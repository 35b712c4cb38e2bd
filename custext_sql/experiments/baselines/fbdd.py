"""FBDD (Feyisetan et al., WSDM 2020): adds noise to the vector of a word and takes the nearest word."""

import numpy as np

from custext_sql.arrays import Draws, Floats, Numbers, Points
from custext_sql.experiments.baselines.word_space import WordSpace

_PRODUCTS = 1 << 26  # products at a time: 256 MB, whatever the size of the vocabulary


class Fbdd:
    """Adds noise with a density proportional to exp(-eps * length).

    Its direction is uniform, and its length has a gamma distribution, with the dimension as its shape and 1 / eps as
    its scale. unit: the distance that counts as 1.
    """

    def __init__(self, space: WordSpace, unit: float = 1.0) -> None:
        self._space = space
        self._unit = unit

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the replacement of each word. The draws seed a generator, since a word needs many random numbers."""
        assert isinstance(epsilon, float)
        generator = np.random.Generator(np.random.Philox(key=_fold(draws)))
        chosen = np.empty_like(words)
        step = max(1, min(len(words), _PRODUCTS // len(self._space.points)))
        closeness = np.empty(
            (step, len(self._space.points)), dtype=np.float32
        )  # allocated once: new memory per step takes a third longer
        for start in range(0, len(words), step):
            some = slice(start, start + step)
            noisy = self._space.centered[words[some]] + self._noise(len(words[some]), epsilon, generator)
            chosen[some] = self._find_nearest(noisy.astype(np.float32), closeness[: len(noisy)])
        return chosen

    def _noise(self, count: int, epsilon: float, generator: np.random.Generator) -> Floats:
        dimension = self._space.points.shape[1]
        directions = generator.standard_normal((count, dimension), dtype=np.float32).astype(np.float64)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return directions * generator.gamma(dimension, self._unit / epsilon, size=(count, 1))

    def _find_nearest(self, points: Points, closeness: Points) -> Numbers:
        """Return the nearest word of each point, by the part of the squared distance that depends on the word."""
        np.matmul(points, self._space.centered.T, out=closeness)
        closeness -= self._space.half_squares
        nearest: Numbers = closeness.argmax(axis=1)
        return nearest


def _fold(draws: Draws) -> Numbers:
    """Return 128 bits that depend on all draws."""
    halves = [np.bitwise_xor.reduce(draws[side::2], initial=0) for side in range(2)]
    return np.array(halves, dtype=np.uint64)
