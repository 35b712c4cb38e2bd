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
_CELLS = 1 << 17  # weights checked at a time: few enough for the cache of a processor
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
        groups, largest, smallest = groups[rows_hold], matrices.max(axis=1)[rows_hold], matrices.min(axis=1)[rows_hold]
        columns = _Columns(sizes[groups], largest.reshape(-1), smallest.reshape(-1))
        holds[groups] = columns.hold(bounds, number_of[groups])
        log_ratios[groups] = columns.find_log_ratios()
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
    holds = rows_hold.copy()
    log_ratios = np.where(rows_hold, 0.0, math.inf)
    groups = np.flatnonzero(rows_hold & np.logical_or.reduceat(drawn, np.cumsum(sizes) - sizes))
    within = np.repeat(np.isin(np.arange(len(sizes)), groups), sizes)
    columns = _Columns(sizes[groups], largest[within], smallest[within])
    holds[groups] = columns.hold([bound], np.zeros(len(groups), dtype=np.int64))
    log_ratios[groups] = columns.find_log_ratios()
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
            if groups[-1] - groups[0] == len(groups) - 1:  # they are adjacent
                matrices = weights[ends[groups[0]] - cells : ends[groups[-1]]]
            else:
                matrices = weights[(ends[groups] - cells)[:, None] + np.arange(cells)]
            yield groups, matrices.reshape(len(groups), int(size), int(size))


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


@dataclass(frozen=True)
class _Columns:
    """The largest and the smallest weight of each column of some groups, end to end. sizes: columns per group."""

    sizes: GroupSizes
    largest: Weights
    smallest: Weights

    def hold(self, bounds: Sequence[int], number_of: GroupSizes) -> npt.NDArray[np.bool_]:
        """Return which groups keep their bound in all columns. number_of: for each group, the number of its bound.

        Most columns are far from the bound, and 31 bits of each number, rounded to the safe side, prove it: with
        high < (a + 1) << 33, low >= b << 33 and c << 240 <= bound, (a + 1) << 16 <= c * b implies
        high << 256 <= bound * low. The others are compared with all bits.
        """
        if not len(self.sizes):
            return np.zeros(0, dtype=bool)
        coarse = np.array([min(bound >> (_PRECISION - 16), (1 << 31) - 1) for bound in bounds], dtype=np.uint64)
        above, below = (self.largest >> np.uint64(33)) + np.uint64(1), self.smallest >> np.uint64(33)
        proven = above << np.uint64(16) <= np.repeat(coarse[number_of], self.sizes) * below
        ends = np.cumsum(self.sizes)
        holds = np.logical_and.reduceat(proven, ends - self.sizes)
        for group in np.flatnonzero(~holds).tolist():
            columns = slice(ends[group] - self.sizes[group], ends[group])
            bound = bounds[number_of[group]]
            pairs = zip(self.largest[columns].tolist(), self.smallest[columns].tolist(), strict=True)
            holds[group] = all(high << _PRECISION <= bound * low for high, low in pairs)
        return holds

    def find_log_ratios(self) -> npt.NDArray[np.float64]:
        """Return the worst log-ratio of each group, for reports only: the check itself compares integers.

        The ratios of integers are rounded once, so the largest is found among those that are largest up to rounding.
        """
        if not len(self.sizes):
            return np.zeros(0)
        ratios = self.largest / self.smallest
        group_of = np.repeat(np.arange(len(self.sizes)), self.sizes)
        most = np.maximum.reduceat(ratios, np.cumsum(self.sizes) - self.sizes)
        near = np.flatnonzero(ratios >= most[group_of] * (1.0 - 1e-14))
        worst = [0.0] * len(self.sizes)
        for group, high, low in zip(
            group_of[near].tolist(), self.largest[near].tolist(), self.smallest[near].tolist(), strict=True
        ):
            worst[group] = max(worst[group], high / low)
        return np.array([math.log(ratio) for ratio in worst])
