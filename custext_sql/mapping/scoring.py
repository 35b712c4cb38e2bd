"""A group's scores: similarities scaled to one unit, stored as whole numbers of 2**-20."""

from collections.abc import Iterator

import numpy as np

from custext_sql.arrays import Floats, Units, Vectors
from custext_sql.errors import MappingError, SettingError
from custext_sql.mapping.grouping import Partition
from custext_sql.mapping.similarity import Similarity

UNIT = 1 << 20  # scores are whole multiples of 1/UNIT, so that every machine stores the same ones
NORMALIZATIONS = ("group", "word")


def check_normalization(normalization: str) -> None:
    if normalization not in NORMALIZATIONS:
        raise SettingError(f"normalization must be one of {', '.join(NORMALIZATIONS)}; found {normalization!r}")


def score_groups(
    vectors: Vectors, partition: Partition, similarity: Similarity, normalization: str = "group"
) -> Iterator[Units]:
    """For each group a square matrix of scores in units: one row an input word, one column an output word."""
    for group in partition.groups():
        rows = vectors[group]
        yield scale_scores(similarity.matrix(rows, rows), similarity.larger_is_closer, normalization)


def scale_scores(closeness: Floats, larger_is_closer: bool, normalization: str = "group") -> Units:
    """Scores u = d' for similarities and -d' for distances, where d' = (d - min) / (max - min).

    Minimum and maximum are those of the whole group ("group", the paper), or of each input word's row ("word", the
    published code). Either way two scores of one output differ by at most 1. Where all are equal, the scores are 0.
    """
    check_normalization(normalization)
    axis = None if normalization == "group" else 1
    least = closeness.min(axis=axis, keepdims=True)
    with np.errstate(over="ignore"):
        spread = closeness.max(axis=axis, keepdims=True) - least
    if not np.isfinite(spread).all():
        raise MappingError("similarities of one group are too far apart to be scaled: expected a finite difference")
    scaled = (closeness - least) / np.where(spread > 0, spread, 1.0)
    units: Units = np.rint(scaled * UNIT).astype(np.int32)
    return units if larger_is_closer else -units
