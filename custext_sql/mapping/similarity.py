"""How alike two words are: Euclidean distance, cosine similarity, or a user's own function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Floats, Vectors
from custext_sql.errors import MappingError, SettingError

Compare = Callable[[Floats, Floats], npt.ArrayLike]

_BLOCK_CELLS = 1 << 18  # float64 cells of one difference block: 2 MB, about a core's cache


class Similarity(Protocol):
    """What grouping and scoring need to know of a measure."""

    @property
    def name(self) -> str: ...

    @property
    def larger_is_closer(self) -> bool: ...

    def matrix(self, rows: Vectors, columns: Vectors) -> Floats:
        """The measure between every row (input) and every column (output), float64."""
        ...


class Geometric:
    """A measure that ranks words as the Euclidean distance between points does.

    Distances are compared as float64 sums of squared differences. Unlike matrix products these are equal for equal
    rows, and NumPy adds them in one fixed order, so ties and groups come out the same on every machine.
    """

    name: str
    larger_is_closer: bool

    def points(self, vectors: Vectors) -> Floats:
        """The points, float64, whose distances rank the words."""
        raise AssertionError("each geometric measure defines its points")

    def from_squares(self, squares: Floats) -> Floats:
        """The measure, given squared distances of points."""
        raise AssertionError("each geometric measure defines its scale")

    def matrix(self, rows: Vectors, columns: Vectors) -> Floats:
        row_points, column_points = self.points(rows), self.points(columns)
        squares = np.empty((len(rows), len(columns)))
        step = max(1, _BLOCK_CELLS // max(1, column_points.size))
        for start in range(0, len(rows), step):
            block = row_points[start : start + step, None, :]
            squares[start : start + step] = squared_distances(block, column_points[None, :, :])
        return self.from_squares(squares)


class Euclidean(Geometric):
    name = "euclidean"
    larger_is_closer = False

    def points(self, vectors: Vectors) -> Floats:
        return np.asarray(vectors, dtype=np.float64)

    def from_squares(self, squares: Floats) -> Floats:
        return np.sqrt(squares)


class Cosine(Geometric):
    """Cosine similarity. A zero vector has no direction: callers check `zero_rows` first."""

    name = "cosine"
    larger_is_closer = True

    def points(self, vectors: Vectors) -> Floats:
        rows = np.asarray(vectors, dtype=np.float64)
        lengths: Floats = np.sqrt(np.square(rows).sum(axis=-1, keepdims=True))
        return rows / lengths

    def from_squares(self, squares: Floats) -> Floats:
        return 1.0 - squares / 2.0  # exactly 1 for equal rows, which a dot product is not


@dataclass(frozen=True)
class UserSuppliedMeasure:
    """A function of the user's, (rows, rows) -> matrix; it need be neither a metric nor symmetric."""

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
        if result.shape != (len(rows), len(columns)):
            raise MappingError(
                f"similarity {self.name}: expected a matrix of {len(rows)} x {len(columns)}, found shape {result.shape}"
            )
        if result.dtype.kind not in "biuf":
            raise MappingError(f"similarity {self.name}: expected real numbers, found {result.dtype}")
        values = result.astype(np.float64)
        if not np.isfinite(values).all():
            raise MappingError(f"similarity {self.name}: expected finite numbers, found NaN or infinity")
        return values


MEASURES: dict[str, Geometric] = {"euclidean": Euclidean(), "cosine": Cosine()}


def choose_similarity(measure: str | Compare, larger_is_closer: bool | None = None) -> Similarity:
    """The measure of that name, or a user's function together with its direction."""
    if callable(measure):
        if not isinstance(larger_is_closer, bool):
            raise SettingError("a similarity function needs larger_is_closer=True or larger_is_closer=False")
        return UserSuppliedMeasure(measure, larger_is_closer)
    if not isinstance(measure, str) or measure not in MEASURES:
        raise SettingError(f"measure must be one of {', '.join(MEASURES)} or a function; found {measure!r}")
    if larger_is_closer is not None:
        raise SettingError(f"larger_is_closer is for a function; measure {measure!r} has its own direction")
    return MEASURES[measure]


def _protected(rows: Vectors) -> Floats:
    """The rows in float64, for a function that must not write into them."""
    view = np.asarray(rows, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def squared_distances(left: Floats, right: Floats) -> Floats:
    """Squared distances along the last axis, broadcast over the others."""
    squares: Floats = np.square(left - right).sum(axis=-1)
    return squares


def zero_rows(vectors: Vectors) -> npt.NDArray[np.intp]:
    """Indices of the rows that are zero throughout."""
    return np.flatnonzero(~vectors.any(axis=1))
