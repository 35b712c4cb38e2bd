"""Measures of similarity: Euclidean distance, cosine similarity, or a user's function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Floats, Vectors
from custext_sql.errors import MappingError, SettingError

Compare = Callable[[Floats, Floats], npt.ArrayLike]

_BLOCK_CELLS = 1 << 18  # float64 cells per block of differences: 2 MB, about the cache of a core
_KINDS = {"c": "complex numbers", "U": "strings", "S": "bytes", "O": "Python objects"}  # by NumPy's letter


class Similarity(Protocol):
    """The interface of a measure, for grouping and scoring."""

    @property
    def name(self) -> str: ...

    @property
    def larger_is_closer(self) -> bool: ...

    def matrix(self, rows: Vectors, columns: Vectors) -> Floats:
        """Return the measure between every row (input) and every column (output), in float64."""
        ...


class Geometric:
    """A measure that ranks words like the Euclidean distance between points.

    Distances are compared as float64 sums of squared differences. Unlike matrix products, these are equal for equal
    rows, and NumPy adds them in a fixed order. So ties and groups are the same on every machine.
    """

    name: str
    larger_is_closer: bool

    def points(self, vectors: Vectors) -> Floats:
        """Return the points, in float64, whose distances rank the words."""
        raise AssertionError("each geometric measure defines its points")

    def from_squares(self, squares: Floats) -> Floats:
        """Return the measure for squared distances of points."""
        raise AssertionError("each geometric measure defines its scale")

    def matrix(self, rows: Vectors, columns: Vectors) -> Floats:
        """Return the measure between every row (input) and every column (output), in float64."""
        row_points, column_points = self.points(rows), self.points(columns)
        squares = np.empty((len(rows), len(columns)))
        step = max(1, _BLOCK_CELLS // max(1, column_points.size))
        for start in range(0, len(rows), step):
            block = row_points[start : start + step, None, :]
            squares[start : start + step] = squared_distances(block, column_points[None, :, :])
        return self.from_squares(squares)


class Euclidean(Geometric):
    """Euclidean distance."""

    name = "euclidean"
    larger_is_closer = False

    def points(self, vectors: Vectors) -> Floats:
        return np.asarray(vectors, dtype=np.float64)

    def from_squares(self, squares: Floats) -> Floats:
        return np.sqrt(squares)


class Cosine(Geometric):
    """Cosine similarity. Zero vectors have no direction, so callers check `zero_rows` first."""

    name = "cosine"
    larger_is_closer = True

    def points(self, vectors: Vectors) -> Floats:
        rows = np.asarray(vectors, dtype=np.float64)
        lengths: Floats = np.sqrt(np.square(rows).sum(axis=-1, keepdims=True))
        return rows / lengths

    def from_squares(self, squares: Floats) -> Floats:
        return 1.0 - squares / 2.0  # exactly 1 for equal rows, unlike a dot product


@dataclass(frozen=True)
class UserSuppliedMeasure:
    """A user's function (rows, columns) -> matrix. It need not be a metric or symmetric.

    `matrix` raises MappingError if the function fails or returns anything but a matrix of finite real numbers.
    """

    function: Compare
    larger_is_closer: bool

    @property
    def name(self) -> str:
        name = str(getattr(self.function, "__name__", type(self.function).__name__))
        return name if name.isidentifier() and name not in MEASURES else "custom"

    def matrix(self, rows: Vectors, columns: Vectors) -> Floats:
        try:
            result = np.asarray(self.function(_protected(rows), _protected(columns)))
        except ValueError as error:
            raise MappingError(f"similarity {self.name}: {error}") from error
        expected = (len(rows), len(columns))
        if result.shape != expected:
            raise MappingError(
                f"similarity {self.name}: expected a matrix of shape {expected}, found shape {result.shape}"
            )
        if result.dtype.kind not in "biuf":
            found = _KINDS.get(result.dtype.kind, "values of another type")
            raise MappingError(f"similarity {self.name}: expected real numbers, found {found}")
        values = result.astype(np.float64)
        if not np.isfinite(values).all():
            raise MappingError(f"similarity {self.name}: expected finite numbers, found NaN or infinity")
        return values


MEASURES: dict[str, Geometric] = {"euclidean": Euclidean(), "cosine": Cosine()}


def choose_similarity(measure: str | Compare, larger_is_closer: bool | None = None) -> Similarity:
    """Return the measure of that name, or wrap a user's function.

    larger_is_closer: required for a function, and not allowed for a name. Raise SettingError otherwise.
    """
    if callable(measure):
        if not isinstance(larger_is_closer, bool):
            raise SettingError("a similarity function needs larger_is_closer=True or larger_is_closer=False")
        return UserSuppliedMeasure(measure, larger_is_closer)
    if not isinstance(measure, str) or measure not in MEASURES:
        raise SettingError(f"measure must be one of {', '.join(MEASURES)} or a function; found {measure!r}")
    if larger_is_closer is not None:
        raise SettingError(f"larger_is_closer applies to functions only; omit it for measure {measure!r}")
    return MEASURES[measure]


def _protected(rows: Vectors) -> Floats:
    """Return the rows in float64, as a view that a function cannot write to."""
    view = np.asarray(rows, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def squared_distances(left: Floats, right: Floats) -> Floats:
    """Return squared distances along the last axis, broadcast over the others."""
    squares: Floats = np.square(left - right).sum(axis=-1)
    return squares


def zero_rows(vectors: Vectors) -> npt.NDArray[np.intp]:
    """Return the indices of the rows that are all zero."""
    return np.flatnonzero(~vectors.any(axis=1))
