"""Simulations of the query attack: how many draws from a row of probabilities identify the input."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from custext_sql.arrays import Floats

CONFIDENCE = 0.95
MOST_DRAWS = 1 << 40  # no larger number is tried

_FEW = 64  # up to here every number is tried, since success need not grow with each draw
_TIE = 1e-9  # sums of logarithms that differ by less are equal, apart from rounding
_NORMAL = 2000  # draws of the normal approximation
_BLOCK = 250_000  # draws at a time in memory

_DEVIATION = math.sqrt(CONFIDENCE * (1.0 - CONFIDENCE))  # standard deviation of the success of one simulation
_SURELY = 3.0  # standard deviations within which the number surely is
_LEAST_SLOPE = 0.0848  # density of the normal distribution at 1.645, times 1.645 / 2
_NEAR = 0.25  # change of log(draws) up to which success is nearly linear
_ROUNDS = 30


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
    if row[word] <= np.delete(row, word).max(initial=0.0):
        return DrawCount(None, None)
    leads = np.eye(len(row))[:, [word]] - np.eye(len(row))
    return _Race(row, np.delete(leads, word, axis=1), simulations, generator).find_least()


def count_for_likeliest(matrix: Floats, word: int, *, simulations: int, generator: np.random.Generator) -> DrawCount:
    """Return the draws needed by an attacker who knows the tables and guesses the input of maximum likelihood.

    A tie counts as a failure. matrix: the probabilities of the outputs (columns) for all inputs of the group (rows).
    """
    if (np.delete(matrix, word, axis=0) == matrix[word]).all(axis=1).any():
        return DrawCount(None, None)
    logarithms = np.log(matrix).T
    leads = logarithms[:, [word]] - logarithms
    return _Race(matrix[word], np.delete(leads, word, axis=1), simulations, generator).find_least()


@cache
def _draw_normal(size: int) -> Floats:
    """Return numbers that are as good for one word as for another, since they only say where to begin."""
    return np.random.default_rng(0).standard_normal((_NORMAL, size))


@dataclass(frozen=True)
class _Race:
    """A word against the other words of its group: it wins if it is ahead of all of them after some draws.

    row: the probabilities of the outputs. leads: by how much each output (rows) moves the word ahead of each other word
    (columns).
    """

    row: Floats
    leads: Floats
    simulations: int
    generator: np.random.Generator

    def find_least(self) -> DrawCount:
        """Return the smallest number of draws with which the word wins with probability 0.95."""
        if not self.leads.size:
            return DrawCount(1, 0.0)
        expected = self._approximate()
        draws = float(np.quantile(expected, CONFIDENCE))
        if draws > _FEW:
            near = math.exp(_NEAR)
            rise = float(((expected <= draws * near).mean() - (expected <= draws / near).mean()) / (2.0 * _NEAR))
            slope = max(rise, _LEAST_SLOPE)  # of success over log(draws); with a single rival it is the least
            found = self._find_many(draws, slope)
            if found is None or found > _FEW:
                error = None if found is None else _DEVIATION / math.sqrt(self.simulations) / slope * found
                return DrawCount(None if found is None else round(found), error)
        return self._find_few(max(8, 2 * math.ceil(min(draws, _FEW))))

    def _approximate(self) -> Floats:
        """Return samples of the number of draws from which on the word is ahead, by the central limit theorem."""
        roots, noise = np.sqrt(self.row), _draw_normal(len(self.row))
        counts = noise * roots - (noise @ roots)[:, None] * self.row  # with the covariance of one multinomial draw
        speeds = np.maximum(self.row @ self.leads, 2.0**-50)
        found: Floats = np.maximum((-(counts @ self.leads) / speeds).max(axis=1), 0.0) ** 2
        return found

    def _find_many(self, draws: float, slope: float) -> float | None:
        """Return the number, from one near it: simulations say how far off it is, until that is little."""
        for number in range(_ROUNDS):
            if draws > MOST_DRAWS:
                return None
            tried = round(draws) | 1  # with two outputs, an even number can end in a tie
            step = (CONFIDENCE - self._share(tried)) / slope
            draws = tried * math.exp(max(-1.0, min(step, 1.0)))
            if draws <= _FEW or (number and abs(step) <= _NEAR):
                break
        return draws

    def _share(self, draws: int) -> float:
        """Return how often the word wins after that many draws."""
        counts = self.generator.multinomial(draws, self.row, size=self.simulations)
        return float((counts.astype(np.float64) @ self.leads > _TIE).all(axis=1).mean())

    def _find_few(self, most: int) -> DrawCount:
        """Return the number by following each simulation draw by draw. most: where to stop at first."""
        simulations = self.simulations * max(1, _FEW // most)
        wins, wide = self._follow(most, simulations), _SURELY * _DEVIATION / math.sqrt(simulations)
        firsts = [np.flatnonzero(wins >= CONFIDENCE + error) for error in (-wide, 0.0, wide)]
        if not len(firsts[1]):
            return self._find_few(2 * most)
        low, least, high = (int(found[0]) + 1 if len(found) else most for found in firsts)
        return DrawCount(least, (high - low) / (2.0 * _SURELY))

    def _follow(self, most: int, simulations: int) -> Floats:
        """Return how often the word is ahead after 1, 2, ..., most draws."""
        wins, block = np.zeros(most), max(1, _BLOCK // most)
        limits = np.cumsum(self.row)[:-1]
        for start in range(0, simulations, block):
            count = min(block, simulations - start)
            outputs = np.searchsorted(limits, self.generator.random((most, count)), side="right")
            ahead = np.ones((most, count), dtype=bool)
            for rival in self.leads.T:
                ahead &= np.cumsum(rival[outputs], axis=0) > _TIE
            wins += ahead.sum(axis=1)
        return wins / simulations
