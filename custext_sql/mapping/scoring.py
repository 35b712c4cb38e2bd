"""Scores of the words of a group: similarities scaled to a range of 1, stored as multiples of 2**-20."""

from collections.abc import Iterator

import numpy as np

from custext_sql.arrays import Floats, Units, Vectors
from custext_sql.errors import MappingError, SettingError
from custext_sql.mapping.grouping import Partition
from custext_sql.mapping.similarity import Similarity

UNIT = 1 << 20  # scores are integer multiples of 1/UNIT, so that every machine stores the same ones
NORMALIZATIONS = ("group", "word")


def check_normalization(normalization: str) -> None:
    """Raise SettingError if this is not one of NORMALIZATIONS."""
    if normalization not in NORMALIZATIONS:
        raise SettingError(f"normalization must be one of {', '.join(NORMALIZATIONS)}; found {normalization!r}")


def score_groups(
    vectors: Vectors, partition: Partition, similarity: Similarity, normalization: str = "group"
) -> Iterator[Units]:
    """Yield for each group a square matrix of scores in units, with one row per input and one column per output."""
    for group in partition.groups():
        rows = vectors[group]
        yield scale_scores(similarity.matrix(rows, rows), similarity.larger_is_closer, normalization)


def scale_scores(closeness: Floats, larger_is_closer: bool, normalization: str = "group") -> Units:
    """Return the scores u = d' for similarities and u = -d' for distances, where d' = (d - min) / (max - min).

    Minimum and maximum are those of the whole group ("group", as in the paper) or of the row of each input word
    ("word", as in the published code). Either way, two scores of one output differ by at most 1. If all values are
    equal, the scores are 0. Raise MappingError if the range is not finite.
    """
    check_normalization(normalization)
    axis = None if normalization == "group" else 1
    least = closeness.min(axis=axis, keepdims=True)
    with np.errstate(over="ignore"):
        spread = closeness.max(axis=axis, keepdims=True) - least
    if not np.isfinite(spread).all():
        raise MappingError(
            "expected similarities with a finite range within each group, found some that are too far apart"
        )
    scaled = (closeness - least) / np.where(spread > 0, spread, 1.0)
    units: Units = np.rint(scaled * UNIT).astype(np.int32)
    return units if larger_is_closer else -units
