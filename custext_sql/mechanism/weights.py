"""Turns scores and epsilon into integer weights: the exponential mechanism. Weights are used only once verified."""

import math
from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Floats, Scores, Sizes, Weights
from custext_sql.errors import SettingError
from custext_sql.mapping.similarity import STEPS
from custext_sql.text.encoded_text import spread_out

SMALLEST_EPSILON, LARGEST_EPSILON = 0.001, 100.0
CALIBRATIONS = ("paper", "tight")

_BISECTIONS = 30  # finds the largest temperature to within 2**-30
_CELLS = 1 << 17  # scores processed at a time: few enough for the cache of a processor

_Cell = TypeVar("_Cell", np.int32, np.uint64)


def check_epsilon(epsilon: float) -> float:
    """Return the privacy budget per word as a float; SettingError if it is not 0 or a number in [0.001, 100]."""
    try:
        value = float(epsilon)
        if isinstance(epsilon, str | bytes | bool | np.bool_):
            raise TypeError
    except (TypeError, ValueError):
        raise SettingError(f"eps must be a number; found {type(epsilon).__name__}") from None
    if value == 0:
        return 0.0  # not -0.0
    if not (math.isfinite(value) and SMALLEST_EPSILON <= value <= LARGEST_EPSILON):
        raise SettingError(f"eps must be 0, or between {SMALLEST_EPSILON} and {LARGEST_EPSILON:g}; found {value!r}")
    return value


def check_calibration(calibration: str) -> str:
    """Return the calibration; SettingError if it is not "paper" or "tight"."""
    if calibration not in CALIBRATIONS:
        raise SettingError(f"calibration must be one of {', '.join(CALIBRATIONS)}; found {calibration!r}")
    return calibration


def choose_temperatures(sizes: Sizes, scores: Scores, epsilons: Floats, calibration: str = "paper") -> Floats:
    """Return for each group, at its epsilon, the factor t in exp(t * score).

    "paper": eps / 2. "tight": the largest in [eps / 2, eps], by bisection, at which no two inputs of the group differ
    by more than eps in the log-probability of any output.
    """
    temperatures = epsilons / 2.0
    if check_calibration(calibration) == "paper":
        return temperatures
    for groups, matrices in matrices_by_size(sizes, scores):
        low, high, bound = temperatures[groups], epsilons[groups], epsilons[groups]
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2.0
            fits = _worst_log_ratios(matrices, middle) <= bound
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        temperatures[groups] = np.where(_worst_log_ratios(matrices, high) <= bound, high, low)
    return temperatures


def build_weights(sizes: Sizes, scores: Scores, temperatures: Floats) -> Weights:
    """Return a row of weights per input word, summing to 2**64 and proportional to exp(temperature * score).

    Every weight except the largest of the row is rounded up, to at least 1, and the largest takes the rest: rounded to
    the nearest integer, a ratio of two weights could exceed the bound. One group of two words with the scores (0, -1)
    and (-1, 0), in steps of 2**-20, gives about 3/4, 1/4, 1/4, 3/4 of 2**64 at the temperature log(3).
    """
    weights = np.empty(len(scores), dtype=np.uint64)
    for groups, matrices in matrices_by_size(sizes, scores):
        chances = find_probabilities(matrices, temperatures[groups][:, None, None])
        largest = chances.argmax(axis=2)[:, :, None]
        np.put_along_axis(chances, largest, 0.0, axis=2)
        cells = np.maximum(np.ceil(chances * 2.0**64), 1.0).astype(np.uint64)
        np.put_along_axis(cells, largest, np.uint64(0), axis=2)
        rest = np.uint64(0) - cells.sum(axis=2, keepdims=True)  # modulo 2**64
        np.put_along_axis(cells, largest, rest, axis=2)
        weights[cells_of(sizes, groups)] = cells.reshape(-1)
    return weights


def find_probabilities(scores: Scores, temperatures: Floats) -> Floats:
    """Return probabilities proportional to exp(temperature * score) along the last axis, in floating point."""
    weights = scores * (temperatures / STEPS)
    weights -= weights.max(axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights


def _worst_log_ratios(matrices: Scores, temperatures: Floats) -> Floats:
    """Return for each group the largest difference in the log-probability of one output, in floating point."""
    logits = matrices * (temperatures / STEPS)[:, None, None]
    top = logits.max(axis=2, keepdims=True)
    logits -= top + np.log(np.exp(logits - top).sum(axis=2, keepdims=True))
    worst: Floats = (logits.max(axis=1) - logits.min(axis=1)).max(axis=1)
    return worst


def matrices_by_size(sizes: Sizes, cells: npt.NDArray[_Cell]) -> Iterator[tuple[Sizes, npt.NDArray[_Cell]]]:
    """Yield groups of equal size together, for vectorized work: their numbers, and their cells as matrices."""
    for size in np.unique(sizes).tolist():
        alike = np.flatnonzero(sizes == size)
        at_once = max(1, _CELLS // size**2)
        for first in range(0, len(alike), at_once):
            groups = alike[first : first + at_once]
            yield groups, cells[cells_of(sizes, groups)].reshape(-1, size, size)


def cells_of(sizes: Sizes, groups: Sizes) -> Sizes | slice:
    """Return the places of the scores or weights of these groups, in this order; a slice if the groups are adjacent.

    Of groups of 2, 3 and 2 words, the first and the last have the cells 0 1 2 3 and 13 14 15 16.
    """
    ends = np.cumsum(sizes**2)
    lengths = sizes[groups] ** 2
    if (np.diff(groups) == 1).all():
        return slice(int(ends[groups[0]] - lengths[0]), int(ends[groups[-1]]))
    return spread_out(ends[groups] - lengths, lengths)
