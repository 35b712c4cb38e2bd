"""Probabilities of the exponential mechanism."""

import math

import numpy as np
import pytest

from custext_sql.errors import SettingError
from custext_sql.mapping.similarity import STEPS
from custext_sql.mechanism.weights import check_epsilon, find_probabilities


def test_probabilities_follow_the_formula() -> None:
    scores = np.array([0, -STEPS // 2, -STEPS], dtype=np.int32)
    weights = [1.0, math.exp(-0.75), math.exp(-1.5)]
    assert find_probabilities(scores, np.array(1.5)) == pytest.approx(
        [weight / sum(weights) for weight in weights], rel=1e-14
    )


@pytest.mark.parametrize("epsilon", [0.001, 1.0, 100.0])
def test_ratios_within_a_group_stay_below_e_to_the_epsilon(epsilon: float) -> None:
    scores = -np.random.default_rng(0).integers(0, STEPS + 1, size=(20, 20)).astype(np.int32)
    chances = find_probabilities(scores, np.array(epsilon / 2))
    assert (chances.max(axis=0) <= chances.min(axis=0) * math.exp(epsilon) * (1 + 1e-12)).all()
    assert chances.sum(axis=1) == pytest.approx(np.ones(20))


@pytest.mark.parametrize("epsilon", [-1.0, -0.001, 5e-324, 0.0009, 100.1, math.inf, math.nan])
def test_epsilon_outside_its_range_is_an_error(epsilon: float) -> None:
    with pytest.raises(SettingError, match=r"between 0\.001 and 100; found"):
        check_epsilon(epsilon)
