"""The mechanisms that the paper compares CusText with, over the vectors of words; their draws are not verified."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from custext_sql.arrays import Draws, Flags, Floats, Numbers, Places, Points

_BLOCK = 128  # words compared with others at a time
_PROBABILITIES = 1 << 25  # of SANTEXT, at a time: 128 MB, whatever the size of the vocabulary
_SEGMENT = 256  # outputs whose probabilities are summed first
_DRAWS = 1 << 14  # of SANTEXT, handled at a time
_PRODUCTS = 1 << 26  # of FBDD, at a time: 256 MB, whatever the size of the vocabulary


@dataclass(frozen=True, eq=False)
class WordSpace:
    """The words of a mapping as points, in its order.

    points: the vector of each word. ranks: its position in the vector file; published files are sorted by frequency.
    """

    points: Points
    ranks: Numbers

    @cached_property
    def centered(self) -> Points:
        """The points minus their mean: the same distances, with smaller rounding errors in products."""
        centered: Points = (self.points - self.points.mean(axis=0, dtype=np.float64)).astype(np.float32)
        return centered

    @cached_property
    def half_squares(self) -> Points:
        """Half the squared length of each centered point."""
        lengths: Points = np.einsum("id,id->i", self.centered, self.centered) / np.float32(2.0)
        return lengths

    @cached_property
    def largest_distance(self) -> float:
        """The largest distance between any two words, exactly.

        Two points are no further apart than the sum of their distances from the mean, so few pairs are compared.
        """
        radii = np.sqrt(2.0 * self.half_squares.astype(np.float64))
        order = np.argsort(-radii)
        points, radii = self.centered[order], radii[order]
        best = 0.0
        for start in range(0, len(points), _BLOCK):
            if 2.0 * radii[start] <= best:
                break
            reach = start + int(np.searchsorted(-radii[start:], radii[start] - best))
            block, others = points[start : start + _BLOCK].astype(np.float64), points[start:reach].astype(np.float64)
            squares = (block**2).sum(axis=1)[:, None] - 2.0 * (block @ others.T) + radii[start:reach] ** 2
            best = max(best, float(np.sqrt(squares.max(initial=0.0))))
        return best


def uniforms(draws: Draws) -> Floats:
    """Return numbers in [0, 1), from the highest 53 bits of the draws."""
    return (draws >> np.uint64(11)).astype(np.float64) * 2.0**-53


class SanText:
    """SANTEXT (Yue et al., Findings of ACL 2021): draws any word, with probability proportional to
    exp(-eps / 2 * distance).

    Rows are computed in blocks, for the words that occur, so that the matrix of all pairs never exists. unit: the
    distance that counts as 1; with the largest distance, eps is comparable to that of CusText.
    """

    def __init__(self, space: WordSpace, unit: float = 1.0, outputs: Numbers | None = None) -> None:
        self._space, self._unit = space, unit
        self._outputs = np.arange(len(space.points)) if outputs is None else outputs
        self._column_of = np.full(len(space.points), -1)  # the place of each word among the outputs; -1: none
        self._column_of[self._outputs] = np.arange(len(self._outputs))
        self._points, self._half_squares = space.centered[self._outputs], space.half_squares[self._outputs]

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the replacement of each word."""
        assert isinstance(epsilon, float)
        return self.choose(words, epsilon, uniforms(draws))

    def _weigh(self, words: Numbers, epsilon: float, weights: Points) -> None:
        """Write the weights of all outputs for some distinct words, one row per word. The largest of a row is 1."""
        np.matmul(self._space.centered[words], self._points.T, out=weights)
        weights -= self._half_squares
        weights -= self._space.half_squares[words][:, None]
        weights *= np.float32(-2.0)  # now these are squared distances
        np.sqrt(np.maximum(weights, 0.0, out=weights), out=weights)
        own = self._column_of[words]
        weights[np.flatnonzero(own >= 0), own[own >= 0]] = 0.0  # exact, which a product of floats may not be
        weights -= weights.min(axis=1, keepdims=True)
        weights *= np.float32(-0.5 * epsilon / self._unit)
        np.exp(weights, out=weights)

    def choose(self, words: Numbers, epsilon: float, chances: Floats) -> Numbers:
        """Return the replacement of each word. chances: a number in [0, 1) per word."""
        distinct, row_of = np.unique(words, return_inverse=True)
        order = np.argsort(row_of, kind="stable")
        bounds = np.searchsorted(row_of[order], np.arange(len(distinct) + 1))
        chosen = np.empty_like(words)
        step = max(1, min(len(distinct), _PROBABILITIES // len(self._outputs)))
        memory = np.empty((step, len(self._outputs)), dtype=np.float32)  # allocated once, since that takes long
        for first in range(0, len(distinct), step):
            block = distinct[first : first + step]
            weights = memory[: len(block)]
            self._weigh(block, epsilon, weights)
            starts = np.arange(0, len(self._outputs), _SEGMENT)
            segments = np.cumsum(np.add.reduceat(weights, starts, axis=1), axis=1, dtype=np.float64)
            places = order[bounds[first] : bounds[first + len(block)]]
            for start in range(0, len(places), _DRAWS):
                some = places[start : start + _DRAWS]
                chosen[some] = self._outputs[_invert(weights, segments, row_of[some] - first, chances[some])]
        return chosen


class SanTextPlus(SanText):
    """SANTEXT+: replaces words with sensitive words; sensitive words always, the others with some probability.

    sensitive: the share of the vocabulary that is sensitive, the least frequent words. replaced: the probability that
    any other word is replaced. The defaults are the authors'. Frequencies are those of the vector file, because those
    of the text to sanitize would leak information about it.
    """

    def __init__(self, space: WordSpace, unit: float = 1.0, *, sensitive: float = 0.9, replaced: float = 0.3) -> None:
        order = space.ranks.argsort().argsort()  # the most frequent word is 0
        self._is_frequent, self._replaced = order < round((1.0 - sensitive) * len(order)), replaced
        super().__init__(space, unit, np.flatnonzero(~self._is_frequent))

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the replacement of each word."""
        assert isinstance(epsilon, float)
        chances, goes = uniforms(draws), ~self.find_kept(words, draws)
        # uniform again, given that the word is replaced
        rest = np.where(self._is_frequent[words], chances / self._replaced, chances)
        result = words.copy()
        result[goes] = self.choose(words[goes], epsilon, rest[goes])
        return result

    def find_kept(self, words: Numbers, draws: Draws) -> Flags:
        """Return which words stay: frequent ones that are not chosen to be replaced."""
        kept: Flags = self._is_frequent[words] & (uniforms(draws) >= self._replaced)
        return kept


def _invert(weights: Points, segments: Floats, rows: Places, chances: Floats) -> Numbers:
    """Return the output that each chance selects in its row: first the segment, then the place in it.

    segments: the cumulative sums of the weights of each segment, a row per row of weights.
    """
    totals, last = segments[rows], weights.shape[1] - 1
    targets = chances * totals[:, -1]
    segment = (totals <= targets[:, None]).sum(axis=1).clip(max=segments.shape[1] - 1)
    before = np.where(segment > 0, totals[np.arange(len(rows)), segment - 1], 0.0)
    places = segment[:, None] * _SEGMENT + np.arange(_SEGMENT)
    within = np.where(places <= last, weights[rows[:, None], places.clip(max=last)], np.float32(0.0))
    reached = np.cumsum(within, axis=1, dtype=np.float64) + before[:, None]
    picked: Numbers = segment * _SEGMENT + (reached <= targets[:, None]).sum(axis=1).clip(max=_SEGMENT - 1)
    return picked.clip(max=last)


@dataclass(frozen=True, eq=False)
class Fbdd:
    """FBDD (Feyisetan et al., WSDM 2020): adds noise to the vector of a word, and takes the nearest word.

    The density of the noise is proportional to exp(-eps * length): its direction is uniform, and its length has a gamma
    distribution, with the dimension as its shape and 1 / eps as its scale. unit: the distance that counts as 1.
    """

    space: WordSpace
    unit: float = 1.0

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the replacement of each word. The draws seed a generator, since a word needs many random numbers."""
        assert isinstance(epsilon, float)
        halves = [np.bitwise_xor.reduce(draws[side::2], initial=0) for side in range(2)]  # 128 bits of all draws
        generator = np.random.Generator(np.random.Philox(key=np.array(halves, dtype=np.uint64)))
        chosen, points = np.empty_like(words), self.space.centered
        step = max(1, min(len(words), _PRODUCTS // len(points)))
        memory = np.empty((step, len(points)), dtype=np.float32)  # new memory per step takes a third longer
        for start in range(0, len(words), step):
            some = words[start : start + step]
            noisy = points[some] + self.draw_noise(len(some), epsilon, generator)
            closeness = np.matmul(noisy.astype(np.float32), points.T, out=memory[: len(some)])
            closeness -= self.space.half_squares  # largest where the distance is smallest
            chosen[start : start + step] = closeness.argmax(axis=1)
        return chosen

    def draw_noise(self, count: int, epsilon: float, generator: np.random.Generator) -> Floats:
        """Return noise for the vectors of some words, one row per word."""
        dimension = self.space.points.shape[1]
        directions = generator.standard_normal((count, dimension), dtype=np.float32).astype(np.float64)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return directions * generator.gamma(dimension, self.unit / epsilon, size=(count, 1))


@dataclass(frozen=True)
class RandomWords:
    """Draws any of `size` words with equal probability, regardless of eps: the lower bound on utility."""

    size: int

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the replacement of each word."""
        return (draws % np.uint64(self.size)).astype(np.int64)
