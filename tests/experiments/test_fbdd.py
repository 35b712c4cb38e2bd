"""FBDD, compared with a readable version of its formula."""

import numpy as np
import pytest

from custext_sql.arrays import Draws, Numbers, Points
from custext_sql.experiments.baselines import Fbdd
from tests.experiments.test_word_space import make_space


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


def test_large_eps_keeps_words_and_small_eps_loses_them() -> None:
    space = make_space(40, dimension=6)
    words = np.random.default_rng(3).integers(0, 40, size=2000)
    draws = np.random.default_rng(4).integers(0, 2**64, size=2000, dtype=np.uint64)
    kept = [float((Fbdd(space).sample(words, epsilon, draws) == words).mean()) for epsilon in (0.1, 10.0, 1000.0)]
    assert kept[0] < 0.2 < kept[1] < kept[2] == 1.0


def test_the_unit_divides_eps() -> None:
    space = make_space(40, dimension=6)
    words, draws = np.arange(40), np.random.default_rng(4).integers(0, 2**64, size=40, dtype=np.uint64)
    assert Fbdd(space, 4.0).sample(words, 8.0, draws).tolist() == Fbdd(space).sample(words, 2.0, draws).tolist()


def test_noise_has_the_length_of_the_gamma_distribution() -> None:
    """The mean is dimension / eps, the variance dimension / eps**2; a deviation of 1% would be seen."""
    noise = Fbdd(make_space(10, dimension=8))._noise(200_000, 2.0, np.random.default_rng(0))
    lengths = np.linalg.norm(noise, axis=1)
    error = np.sqrt(8.0 / 4.0 / len(lengths))
    assert abs(lengths.mean() - 4.0) < 5 * error < 0.04
    assert lengths.var() == pytest.approx(2.0, rel=0.03)
    assert np.abs((noise / lengths[:, None]).mean(axis=0)).max() < 5 / np.sqrt(8 * len(lengths))
