"""Verifies the guarantee of integer weights. Uses only integers, and no code of the module that builds the weights.

Each input word of a group has a row of weights, one per output word, that are at least 1 and sum to exactly 2**64; a
draw selects an output with probability weight / 2**64. The guarantee is that for any two inputs x, x' of a group and
any output y

    weight(x, y) <= exp(epsilon) * weight(x', y)

for the exact value of the double epsilon. It is checked as `largest << 256 <= L * smallest` in each column, where L is
an integer that does not exceed exp(epsilon) * 2**256.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BITS = 64  # a row of weights sums to 2**BITS
_PRECISION = 256
_GUARD = 128  # extra bits, so that rounding down loses nothing that matters
_CELLS = 1 << 22  # weights checked at a time
_MOST = (1 << BITS) - 1  # no weight is larger

Weights = npt.NDArray[np.uint64]
GroupSizes = npt.NDArray[np.int64]
Epsilons = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Verdict:
    """For each group, whether the guarantee holds and its worst log-ratio (infinite if a row is not a distribution)."""

    holds: npt.NDArray[np.bool_]
    log_ratios: npt.NDArray[np.float64]


def exp_floor(epsilon: float) -> int:
    """Return an integer that is close to exp(epsilon) * 2**256 and does not exceed it.

    epsilon: finite and not negative. Adds the exponential series of its exact rational value in fixed point. Every term
    is rounded down, and the rest of the series, which is positive, is omitted.
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
    """Check every group at its epsilon, and return the verdict.

    weights: one square matrix per group, flattened row by row and laid end to end. Raise ValueError if the arrays do
    not fit together.
    """
    _check_layout(sizes, weights)
    if epsilons.dtype != np.float64 or len(epsilons) != len(sizes):
        raise ValueError("expected one 64-bit epsilon per group")
    distinct, number_of = np.unique(epsilons, return_inverse=True)
    bounds = [exp_floor(epsilon) for epsilon in distinct.tolist()]
    holds = np.zeros(len(sizes), dtype=bool)
    log_ratios = np.full(len(sizes), math.inf)
    for groups, matrices in _matrices_by_size(sizes, weights):
        rows_hold = _are_distributions(matrices)
        largest, smallest = matrices.max(axis=1).tolist(), matrices.min(axis=1).tolist()
        for place, group in enumerate(groups.tolist()):
            if rows_hold[place]:
                columns = list(zip(largest[place], smallest[place], strict=True))
                bound = bounds[number_of[group]]
                holds[group] = all(high << _PRECISION <= bound * low for high, low in columns)
                log_ratios[group] = _log_ratio(columns)
    return Verdict(holds, log_ratios)


def verify_union(
    sizes: GroupSizes, tables: Sequence[Weights], epsilon: float, inputs: npt.NDArray[np.bool_] | None = None
) -> Verdict:
    """Check several tables of the same groups as if they were one, for inputs that draw from different tables.

    Each table was built for its own epsilon; `epsilon` is the largest. inputs: which words are drawn at all, group
    after group. The guarantee is then checked among these words; it holds trivially in a group without any. Raise
    ValueError if the arrays do not fit together.
    """
    for weights in tables:
        _check_layout(sizes, weights)
    bound = exp_floor(epsilon)
    drawn = np.ones(int(sizes.sum()), dtype=bool) if inputs is None else inputs
    rows_hold = np.logical_and.reduce([_find_distributions(sizes, weights) for weights in tables])
    largest = np.maximum.reduce([_column_extremes(sizes, weights, drawn, np.max, 0) for weights in tables])
    smallest = np.minimum.reduce([_column_extremes(sizes, weights, drawn, np.min, _MOST) for weights in tables])
    ends = np.cumsum(sizes)
    holds = rows_hold.copy()
    log_ratios = np.where(rows_hold, 0.0, math.inf)
    for group, (start, end) in enumerate(zip((ends - sizes).tolist(), ends.tolist(), strict=True)):
        if rows_hold[group] and drawn[start:end].any():
            columns = list(zip(largest[start:end].tolist(), smallest[start:end].tolist(), strict=True))
            holds[group] = all(high << _PRECISION <= bound * low for high, low in columns)
            log_ratios[group] = _log_ratio(columns)
    return Verdict(holds, log_ratios)


