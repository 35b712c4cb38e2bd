"""A chi-squared test without a library for it."""

import math
from collections.abc import Sequence


def fits(counts: Sequence[int], chances: Sequence[float]) -> bool:
    """Whether counts may well have come from these chances: true with probability 0.999999 if they did."""
    expected = [sum(counts) * chance for chance in chances]
    statistic = sum((found - mean) ** 2 / mean for found, mean in zip(counts, expected, strict=True))
    freedom = len(counts) - 1
    # Wilson and Hilferty: the cube root of chi-squared over its freedom is nearly normal.
    spread = 2.0 / (9.0 * freedom)
    return (math.pow(statistic / freedom, 1.0 / 3.0) - (1.0 - spread)) / math.sqrt(spread) < 4.753
