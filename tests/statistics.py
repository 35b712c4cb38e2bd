"""A chi-squared test that needs no library."""

import math
from collections.abc import Sequence


def fits(counts: Sequence[int], chances: Sequence[float]) -> bool:
    """Return whether counts fit these chances. If they were drawn with them, it is True with probability 0.999999."""
    expected = [sum(counts) * chance for chance in chances]
    statistic = sum((found - mean) ** 2 / mean for found, mean in zip(counts, expected, strict=True))
    freedom = len(counts) - 1
    # Wilson and Hilferty: the cube root of chi-squared over its degrees of freedom is nearly normal.
    spread = 2.0 / (9.0 * freedom)
    return (math.pow(statistic / freedom, 1.0 / 3.0) - (1.0 - spread)) / math.sqrt(spread) < 4.753
