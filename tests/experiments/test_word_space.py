"""Words as points: distances and frequency."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.experiments.baselines import WordSpace, find_most_frequent, uniforms


def make_space(count: int, dimension: int = 5, seed: int = 0, scale: float = 1.0) -> WordSpace:
    points = np.random.default_rng(seed).normal(size=(count, dimension)) * scale + 3.0
    return WordSpace(points.astype(np.float32), np.arange(count)[::-1].copy())


@given(count=st.integers(2, 60), dimension=st.integers(1, 6), seed=st.integers(0, 1000))
def test_the_largest_distance_is_that_of_all_pairs(count: int, dimension: int, seed: int) -> None:
    space = make_space(count, dimension, seed)
    points = space.points.astype(np.float64)
    naive = max(float(np.linalg.norm(one - other)) for one in points for other in points)
    assert space.largest_distance == pytest.approx(naive, rel=1e-5)


def test_the_largest_distance_is_found_beyond_the_first_block() -> None:
    """The pair that is furthest apart need not have the longest vectors: here two of 1,500 lie on opposite sides."""
    points = np.zeros((1500, 3), dtype=np.float32)
    points[:, 0] = np.linspace(5.0, 6.0, 1500)
    points[700, 1], points[900, 1] = 4.0, -4.0
    space = WordSpace(points, np.arange(1500))
    assert space.largest_distance == pytest.approx(float(np.linalg.norm(points[700] - points[900])), rel=1e-6)


def test_the_most_frequent_come_first_in_the_file() -> None:
    ranks = np.array([4, 0, 3, 1, 2])
    assert find_most_frequent(ranks, 0.4).tolist() == [False, True, False, True, False]
    assert not find_most_frequent(ranks, 0.0).any()
    assert find_most_frequent(ranks, 1.0).all()


def test_uniforms_lie_between_0_and_1() -> None:
    draws = np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)
    assert uniforms(draws).tolist() == [0.0, 0.5, 1.0 - 2.0**-53]
