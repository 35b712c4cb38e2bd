"""The query attack, simulated: how many draws from a row of probabilities identify the word that was asked for."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Floats

CONFIDENCE = 0.95
MOST_DRAWS = 1 << 40  # beyond which no number is looked for

_SURELY = 1.645**2  # by how far a normal variable exceeds 0 with that confidence, squared
_FEW = 64  # up to which every number is tried, since success does not grow steadily there

_DEVIATION = math.sqrt(CONFIDENCE * (1.0 - CONFIDENCE))  # of one trial
_SLOPE_TRIALS = 4000  # to find the slope by, at least
_LEAST_SLOPE = 0.0848  # density of the normal distribution at 1.645, times half of that
_SETTLING = 30  # times as many trials, where a few leave a small number open


@dataclass(frozen=True)
class DrawCount:
    """The least number of draws with which an attack succeeds at 95%; None: never. standard_error: of that number,
    since success is measured by trials.
    """

    draws: int | None
    standard_error: float | None


def count_for_mode(row: Floats, word: int, *, trials: int, generator: np.random.Generator) -> DrawCount:
    """Return how many draws an attacker needs who takes the most frequent output, if there is one, for the input.

    row: the probabilities of the outputs of the group for that word. word: its place in the group.
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
    return _Search(win, trials).find_least(_SURELY * float(row[word] + others.max()) / gap**2)


def count_for_likeliest(matrix: Floats, word: int, *, trials: int, generator: np.random.Generator) -> DrawCount:
    """Return how many draws an attacker needs who knows the tables and takes the one input of greatest likelihood.

    matrix: the probabilities of the outputs (columns) for all inputs of the group (rows).
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
    return _Search(win, trials).find_least(2.0 * _SURELY / max(float(divergences.min()), 2.0**-50))


@dataclass(frozen=True)
class _Search:
    """Looks for the least number of draws. win: how many of some trials succeed with so many draws."""

    win: Callable[[int, int], int]
    trials: int

    def find_least(self, guess: float) -> DrawCount:
        """Search by doubling from below a guess, then bisection; small numbers one by one, since success does not grow
        steadily there.
        """
        high = max(1, int(min(guess, MOST_DRAWS)) // 4)
        while high > 1 and self._share(high) >= CONFIDENCE:
            high //= 4
        while self._share(high) < CONFIDENCE:
            high *= 2
            if high > MOST_DRAWS:
                return DrawCount(None, None)
        if high <= _FEW:
            least = next((draws for draws in range(max(1, high // 4), high) if self._is_enough(draws)), high)
            return DrawCount(least, self._estimate_error(least, _SETTLING * self.trials))
        low = high // 4  # not half: the step before may have failed by chance
        precision = 0.5 / math.sqrt(self.trials)  # finer than success can be told
        while high - low > max(1, math.floor(precision * high)):
            middle = (low + high) // 2
            low, high = (low, middle) if self._share(middle) >= CONFIDENCE else (middle, high)
        return DrawCount(high, self._estimate_error(high, self.trials))

    def _share(self, draws: int) -> float:
        return self.win(draws, self.trials) / self.trials

    def _is_enough(self, draws: int) -> bool:
        """Return whether so many draws are enough, settled by many more trials where a few leave it open."""
        share = self._share(draws)
        if abs(share - CONFIDENCE) > 5.0 * _DEVIATION / math.sqrt(self.trials):
            return share >= CONFIDENCE
        wins = sum(self.win(draws, self.trials) for _ in range(_SETTLING))
        return wins / (_SETTLING * self.trials) >= CONFIDENCE

    def _estimate_error(self, draws: int, trials: int) -> float:
        """Return how far off the number may be, from how far off its success may be and the slope of success there."""
        step, count = max(1, round(0.25 * draws)), max(4 * self.trials, _SLOPE_TRIALS)
        below, above = max(1, draws - step), draws + step
        slope = (self.win(above, count) - self.win(below, count)) / count / (above - below)
        least = _LEAST_SLOPE / draws  # that of a single rival; of several, it is steeper
        return _DEVIATION / math.sqrt(trials) / max(slope, least)