def verify_constant(sizes: GroupSizes, outputs: GroupSizes, inputs: npt.NDArray[np.bool_]) -> Verdict:
    """Check that all inputs of a group have the same output, which is a word of the group: the guarantee at epsilon 0.

    outputs: for each word, group after group, the number of the word that replaces it. inputs: which words are replaced
    at all; the guarantee holds trivially in a group without any. Raise ValueError if the arrays do not fit together.
    """
    if len(outputs) != int(sizes.sum()) or len(inputs) != len(outputs):
        raise ValueError("expected one output and one flag per word")
    starts = np.cumsum(sizes) - sizes
    first, last = np.repeat(starts, sizes), np.repeat(starts + sizes - 1, sizes)
    largest = np.maximum.reduceat(np.where(inputs, outputs, first), starts)
    smallest = np.minimum.reduceat(np.where(inputs, outputs, last), starts)
    has_inputs = np.logical_or.reduceat(inputs, starts)
    holds = ~has_inputs | ((smallest == largest) & (smallest >= starts) & (largest < starts + sizes))
    return Verdict(holds, np.where(holds, 0.0, math.inf))


def _check_layout(sizes: GroupSizes, weights: Weights) -> None:
    if weights.dtype != np.uint64 or len(weights) != int((sizes**2).sum()):
        raise ValueError("expected one unsigned 64-bit weight per pair of words of a group")


def _find_distributions(sizes: GroupSizes, weights: Weights) -> npt.NDArray[np.bool_]:
    """Return for each group whether all its rows are distributions."""
    found = np.zeros(len(sizes), dtype=bool)
    for groups, matrices in _matrices_by_size(sizes, weights):
        found[groups] = _are_distributions(matrices)
    return found


def _column_extremes(
    sizes: GroupSizes, weights: Weights, drawn: npt.NDArray[np.bool_], extreme: Callable[..., Weights], least: int
) -> Weights:
    """Return the largest or smallest weight of each column over the drawn inputs, for all groups end to end.

    least: a value that is never the extreme; it replaces the weights of other inputs.
    """
    found = np.zeros(int(sizes.sum()), dtype=np.uint64)
    starts = np.cumsum(sizes) - sizes
    for groups, matrices in _matrices_by_size(sizes, weights):
        places = starts[groups][:, None] + np.arange(matrices.shape[1])
        found[places] = extreme(np.where(drawn[places][:, :, None], matrices, np.uint64(least)), axis=1)
    return found


def _matrices_by_size(sizes: GroupSizes, weights: Weights) -> Iterator[tuple[GroupSizes, Weights]]:
    """Yield groups of equal size together: their numbers, and their matrices as one array."""
    ends = np.cumsum(sizes**2)
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        cells = int(size) ** 2
        step = max(1, _CELLS // cells)
        for first in range(0, len(alike), step):
            groups = alike[first : first + step]
            places = (ends[groups] - cells)[:, None] + np.arange(cells)
            yield groups, weights[places].reshape(len(groups), int(size), int(size))


def _are_distributions(matrices: Weights) -> npt.NDArray[np.bool_]:
    """Return for each matrix whether all weights are at least 1 and all rows sum to exactly 2**64.

    A weight of 0 would also give a wrong threshold, because an output with no share has no last draw. The halves of the
    weights are added separately, so that nothing overflows.
    """
    half = np.uint64(BITS // 2)
    low = (matrices & np.uint64((1 << 32) - 1)).sum(axis=2)
    high = (matrices >> half).sum(axis=2)
    rows_hold = ((low & np.uint64((1 << 32) - 1)) == 0) & (high + (low >> half) == 1 << 32)
    return np.asarray(rows_hold.all(axis=1) & (matrices.min(axis=(1, 2)) > 0))


def _log_ratio(columns: list[tuple[int, int]]) -> float:
    """Return the worst log-ratio of a group, for reports only: the check itself compares integers."""
    return math.log(max(high / low for high, low in columns))
