"""Verifies the guarantee of integer weights. Uses only integers, and no code of the module that builds the weights.

Each input word of a group has a row of weights, one per output word, that are at least 1 and sum to exactly 2**64; a
draw selects an output with probability weight / 2**64. The guarantee is that for any two inputs x, x' of a group and
any output y

    weight(x, y) <= exp(epsilon) * weight(x', y)

for the exact value of the double epsilon. It is checked as `largest << 256 <= L * smallest` in each column, where L is
an integer that does not exceed exp(epsilon) * 2**256.
"""

import math
from collections.abc import Iterator, Sequence
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
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Verdict:
    """For each group, whether the guarantee holds and its worst log-ratio (infinite if a row is not a distribution)."""

    holds: Flags
    log_ratios: Floats


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


def verify_weights(
    sizes: GroupSizes, tables: Sequence[Weights], epsilons: Floats, inputs: Flags | None = None
) -> Verdict:
    """Check every group at its epsilon, and return the verdict.

    tables: weights of the same groups, usually one table. Several are checked as if they were one, for inputs that draw
    from different tables. A table has one square matrix per group, flattened row by row and laid end to end. inputs:
    which words are drawn at all, group after group; None if all are. The guarantee is checked among these words, so it
    holds trivially in a group without any. Raise ValueError if the arrays do not fit together.

    One group of two words with the rows (3/4, 1/4) and (1/2, 1/2): sizes 2, tables [[3 << 62, 1 << 62, 1 << 63,
    1 << 63]]. Its log-ratio is log(2), of the second column, so it holds at epsilon 0.7 and fails at 0.69.
    """
    if any(weights.dtype != np.uint64 or len(weights) != int((sizes**2).sum()) for weights in tables):
        raise ValueError("expected one unsigned 64-bit weight per pair of words of a group")
    if epsilons.dtype != np.float64 or len(epsilons) != len(sizes):
        raise ValueError("expected one 64-bit epsilon per group")
    if inputs is not None and len(inputs) != int(sizes.sum()):
        raise ValueError("expected one flag per word")
    distinct, number_of = np.unique(epsilons, return_inverse=True)
    bounds = [exp_floor(epsilon) for epsilon in distinct.tolist()]
    starts, cell_starts = np.cumsum(sizes) - sizes, np.cumsum(sizes**2) - sizes**2
    holds, log_ratios = np.zeros(len(sizes), dtype=bool), np.full(len(sizes), math.inf)
    for size, groups in _split_by_size(sizes):
        places = _spread(cell_starts[groups], size**2)
        matrices = [weights[places].reshape(len(groups), size, size) for weights in tables]
        drawn = None if inputs is None else inputs[_spread(starts[groups], size)].reshape(len(groups), size, 1)
        largest, smallest = _find_extremes(matrices, drawn)
        valid = np.logical_and.reduce([_are_distributions(some) for some in matrices])
        groups, largest, smallest = groups[valid], largest[valid], smallest[valid]
        holds[groups] = _keep_bounds(largest, smallest, [bounds[number] for number in number_of[groups].tolist()])
        log_ratios[groups] = _find_log_ratios(largest, smallest)
    return Verdict(holds, log_ratios)


def verify_constant(sizes: GroupSizes, outputs: GroupSizes, inputs: Flags) -> Verdict:
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


def _split_by_size(sizes: GroupSizes) -> Iterator[tuple[int, GroupSizes]]:
    """Yield groups of equal size together, a limited number at a time: their size, and their numbers."""
    for size in np.unique(sizes).tolist():
        alike = np.flatnonzero(sizes == size)
        step = max(1, _CELLS // size**2)
        for first in range(0, len(alike), step):
            yield size, alike[first : first + step]


def _spread(starts: GroupSizes, length: int) -> GroupSizes | slice:
    """Return the places of stretches of this length, in ascending order; a slice if they are adjacent."""
    if starts[-1] - starts[0] == (len(starts) - 1) * length:
        return slice(int(starts[0]), int(starts[-1]) + length)
    return (starts[:, None] + np.arange(length)).reshape(-1)


def _are_distributions(matrices: Weights) -> Flags:
    """Return for each matrix whether all weights are at least 1 and all rows sum to exactly 2**64.

    A weight of 0 would also give a wrong threshold, because an output with no share has no last draw. The halves of the
    weights are added separately, so that nothing overflows.
    """
    half = np.uint64(BITS // 2)
    low = (matrices & np.uint64((1 << 32) - 1)).sum(axis=2)
    high = (matrices >> half).sum(axis=2)
    rows_hold = ((low & np.uint64((1 << 32) - 1)) == 0) & (high + (low >> half) == 1 << 32)
    return np.asarray(rows_hold.all(axis=1) & (matrices.min(axis=(1, 2)) > 0))


def _find_extremes(matrices: Sequence[Weights], drawn: Flags | None) -> tuple[Weights, Weights]:
    """Return the largest and the smallest weight of each column of each group, over all tables and the drawn rows.

    Without drawn rows, the largest is 0 and the smallest 2**64 - 1, which keeps every bound.
    """
    highs = matrices if drawn is None else [np.where(drawn, some, np.uint64(0)) for some in matrices]
    lows = matrices if drawn is None else [np.where(drawn, some, np.uint64(_MOST)) for some in matrices]
    largest = np.maximum.reduce([some.max(axis=1) for some in highs])
    smallest = np.minimum.reduce([some.min(axis=1) for some in lows])
    return largest, smallest


def _keep_bounds(largest: Weights, smallest: Weights, bounds: Sequence[int]) -> Flags:
    """Return for each row of columns whether all of them keep its bound.

    Most columns are far from the bound, and 31 bits of each number, rounded to the safe side, prove it: with
    high < (a + 1) << 33, low >= b << 33 and c << 240 <= bound, (a + 1) << 16 <= c * b implies
    high << 256 <= bound * low. The others are compared with all bits.
    """
    coarse = np.array([min(bound >> (_PRECISION - 16), (1 << 31) - 1) for bound in bounds], dtype=np.uint64)
    above, below = (largest >> np.uint64(33)) + np.uint64(1), smallest >> np.uint64(33)
    holds = np.asarray((above << np.uint64(16) <= coarse[:, None] * below).all(axis=1))
    for row in np.flatnonzero(~holds).tolist():
        pairs = zip(largest[row].tolist(), smallest[row].tolist(), strict=True)
        holds[row] = all(high << _PRECISION <= bounds[row] * low for high, low in pairs)
    return holds


def _find_log_ratios(largest: Weights, smallest: Weights) -> Floats:
    """Return the worst log-ratio of each row of columns, for reports only: the check itself compares integers.

    The ratios of integers are rounded once, so the largest is found among those that are largest up to rounding.
    """
    ratios = largest / smallest
    near = ratios >= ratios.max(axis=1, keepdims=True) * (1.0 - 1e-14)
    worst = np.ones(len(largest))  # also of groups without drawn rows
    exact = [high / low for high, low in zip(largest[near].tolist(), smallest[near].tolist(), strict=True)]
    np.maximum.at(worst, near.nonzero()[0], exact)
    return np.array([math.log(ratio) for ratio in worst.tolist()])
