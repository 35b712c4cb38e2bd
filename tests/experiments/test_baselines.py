"""The mechanisms of others, compared with readable versions of their formulas."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.arrays import Draws, Floats, Numbers, Points
from custext_sql.experiments.baselines import Fbdd, RandomWords, SanText, SanTextPlus, WordSpace

STRATA = 10_000


def make_space(count: int, dimension: int = 5, seed: int = 0, scale: float = 1.0) -> WordSpace:
    points = np.random.default_rng(seed).normal(size=(count, dimension)) * scale + 3.0
    return WordSpace(points.astype(np.float32), np.arange(count)[::-1].copy())


@given(count=st.integers(2, 60), dimension=st.integers(1, 6), seed=st.integers(0, 1000))
def test_the_largest_distance_is_that_of_all_pairs(count: int, dimension: int, seed: int) -> None:
    space = make_space(count, dimension, seed)
    points = space.points.astype(np.float64)
    naive = max(float(np.linalg.norm(one - other)) for one in points for other in points)
    assert space.largest_distance == pytest.approx(naive, rel=1e-5)


def naive_row(points: Points, word: int, outputs: list[int], epsilon: float) -> list[float]:
    """Return Pr[output | word], which is proportional to exp(-eps / 2 * distance)."""
    weights = [math.exp(-0.5 * epsilon * math.dist(points[word].tolist(), points[other].tolist())) for other in outputs]
    return [weight / sum(weights) for weight in weights]


def even_draws(count: int) -> Draws:
    """Return evenly spaced draws, each of which stands for the same share."""
    return (np.arange(count, dtype=np.uint64) * np.uint64(2**64 // count)) + np.uint64(2**63 // count)


def frequencies(mechanism: SanText | SanTextPlus, word: int, size: int, epsilon: float) -> Floats:
    chosen = mechanism.sample(np.full(STRATA, word), epsilon, even_draws(STRATA))
    return np.bincount(chosen, minlength=size) / STRATA


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 15.0])
@pytest.mark.parametrize("size", [7, 700])  # within a segment, over several
def test_santext_draws_as_its_formula_says(size: int, epsilon: float) -> None:
    space = make_space(size)
    for word in (0, size // 2, size - 1):
        expected = np.array(naive_row(space.points, word, list(range(size)), epsilon))
        found = frequencies(SanText(space), word, size, epsilon)
        assert np.abs(found - expected).max() <= 2 / STRATA


def test_santext_plus_draws_as_its_formula_says() -> None:
    """The most frequent half stays with probability 0.7. Replacements come from the other half."""
    space = make_space(10)  # the last are the most frequent
    rare = list(range(5))
    mechanism = SanTextPlus(space, sensitive=0.5, replaced=0.3)
    for word in range(10):
        row = naive_row(space.points, word, rare, 3.0)
        expected = np.zeros(10)
        if word in rare:
            expected[rare] = row
        else:
            expected[rare] = 0.3 * np.array(row)
            expected[word] += 0.7
        assert np.abs(frequencies(mechanism, word, 10, 3.0) - expected).max() <= 2 / STRATA


def test_a_bias_of_1_percent_would_be_seen() -> None:
    space = make_space(7)
    wrong = np.array(naive_row(space.points, 0, list(range(7)), 1.01))
    assert np.abs(frequencies(SanText(space), 0, 7, 1.0) - wrong).max() > 2 / STRATA


def test_words_do_not_affect_each_other() -> None:
    """All words of a text at once have the same replacements as each word alone."""
    space = make_space(50)
    words = np.random.default_rng(1).integers(0, 50, size=400)
    draws = np.random.default_rng(2).integers(0, 2**64, size=400, dtype=np.uint64)
    mechanism = SanText(space)
    alone = [int(mechanism.sample(words[[place]], 4.0, draws[[place]])[0]) for place in range(400)]
    assert mechanism.sample(words, 4.0, draws).tolist() == alone


def naive_sample(points: Points, words: Numbers, epsilon: float, draws: Draws) -> list[int]:
    """Add noise of uniform direction and gamma length to the vector of a word, and return the nearest word."""
    even, odd = 0, 0
    for place, draw in enumerate(draws.tolist()):
        even, odd = (even ^ draw, odd) if place % 2 == 0 else (even, odd ^ draw)
    generator = np.random.Generator(np.random.Philox(key=np.array([even, odd], dtype=np.uint64)))
    dimension = points.shape[1]
    directions = generator.standard_normal((len(words), dimension), dtype=np.float32)
    lengths = generator.gamma(dimension, 1.0 / epsilon, size=len(words))
    chosen = []
    for word, direction, length in zip(words, directions.astype(np.float64), lengths, strict=True):
        noisy = points[word] + direction / np.sqrt((direction**2).sum()) * length
        chosen.append(int(np.argmin([((noisy - point) ** 2).sum() for point in points.astype(np.float64)])))
    return chosen


@pytest.mark.parametrize("epsilon", [0.3, 5.0, 60.0])
def test_fbdd_is_noise_and_the_nearest_word(epsilon: float) -> None:
    space = make_space(40, dimension=6)
    words = np.random.default_rng(3).integers(0, 40, size=300)
    draws = np.random.default_rng(4).integers(0, 2**64, size=300, dtype=np.uint64)
    assert Fbdd(space).sample(words, epsilon, draws).tolist() == naive_sample(space.points, words, epsilon, draws)


def test_noise_has_the_length_of_the_gamma_distribution() -> None:
    """The mean is dimension / eps, the variance dimension / eps**2; a deviation of 1% would be seen."""
    noise = Fbdd(make_space(10, dimension=8)).draw_noise(200_000, 2.0, np.random.default_rng(0))
    lengths = np.linalg.norm(noise, axis=1)
    error = np.sqrt(8.0 / 4.0 / len(lengths))
    assert abs(lengths.mean() - 4.0) < 5 * error < 0.04
    assert lengths.var() == pytest.approx(2.0, rel=0.03)
    assert np.abs((noise / lengths[:, None]).mean(axis=0)).max() < 5 / np.sqrt(8 * len(lengths))


def test_all_words_are_equally_likely_whatever_the_word_and_eps() -> None:
    """Each of n words has probability 1 / n. A deviation of 1% would be seen."""
    draws = np.random.default_rng(0).integers(0, 2**64, size=800_000, dtype=np.uint64)
    for word, epsilon in ((0, 0.01), (7, 50.0)):
        counts = np.bincount(RandomWords(8).sample(np.full(len(draws), word), epsilon, draws), minlength=8)
        error = np.sqrt(len(draws) * 0.125 * 0.875)
        assert np.abs(counts - 100_000).max() < 5 * error < 0.016 * 100_000
