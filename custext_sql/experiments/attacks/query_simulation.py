"""Simulations of the query attack: how many draws from a row of probabilities identify the input."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Floats

CONFIDENCE = 0.95
MOST_DRAWS = 1 << 40  # no larger number is tried

_SURELY = 1.645**2  # square of the 95% quantile of the normal distribution
_FEW = 64  # up to here every number is tried, since success does not grow steadily

_DEVIATION = math.sqrt(CONFIDENCE * (1.0 - CONFIDENCE))  # standard deviation of the success of one simulation
_SLOPE_SIMULATIONS = 4000  # the fewest with which to estimate the slope
_LEAST_SLOPE = 0.0848  # density of the normal distribution at 1.645, times 1.645 / 2
_SETTLING = 30  # times as many simulations, where the usual number does not decide


@dataclass(frozen=True)
class DrawCount:
    """The smallest number of draws with which an attack succeeds with probability 0.95, and its standard error.

    Both are None if no number of draws is enough.
    """

    draws: int | None
    standard_error: float | None


def count_for_mode(row: Floats, word: int, *, simulations: int, generator: np.random.Generator) -> DrawCount:
    """Return the draws needed by an attacker who guesses the most frequent output. A tie counts as a failure.

    row: the probabilities of the outputs for that word. word: its place in the group.
    """
    others = np.delete(row, word)
    if row[word] <= others.max(initial=0.0):
        return DrawCount(None, None)

    def win(draws: int, count: int) -> int:
        counts = generator.multinomial(draws, row, size=count)
        own = counts[:, word].copy()
        counts[:, word] = -1
        return int((own > counts.max(axis=1)).sum())

    gap = float(row[word] - others.max())
    return _Search(win, simulations).find_least(_SURELY * float(row[word] + others.max()) / gap**2)


def count_for_likeliest(matrix: Floats, word: int, *, simulations: int, generator: np.random.Generator) -> DrawCount:
    """Return the draws needed by an attacker who knows the tables and guesses the input of maximum likelihood.

    A tie counts as a failure. matrix: the probabilities of the outputs (columns) for all inputs of the group (rows).
    """
    if (np.delete(matrix, word, axis=0) == matrix[word]).all(axis=1).any():
        return DrawCount(None, None)
    logarithms = np.log(matrix)

    def win(draws: int, count: int) -> int:
        likelihoods = generator.multinomial(draws, matrix[word], size=count) @ logarithms.T
        own = likelihoods[:, word].copy()
        likelihoods[:, word] = -np.inf
        return int((own > likelihoods.max(axis=1)).sum())

    divergences = np.delete(((logarithms[word] - logarithms) * matrix[word]).sum(axis=1), word)
    return _Search(win, simulations).find_least(2.0 * _SURELY / max(float(divergences.min()), 2.0**-50))


@dataclass(frozen=True)
class _Search:
    """A search for the smallest number of draws.

    win: takes a number of draws and of simulations, and returns how many of the simulations succeed.
    """

    win: Callable[[int, int], int]
    simulations: int

    def find_least(self, guess: float) -> DrawCount:
        """Return the smallest number: doubling from below a guess, then bisection; small numbers one by one."""
        high = max(1, int(min(guess, MOST_DRAWS)) // 4)
        while high > 1 and self._share(high) >= CONFIDENCE:
            high //= 4
        while self._share(high) < CONFIDENCE:
            high *= 2
            if high > MOST_DRAWS:
                return DrawCount(None, None)
        if high <= _FEW:
            least = next((draws for draws in range(max(1, high // 4), high) if self._is_enough(draws)), high)
            return DrawCount(least, self._estimate_error(least, _SETTLING * self.simulations))
        low = high // 4  # not half: the previous step may have failed by chance
        precision = 0.5 / math.sqrt(self.simulations)  # finer than the simulations can resolve
        while high - low > max(1, math.floor(precision * high)):
            middle = (low + high) // 2
            low, high = (low, middle) if self._share(middle) >= CONFIDENCE else (middle, high)
        return DrawCount(high, self._estimate_error(high, self.simulations))

    def _share(self, draws: int) -> float:
        return self.win(draws, self.simulations) / self.simulations

    def _is_enough(self, draws: int) -> bool:
        """Return whether that many draws are enough, with more simulations if the usual number does not decide."""
        share = self._share(draws)
        if abs(share - CONFIDENCE) > 5.0 * _DEVIATION / math.sqrt(self.simulations):
            return share >= CONFIDENCE
        wins = sum(self.win(draws, self.simulations) for _ in range(_SETTLING))
        return wins / (_SETTLING * self.simulations) >= CONFIDENCE

    def _estimate_error(self, draws: int, simulations: int) -> float:
        """Return the standard error of a number of draws: that of its success, divided by the slope of success."""
        step, count = max(1, round(0.25 * draws)), max(4 * self.simulations, _SLOPE_SIMULATIONS)
        below, above = max(1, draws - step), draws + step
        slope = (self.win(above, count) - self.win(below, count)) / count / (above - below)
        least = _LEAST_SLOPE / draws  # with a single rival; with several, it is steeper
        return _DEVIATION / math.sqrt(simulations) / max(slope, least)
