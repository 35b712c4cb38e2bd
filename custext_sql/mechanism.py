"""Scores and epsilon into probabilities: the exponential mechanism."""

import math

import numpy as np

from custext_sql.errors import SettingError
from custext_sql.scoring import UNIT, Units
from custext_sql.similarity import Floats

SMALLEST_EPSILON, LARGEST_EPSILON = 0.001, 100.0


def check_epsilon(epsilon: float) -> float:
    """The privacy budget of one word, if it lies in [0.001, 100]."""
    if not (math.isfinite(epsilon) and SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON):
        raise SettingError(f"eps must lie between {SMALLEST_EPSILON} and {LARGEST_EPSILON:g}; found {epsilon!r}")
    return epsilon


def probabilities(scores: Units, epsilon: float) -> Floats:
    """Pr[output | input], proportional to exp(epsilon / 2 * score), along the last axis."""
    temperature = check_epsilon(epsilon) / 2.0
    exponents = scores * (temperature / UNIT)
    weights = np.exp(exponents - exponents.max(axis=-1, keepdims=True))
    normal: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return normal
