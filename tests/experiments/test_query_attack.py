"""The query attack: its simulations compared with exact probabilities, and attacks on stored mappings."""

from itertools import product
from math import comb, factorial, prod
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from custext_sql import load_mapping
from custext_sql.errors import CusTextError
from custext_sql.experiments import attack_query
from custext_sql.experiments.query_attack import count_for_likeliest, count_for_mode, find_quantile, measure_queries

CONFIDENCE = 0.95  # the paper's
SIMULATIONS = 40_000
NOISE = 5 * (0.95 * 0.05 / SIMULATIONS) ** 0.5  # the largest expected error of a measured success


def exact_mode(row: list[float], word: int, draws: int) -> float:
    """Return the probability that the word is the strict mode, over all outcomes."""
    total = 0.0
    for counts in product(range(draws + 1), repeat=len(row)):
        if sum(counts) == draws and all(counts[word] > count for place, count in enumerate(counts) if place != word):
            ways = factorial(draws) // prod(map(factorial, counts))
            total += ways * prod(chance**count for chance, count in zip(row, counts, strict=True))
    return total


def exact_likeliest(matrix: list[list[float]], word: int, draws: int) -> float:
    """Return the probability that only the word has the maximum likelihood, for two outputs."""
    total = 0.0
    for first in range(draws + 1):
        likelihoods = [row[0] ** first * row[1] ** (draws - first) for row in matrix]
        if all(likelihoods[word] > other for place, other in enumerate(likelihoods) if place != word):
            total += comb(draws, first) * matrix[word][0] ** first * matrix[word][1] ** (draws - first)
    return total


@pytest.mark.parametrize("row", [[0.9, 0.1], [0.7, 0.2, 0.1], [0.6, 0.2, 0.2], [0.97, 0.02, 0.01], [1.0, 0.0]])
def test_few_draws_are_counted_exactly(row: list[float]) -> None:
    found = count_for_mode(np.array(row), 0, SIMULATIONS, np.random.default_rng(0)).draws
    assert found is not None
    success = [exact_mode(row, 0, draws) for draws in range(1, found + 1)]
    assert success[-1] > CONFIDENCE - NOISE
    assert max(success[:-1], default=0.0) < CONFIDENCE + NOISE


def test_many_draws_are_counted_within_their_error() -> None:
    """Two outputs: the mode is the word if more than half of the draws fall on it."""
    row = np.array([0.52, 0.48])

    def success(draws: int) -> float:
        return float(binom.sf(draws // 2, draws, 0.52))

    low, high = 1, 4001  # odd numbers of draws, for which success grows steadily
    while high - low > 2:
        middle = (low + high) // 2 | 1
        low, high = (low, middle) if success(middle) >= CONFIDENCE else (middle, high)
    for seed in range(5):
        found = count_for_mode(row, 0, SIMULATIONS, np.random.default_rng(seed))
        assert found.draws is not None and found.standard_error is not None
        assert abs(found.draws - high) < 4 * found.standard_error + 0.01 * high
        assert 0.002 * high < found.standard_error < 0.02 * high


def test_the_most_likely_input_matches_all_outcomes() -> None:
    matrix = [[0.8, 0.2], [0.4, 0.6], [0.3, 0.7]]
    for word in (0, 2):
        found = count_for_likeliest(np.array(matrix), word, SIMULATIONS, np.random.default_rng(0)).draws
        assert found is not None
        success = [exact_likeliest(matrix, word, draws) for draws in range(1, found + 1)]
        assert success[-1] > CONFIDENCE - NOISE
        assert success[max(0, int(0.9 * found) - 2)] < CONFIDENCE


@pytest.mark.parametrize("first", [0.53, 0.62, 0.8])  # about 750, 45 and 5 draws
def test_the_standard_error_is_that_of_repeated_simulations(first: float) -> None:
    """Two inputs that mirror each other, so that the likeliest is the one whose output is more frequent."""
    matrix = np.array([[first, 1.0 - first], [1.0 - first, first]])
    found = [count_for_likeliest(matrix, 0, 400, np.random.default_rng(seed)) for seed in range(60)]
    counts = [one.draws or 0 for one in found]
    errors = [one.standard_error or 0.0 for one in found]
    assert np.std(counts) == pytest.approx(np.mean(errors), rel=0.5, abs=0.5)
    exact = next(draws for draws in range(1, 2000, 2) if binom.sf(draws // 2, draws, first) >= CONFIDENCE)
    assert np.mean(counts) == pytest.approx(exact, abs=float(0.6 * np.mean(errors) + 0.5))


def test_equal_words_are_never_identified() -> None:
    equal = np.array([0.5, 0.5])
    assert count_for_mode(equal, 0, 100, np.random.default_rng(0)).draws is None
    assert count_for_mode(np.array([0.4, 0.6]), 0, 100, np.random.default_rng(0)).draws is None
    same = np.array([[0.6, 0.4], [0.6, 0.4]])
    assert count_for_likeliest(same, 1, 100, np.random.default_rng(0)).draws is None


def test_more_eps_takes_fewer_draws(mapped_db: Path) -> None:
    mapping = load_mapping(mapped_db)
    results = measure_queries(mapping, ["Alice", "bob"], [1.0, 4.0, 16.0], simulations=2000)
    assert [result.word for result in results] == ["alice"] * 3 + ["bob"] * 3
    for three in (results[:3], results[3:]):
        for value in ("n_mode", "n_ml"):
            counts = [getattr(result, value) for result in three]
            assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1] >= 1


def test_the_calibration_is_checked_even_at_eps_0(mapped_db: Path) -> None:
    with pytest.raises(CusTextError, match="calibration must be"):
        attack_query(mapped_db, ["alice"], eps=0.0, calibration="loose")


def test_quantiles_are_values_of_words_and_count_words_that_are_never_identified() -> None:
    counts = [30, None, 10, 20]
    assert [find_quantile(counts, share) for share in (0.05, 0.25, 0.5, 0.75, 0.95)] == [10, 10, 20, 30, None]
    assert find_quantile([5], 0.5) == 5
