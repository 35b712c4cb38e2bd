"""The words of a mapping as points: their vectors, how frequent they are, how far apart they can be."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from custext_sql.arrays import Draws, Flags, Floats, Numbers, Points

_BLOCK = 128  # words compared with others at a time


@dataclass(frozen=True, eq=False)
class WordSpace:
    """points: the vector of each word of a mapping, in its order. ranks: its position in the vector file, which is by
    frequency in those that are published.
    """

    points: Points
    ranks: Numbers

    @cached_property
    def centred(self) -> Points:
        """The points about their mean: the same distances, with less lost to rounding in products."""
        centred: Points = (self.points - self.points.mean(axis=0, dtype=np.float64)).astype(np.float32)
        return centred

    @cached_property
    def half_squares(self) -> Points:
        """Half the squared length of each centred point."""
        lengths: Points = np.einsum("id,id->i", self.centred, self.centred) / np.float32(2.0)
        return lengths

    @cached_property
    def largest_distance(self) -> float:
        """Between any two words, exactly: two points are no further apart than their distances from the mean together,
        so that few pairs need to be looked at.
        """
        radii = np.sqrt(2.0 * self.half_squares.astype(np.float64))
        order = np.argsort(-radii)
        points, radii = self.centred[order], radii[order]
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
    """Which words are that share of all which is most frequent."""
    is_frequent = np.zeros(len(ranks), dtype=bool)
    is_frequent[np.argsort(ranks, kind="stable")[: round(share * len(ranks))]] = True
    return is_frequent


def uniforms(draws: Draws) -> Floats:
    """Numbers in [0, 1), from the highest 53 bits of draws."""
    return (draws >> np.uint64(11)).astype(np.float64) * 2.0**-53
