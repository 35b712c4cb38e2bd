"""Measures of similarity: Euclidean distance, cosine similarity, or a user's function; and the scores made of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Floats, Places, Scores, Vectors
from custext_sql.errors import MappingError, SettingError

Compare = Callable[[Floats, Floats], npt.ArrayLike]

STEPS = 1 << 20  # in a score of 1: scores are whole numbers of steps, so that every machine stores the same ones

_BLOCK_CELLS = 1 << 18  # float64 cells per block of differences: 2 MB, about the cache of a core
_ROWS = 4096  # words whose points are in float64 at a time
_KINDS = {"c": "complex numbers", "U": "strings", "S": "bytes", "O": "Python objects"}  # by NumPy's letter


class Geometric:
    """Euclidean distance, and the base of measures that rank words like the Euclidean distance between points.

    Distances are compared as float64 sums of squared differences: unlike matrix products, these are equal for equal
    rows, and NumPy adds them in a fixed order, so that ties and groups are the same on every machine.
    """

    name = "euclidean"
    larger_is_closer = False

    def points(self, vectors: Vectors) -> Floats:
        """Return the points, in float64, whose distances rank the words."""
        return np.asarray(vectors, dtype=np.float64)

    def from_squares(self, squares: Floats) -> Floats:
        """Return the measure for squared distances of points."""
        return np.sqrt(squares)

    def split_points(self, vectors: Vectors) -> Iterator[tuple[slice, Floats]]:
        """Yield the points of all rows in blocks, each with its rows."""
        for start in range(0, len(vectors), _ROWS):
            yield slice(start, start + _ROWS), self.points(vectors[start : start + _ROWS])

    def rank(self, rows: Vectors, columns: Vectors) -> Floats:
        """Return numbers that are smaller for words that are closer: squared distances of points."""
        row_points, column_points = self.points(rows), self.points(columns)
        squares = np.empty((len(rows), len(columns)))
        step = max(1, _BLOCK_CELLS // max(1, column_points.size))
        for start in range(0, len(rows), step):
            block = row_points[start : start + step, None, :]
            squares[start : start + step] = squared_distances(block, column_points[None, :, :])
        return squares

    def matrix(self, rows: Vectors, columns: Vectors) -> Floats:
        """Return the measure between every row (input) and every column (output), in float64."""
        return self.from_squares(self.rank(rows, columns))


class Cosine(Geometric):
    """Cosine similarity, for vectors other than zero, which has no direction."""

    name = "cosine"
    larger_is_closer = True

    def points(self, vectors: Vectors) -> Floats:
        """Return the vectors scaled to length 1."""
        rows = np.asarray(vectors, dtype=np.float64)
        lengths: Floats = np.sqrt(np.square(rows).sum(axis=-1, keepdims=True))
        return rows / lengths

    def from_squares(self, squares: Floats) -> Floats:
        """Return the cosine: exactly 1 for equal rows, unlike a dot product."""
        return 1.0 - squares / 2.0


@dataclass(frozen=True)
class UserSuppliedMeasure:
    """A user's function (rows, columns) -> matrix, which need not be a metric or symmetric.

    Raise MappingError if the function fails or returns anything but a matrix of finite real numbers.
    """

    function: Compare
    larger_is_closer: bool

    @property
    def name(self) -> str:
        name = str(getattr(self.function, "__name__", type(self.function).__name__))
        return name if name.isidentifier() and name not in MEASURES else "custom"

    def matrix(self, rows: Vectors, columns: Vectors) -> Floats:
        """Return what the function returns for every row (input) and every column (output), in float64."""
        views = [np.asarray(part, dtype=np.float64).view() for part in (rows, columns)]
        for view in views:
            view.flags.writeable = False  # the function must not change the vectors
        try:
            result = np.asarray(self.function(*views))
        except ValueError as error:
            raise MappingError(f"similarity {self.name}: {error}") from error
        wrong, shape = None, (len(rows), len(columns))
        if result.shape != shape:
            wrong = f"a matrix of shape {shape}, found shape {result.shape}"
        elif result.dtype.kind not in "biuf":
            wrong = f"real numbers, found {_KINDS.get(result.dtype.kind, 'values of another type')}"
        elif not np.isfinite(result).all():
            wrong = "finite numbers, found NaN or infinity"
        if wrong:
            raise MappingError(f"similarity {self.name}: expected {wrong}")
        return result.astype(np.float64)

    def rank(self, rows: Vectors, columns: Vectors) -> Floats:
        """Return numbers that are smaller for words that are closer."""
        closeness = self.matrix(rows, columns)
        return -closeness if self.larger_is_closer else closeness


Similarity = Geometric | UserSuppliedMeasure
MEASURES: dict[str, Geometric] = {"euclidean": Geometric(), "cosine": Cosine()}


def choose_similarity(measure: str | Compare, larger_is_closer: bool | None = None) -> Similarity:
    """Return the measure of that name, or a user's function, which needs `larger_is_closer`. SettingError if wrong."""
    if callable(measure):
        if not isinstance(larger_is_closer, bool):
            raise SettingError("a similarity function needs larger_is_closer=True or larger_is_closer=False")
        return UserSuppliedMeasure(measure, larger_is_closer)
    if not isinstance(measure, str) or measure not in MEASURES:
        raise SettingError(f"measure must be one of {', '.join(MEASURES)} or a function; found {measure!r}")
    if larger_is_closer is not None:
        raise SettingError(f"larger_is_closer applies to functions only; omit it for measure {measure!r}")
    return MEASURES[measure]


def squared_distances(left: Floats, right: Floats) -> Floats:
    """Return squared distances along the last axis, broadcast over the others."""
    squares: Floats = np.square(left - right).sum(axis=-1)
    return squares


def score_groups(
    vectors: Vectors, groups: Iterator[Places], similarity: Similarity, normalization: str = "group"
) -> Iterator[Scores]:
    """Yield for each group a square matrix of scores, with one row per input and one column per output."""
    for group in groups:
        rows = vectors[group]
        yield scale_scores(similarity.matrix(rows, rows), similarity.larger_is_closer, normalization)


def scale_scores(closeness: Floats, larger_is_closer: bool, normalization: str = "group") -> Scores:
    """Return the scores u = d' for similarities and u = -d' for distances, where d' = (d - min) / (max - min).

    Minimum and maximum are those of the whole group ("group", as in the paper) or of the row of each input word
    ("word", as in the published code). Either way, two scores of one output differ by at most 1. If all values are
    equal, the scores are 0. Raise MappingError if the range is not finite.

    The distances (0, 5) and (5, 0) give (0, -1) and (-1, 0), as steps of 2**-20: (0, -2**20) and (-2**20, 0).
    """
    axis = None if normalization == "group" else 1
    least = closeness.min(axis=axis, keepdims=True)
    with np.errstate(over="ignore"):
        spread = closeness.max(axis=axis, keepdims=True) - least
    if not np.isfinite(spread).all():
        raise MappingError(
            "expected similarities with a finite range within each group, found some that are too far apart"
        )
    scaled = (closeness - least) / np.where(spread > 0, spread, 1.0)
    steps: Scores = np.rint(scaled * STEPS).astype(np.int32)
    return steps if larger_is_closer else -steps
