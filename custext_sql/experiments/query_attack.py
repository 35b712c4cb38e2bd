"""The query attack: how many draws of a word of a mapping an attacker needs to identify it, by simulation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from custext_sql.arrays import Floats, Places
from custext_sql.errors import SettingError
from custext_sql.experiments.mechanisms import ShareDone, list_epsilons, list_strings, part_of
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import certify, find_representatives
from custext_sql.mechanism.weights import check_calibration
from custext_sql.parameters import check_at_least
from custext_sql.store.contents import load_mapping
from custext_sql.store.database import Database

_SIMULATIONS = 20_000  # per number, for a named word
SAMPLE_SIMULATIONS = 1_000  # per number, for a word of a sample: enough for quantiles
_SAMPLE = 100  # words, if none is named
_FEWEST_SIMULATIONS = 100

CONFIDENCE = 0.95
_MOST_DRAWS = 1 << 40  # no larger number is tried
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
class QueryResult:
    """How many draws of a word an attacker needs to identify it with probability 0.95, at one eps.

    Attacks are simulated, so numbers have standard errors, in draws. None: no number of draws is enough.
    """

    word: str  # in lower case
    eps: float  # the budget per draw
    n_mode: int | None  # for an attacker who guesses the most frequent output
    n_mode_error: float | None
    n_ml: int | None  # for an attacker who guesses the input of maximum likelihood
    n_ml_error: float | None
    mapping: str  # its name
    calibration: str  # how eps sets the temperature: "paper" or "tight"


@dataclass(frozen=True)
class QueryAttack:
    """The results of the query attack on a mapping."""

    mapping: str  # its name
    calibration: str  # how eps sets the temperature: "paper" or "tight"
    words: tuple[QueryResult, ...]  # of the named words, one per word and eps
    sample: tuple[QueryResult, ...]  # of words chosen at random from the vocabulary, one per word and eps

    @property
    def results(self) -> tuple[QueryResult, ...]:
        """Those of all words."""
        return (*self.words, *self.sample)


def attack_query(
    database: Database = None,
    words: str | Sequence[str] = (),
    *,
    eps: float | Sequence[float] = (1.0, 2.0, 3.0, 8.0),
    sample: int | None = None,
    trials: int | None = None,
    seed: int = 0,
    calibration: str = "paper",
    mapping: str | None = None,
    progress: ShareDone | None = None,
) -> QueryAttack:
    """Simulate attackers who ask for a replacement of the same word again and again, and count the draws they need.

    words: a word of the mapping, or several.
    eps: one budget per draw or several, 0, or 0.001 to 100.
    sample: also attack this many words of the vocabulary, chosen at random; by default 100 if no word is named, else 0.
    trials: simulated attacks per number, at least 100; by default 20,000, and 1,000 for a word of the sample.
    seed: the seed of the simulation and the sample, at least 0.

    All other arguments are those of `attack_context`. MappingError if the mapping does not exist or lacks a word;
    SettingError if a setting is invalid.
    """
    named, epsilons = list_strings(words, "words"), list_epsilons(eps)
    loaded = load_mapping(database, mapping)
    count = _SAMPLE if sample is None and not named else check_at_least(sample or 0, 0, "sample")
    if not named and not count:
        raise SettingError("name at least one word, or use --sample N (in Python: sample=N) with N above 0")
    if trials is not None:
        check_at_least(trials, _FEWEST_SIMULATIONS, "trials")
    check_at_least(seed, 0, "seed")
    check_calibration(calibration)
    places = np.random.default_rng(seed).choice(len(loaded.words), min(count, len(loaded.words)), replace=False)
    settings: dict[str, Any] = {"calibration": calibration, "seed": seed, "progress": progress}
    others = [loaded.words[place] for place in places]
    found = measure_queries(loaded, named, epsilons, simulations=trials or _SIMULATIONS, **settings)
    sampled = measure_queries(loaded, others, epsilons, simulations=trials or SAMPLE_SIMULATIONS, **settings)
    return QueryAttack(loaded.info.name, calibration, tuple(found), tuple(sampled))


def measure_queries(
    mapping: Mapping,
    words: Sequence[str],
    epsilons: Sequence[float],
    *,
    calibration: str = "paper",
    simulations: int = _SIMULATIONS,
    seed: int = 0,
    representatives: Places | None = None,
    progress: ShareDone | None = None,
) -> list[QueryResult]:
    """Return a result for each word and eps. The same seed gives the same results.

    simulations: per number. representatives: what each word becomes at eps = 0; by default as if none were kept.
    """
    if representatives is None and 0.0 in epsilons:
        representatives = find_representatives(mapping)
    pairs = [(place, epsilon) for place in map(mapping.find, words) for epsilon in epsilons]
    results = []
    for number, (word, epsilon) in enumerate(pairs):
        part_of(progress, number, len(pairs))(0.0)
        group = int(np.searchsorted(mapping.word_starts, word, side="right")) - 1
        place, size = word - int(mapping.word_starts[group]), int(mapping.sizes[group])
        if epsilon == 0.0:
            assert representatives is not None
            matrix = np.tile(np.eye(size)[representatives[word] - mapping.word_starts[group]], (size, 1))
        else:
            start = int(mapping.score_starts[group])
            scores = mapping.scores[start : start + size**2]
            table = certify(mapping.sizes[group : group + 1], scores, epsilon, calibration)
            matrix = table.weights.reshape(size, size) / 2.0**64
            matrix /= matrix.sum(axis=1, keepdims=True)
        mode = count_for_mode(matrix[place], place, simulations, np.random.default_rng([seed, word]))
        likeliest = count_for_likeliest(matrix, place, simulations, np.random.default_rng([seed, word]))
        results.append(QueryResult(mapping.words[word], epsilon, *mode, *likeliest, mapping.info.name, calibration))
    return results


def find_quantile(counts: Sequence[int | None], share: float) -> int | None:
    """Return the smallest number of draws that suffices for that share of words; None if no number does."""
    known = sorted(count for count in counts if count is not None)
    place = max(0, math.ceil(share * len(counts)) - 1)
    return known[place] if place < len(known) else None


class DrawCount(NamedTuple):
    """The smallest number of draws with which an attack succeeds with probability 0.95, and its standard error.

    Both are None if no number of draws is enough.
    """

    draws: int | None
    standard_error: float | None


def count_for_mode(row: Floats, word: int, simulations: int, generator: np.random.Generator) -> DrawCount:
    """Return the draws needed by an attacker who guesses the most frequent output. A tie counts as a failure.

    row: the probabilities of the outputs for that word. word: its place in the group.
    """
    if row[word] <= np.delete(row, word).max(initial=0.0):
        return DrawCount(None, None)
    leads = np.eye(len(row))[:, [word]] - np.eye(len(row))
    return _Race(row, np.delete(leads, word, axis=1), simulations, generator).find_least()


def count_for_likeliest(matrix: Floats, word: int, simulations: int, generator: np.random.Generator) -> DrawCount:
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
    """Return normally distributed numbers, the same for every word, since they only decide where a search begins."""
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
            if draws > _MOST_DRAWS:
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
