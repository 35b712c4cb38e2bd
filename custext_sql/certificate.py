"""The verifier: whether integer weights keep their promise. Integers only, and no code of the module that makes them.

Each input word of a group has a row of weights, one for each output word, that sum to exactly 2**64; a draw picks an
output with probability weight / 2**64. The promise is that for any two inputs x, x' of a group and any output y

    weight(x, y) <= exp(epsilon) * weight(x', y)

for the exact value of the double epsilon. It is checked as `largest << 256 <= L * smallest` over each column, where L
is an integer not above exp(epsilon) * 2**256; so a column is all positive or all zero.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BITS = 64  # a row of weights sums to 2**BITS
_PRECISION = 256
_GUARD = 128  # bits beyond that, so that rounding down costs nothing that matters
_CELLS = 1 << 22  # weights examined at a time

Weights = npt.NDArray[np.uint64]
GroupSizes = npt.NDArray[np.int64]
Epsilons = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Verdict:
    """For each group whether the promise holds, and its worst log-ratio (infinite where a sum is wrong)."""

    holds: npt.NDArray[np.bool_]
    log_ratios: npt.NDArray[np.float64]


def exp_floor(epsilon: float) -> int:
    """An integer not above exp(epsilon) * 2**256, and close to it; epsilon is finite and not negative.

    The exponential series of the exact rational value of epsilon, in fixed point: every term is rounded down and the
    rest of the series, which is positive, is left out.
    """
    numerator, denominator = epsilon.as_integer_ratio()
    term = total = 1 << (_PRECISION + _GUARD)
    count = 0
    while term:
        count += 1
        term = term * numerator // (denominator * count)
        total += term
    return total >> _GUARD


def verify_weights(sizes: GroupSizes, weights: Weights, epsilons: Epsilons) -> Verdict:
    """Check every group at its epsilon. `weights` holds a square matrix a group, row by row, laid end to end."""
    if weights.dtype != np.uint64 or len(weights) != int((sizes**2).sum()):
        raise ValueError("expected one unsigned 64-bit weight for each pair of words of a group")
    if epsilons.dtype != np.float64 or len(epsilons) != len(sizes):
        raise ValueError("expected one 64-bit epsilon for each group")
    distinct, number_of = np.unique(epsilons, return_inverse=True)
    bounds = [exp_floor(epsilon) for epsilon in distinct.tolist()]
    holds = np.zeros(len(sizes), dtype=bool)
    log_ratios = np.full(len(sizes), math.inf)
    for groups, matrices in _matrices_by_size(sizes, weights):
        sums_hold = _rows_sum_to_one(matrices)
        largest, smallest = matrices.max(axis=1).tolist(), matrices.min(axis=1).tolist()
        for place, group in enumerate(groups.tolist()):
            if sums_hold[place]:
                columns = list(zip(largest[place], smallest[place], strict=True))
                bound = bounds[number_of[group]]
                holds[group] = all(high << _PRECISION <= bound * low for high, low in columns)
                log_ratios[group] = _log_ratio(columns)
    return Verdict(holds, log_ratios)


def verify_union(sizes: GroupSizes, tables: Sequence[Weights], epsilon: float) -> Verdict:
    """Check several tables of the same groups as if they were one: two inputs that draw from unlike tables.

    Each table is one that `verify_weights` accepted, at an epsilon of its own.
    """
    bound = exp_floor(epsilon)
    largest = np.maximum.reduce([_column_extremes(sizes, weights, np.max) for weights in tables])
    smallest = np.minimum.reduce([_column_extremes(sizes, weights, np.min) for weights in tables])
    ends = np.cumsum(sizes)
    holds = np.zeros(len(sizes), dtype=bool)
    log_ratios = np.full(len(sizes), math.inf)
    for group, (start, end) in enumerate(zip((ends - sizes).tolist(), ends.tolist(), strict=True)):
        columns = list(zip(largest[start:end].tolist(), smallest[start:end].tolist(), strict=True))
        holds[group] = all(high << _PRECISION <= bound * low for high, low in columns)
        log_ratios[group] = _log_ratio(columns)
    return Verdict(holds, log_ratios)


def _column_extremes(sizes: GroupSizes, weights: Weights, extreme: Callable[..., Weights]) -> Weights:
    """The largest or smallest weight of each column, for all groups end to end."""
    found = np.zeros(int(sizes.sum()), dtype=np.uint64)
    starts = np.cumsum(sizes) - sizes
    for groups, matrices in _matrices_by_size(sizes, weights):
        found[starts[groups][:, None] + np.arange(matrices.shape[1])] = extreme(matrices, axis=1)
    return found


def _matrices_by_size(sizes: GroupSizes, weights: Weights) -> Iterator[tuple[GroupSizes, Weights]]:
    """Groups of equal size together: their numbers, and their matrices as one array."""
    ends = np.cumsum(sizes**2)
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        cells = int(size) ** 2
        step = max(1, _CELLS // cells)
        for first in range(0, len(alike), step):
            groups = alike[first : first + step]
            places = (ends[groups] - cells)[:, None] + np.arange(cells)
            yield groups, weights[places].reshape(len(groups), int(size), int(size))


def _rows_sum_to_one(matrices: Weights) -> npt.NDArray[np.bool_]:
    """Whether all rows of each matrix sum to exactly 2**64; halves are added apart, so that nothing wraps around."""
    half = np.uint64(BITS // 2)
    low = (matrices & np.uint64((1 << 32) - 1)).sum(axis=2)
    high = (matrices >> half).sum(axis=2)
    rows_hold = ((low & np.uint64((1 << 32) - 1)) == 0) & (high + (low >> half) == 1 << 32)
    return np.asarray(rows_hold.all(axis=1))


def _log_ratio(columns: list[tuple[int, int]]) -> float:
    """The worst of a group, for reports only: the check itself compares integers."""
    if any(low == 0 < high for high, low in columns):
        return math.inf
    return math.log(max(high / low for high, low in columns if low))
