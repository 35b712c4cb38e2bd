"""The words of a mapping as points: their vectors, their frequency ranks, and their largest distance."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from custext_sql.arrays import Draws, Flags, Floats, Numbers, Points

_BLOCK = 128  # words compared with others at a time


@dataclass(frozen=True, eq=False)
class WordSpace:
    """The words of a mapping as points, in its order.

    points: the vector of each word. ranks: its position in the vector file; published files are sorted by frequency.
    """

    points: Points
    ranks: Numbers

    @cached_property
    def centered(self) -> Points:
        """The points minus their mean: the same distances, with smaller rounding errors in products."""
        centered: Points = (self.points - self.points.mean(axis=0, dtype=np.float64)).astype(np.float32)
        return centered

    @cached_property
    def half_squares(self) -> Points:
        """Half the squared length of each centered point."""
        lengths: Points = np.einsum("id,id->i", self.centered, self.centered) / np.float32(2.0)
        return lengths

    @cached_property
    def largest_distance(self) -> float:
        """The largest distance between any two words, exactly.

        Two points are no further apart than the sum of their distances from the mean, so few pairs are compared.
        """
        radii = np.sqrt(2.0 * self.half_squares.astype(np.float64))
        order = np.argsort(-radii)
        points, radii = self.centered[order], radii[order]
        best = 0.0
        for start in range(0, len(points), _BLOCK):
            if 2.0 * radii[start] <= best:
                break
            reach = start + int(np.searchsorted(-radii[start:], radii[start] - best))
            block, others = points[start : start + _BLOCK].astype(np.float64), points[start:reach].astype(np.float64)
            squares = block @ others.T
            squares *= -2.0
            squares += (block**2).sum(axis=1)[:, None]
            squares += radii[start:reach] ** 2
            best = max(best, float(np.sqrt(squares.max(initial=0.0))))
        return best


def find_most_frequent(ranks: Numbers, share: float) -> Flags:
    """Return a flag per word: whether it is in the most frequent share of the words."""
    is_frequent = np.zeros(len(ranks), dtype=bool)
    is_frequent[np.argsort(ranks, kind="stable")[: round(share * len(ranks))]] = True
    return is_frequent


def uniforms(draws: Draws) -> Floats:
    """Return numbers in [0, 1), from the highest 53 bits of the draws."""
    return (draws >> np.uint64(11)).astype(np.float64) * 2.0**-53
