"""SANTEXT and SANTEXT+ (Yue et al., Findings of ACL 2021): draws any word, near ones with higher probability."""

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Draws, Flags, Floats, Numbers, Points
from custext_sql.experiments.baselines.word_space import WordSpace, find_most_frequent, uniforms

_PROBABILITIES = 1 << 25  # probabilities at a time: 128 MB, whatever the size of the vocabulary
_SEGMENT = 256  # outputs whose probabilities are summed first
_DRAWS = 1 << 14  # handled at a time


class SanText:
    """Draws any word with a probability proportional to exp(-eps / 2 * distance).

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

    def weigh(self, words: Numbers, epsilon: float, weights: Points | None = None) -> Points:
        """Return the weights of all outputs for some distinct words, one row per word. The largest of a row is 1.

        weights: memory to use.
        """
        weights = np.matmul(self._space.centered[words], self._points.T, out=weights)
        weights -= self._half_squares
        weights -= self._space.half_squares[words][:, None]
        weights *= np.float32(-2.0)  # now these are squared distances
        np.sqrt(np.maximum(weights, 0.0, out=weights), out=weights)
        own = self._column_of[words]
        weights[np.flatnonzero(own >= 0), own[own >= 0]] = 0.0  # exact, which a product of floats may not be
        weights -= weights.min(axis=1, keepdims=True)
        weights *= np.float32(-0.5 * epsilon / self._unit)
        np.exp(weights, out=weights)
        return weights

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
            weights = self.weigh(block, epsilon, memory[: len(block)])
            segments = _sum_segments(weights)
            places = order[bounds[first] : bounds[first + len(block)]]
            for start in range(0, len(places), _DRAWS):
                some = places[start : start + _DRAWS]
                picked = _invert(weights, segments, row_of[some] - first, chances[some])
                chosen[some] = self._outputs[picked]
        return chosen


class SanTextPlus:
    """Replaces words with sensitive words, as SANTEXT does: sensitive words always, the others with some probability.

    sensitive: the share of the vocabulary that is sensitive, the least frequent words. replaced: the probability that
    any other word is replaced. The defaults are the authors'. Frequencies are those of the vector file, because those
    of the text to sanitize would leak information about it.
    """

    def __init__(self, space: WordSpace, unit: float = 1.0, *, sensitive: float = 0.9, replaced: float = 0.3) -> None:
        self._is_frequent = find_most_frequent(space.ranks, 1.0 - sensitive)
        self._replaced = replaced
        self._santext = SanText(space, unit, np.flatnonzero(~self._is_frequent))

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the replacement of each word."""
        assert isinstance(epsilon, float)
        chances, is_frequent = uniforms(draws), self._is_frequent[words]
        goes = ~self.find_kept(words, draws)
        rest = np.where(
            is_frequent, chances / self._replaced, chances
        )  # uniform again, given that the word is replaced
        result = words.copy()
        result[goes] = self._santext.choose(words[goes], epsilon, rest[goes])
        return result

    def find_kept(self, words: Numbers, draws: Draws) -> Flags:
        """Return which words stay: frequent ones that are not chosen to be replaced."""
        kept: Flags = self._is_frequent[words] & (uniforms(draws) >= self._replaced)
        return kept


def _sum_segments(weights: Points) -> Floats:
    """Return the cumulative sums of the segments of each row."""
    starts = np.arange(0, weights.shape[1], _SEGMENT)
    return np.cumsum(np.add.reduceat(weights, starts, axis=1), axis=1, dtype=np.float64)


def _invert(weights: Points, segments: Floats, rows: npt.NDArray[np.intp], chances: Floats) -> Numbers:
    """Return the output that each chance selects in its row: first the segment, then the place in it."""
    totals = segments[rows]
    targets = chances * totals[:, -1]
    segment = (totals <= targets[:, None]).sum(axis=1).clip(max=segments.shape[1] - 1)
    before = np.where(segment > 0, totals[np.arange(len(rows)), segment - 1], 0.0)
    last = weights.shape[1] - 1
    places = segment[:, None] * _SEGMENT + np.arange(_SEGMENT)
    within = np.where(places <= last, weights[rows[:, None], places.clip(max=last)], np.float32(0.0))
    reached = np.cumsum(within, axis=1, dtype=np.float64) + before[:, None]
    picked: Numbers = segment * _SEGMENT + (reached <= targets[:, None]).sum(axis=1).clip(max=_SEGMENT - 1)
    return picked.clip(max=last)
