"""The settings eps and plus of a batch: one value for all rows, or one per row, also as Arrow data of a query."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from custext_sql.arrays import Flags, Floats, Places
from custext_sql.errors import SettingError, tell_arrow_type
from custext_sql.mechanism.weights import check_epsilon

Epsilon = float | Sequence[float] | Floats
Plus = bool | Sequence[bool] | Flags


@dataclass(frozen=True)
class RowSettings:
    """The privacy budget per word, and whether stopwords are kept; for all rows or for each."""

    epsilon: float | Floats
    plus: bool | Flags

    def at(self, rows: slice | Places) -> "RowSettings":
        """Return the settings of some rows."""
        return RowSettings(
            self.epsilon[rows] if isinstance(self.epsilon, np.ndarray) else self.epsilon,
            self.plus[rows] if isinstance(self.plus, np.ndarray) else self.plus,
        )


def check_settings(epsilon: Epsilon, plus: Plus, rows: int) -> RowSettings:
    """Return the settings of `rows` rows. Raise SettingError if a value is invalid or their number is wrong."""
    return RowSettings(
        _check_epsilons(_read_epsilons(_refuse_nulls(epsilon, "eps")), rows),
        _check_plus(_read_flags(_refuse_nulls(plus, "plus")), rows),
    )


def check_count(what: str, found: int, rows: int, *, dimensions: int = 1) -> None:
    """Raise SettingError unless there is one value per row."""
    if dimensions != 1:
        raise SettingError(f"{what} must have one value per text; found an array of {dimensions} dimensions")
    if found != rows:
        raise SettingError(f"{what} must have one value per text, {rows:,} in all; found {found:,}")


def _check_epsilons(epsilon: Any, rows: int) -> float | Floats:
    if np.ndim(epsilon) == 0:
        return check_epsilon(epsilon)
    try:
        values = np.asarray(epsilon)
        if values.dtype == np.bool_:
            raise TypeError
        values = values.astype(np.float64)
    except (TypeError, ValueError):
        raise SettingError("eps must be a number, or one number per text; found something else") from None
    check_count("eps", len(values), rows, dimensions=values.ndim)
    if len(values) and (values == values[0]).all():
        return check_epsilon(float(values[0]))
    for value in np.unique(values).tolist():
        check_epsilon(value)
    return values


def _check_plus(plus: Any, rows: int) -> bool | Flags:
    values = np.asarray(plus)
    if values.dtype != np.bool_:
        wrong = (type(value).__name__ for value in values.ravel().tolist() if not isinstance(value, bool))
        raise SettingError(f"plus must be a bool, or one bool per text; found {next(wrong, 'an empty list')}")
    if values.ndim == 0:
        return bool(values)
    check_count("plus", len(values), rows, dimensions=values.ndim)
    return bool(values[0]) if len(values) and (values == values[0]).all() else values


def _read_epsilons(values: Any) -> Any:
    """Return an Arrow column of eps as a NumPy array, and anything else as it is.

    A decimal number becomes the float closest to it, as in SQL; Arrow's own conversion of 0.3 gives another float.
    """
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if pa.types.is_decimal(values.type):
        import pyarrow.compute as pc  # here, because it is slow to load

        if values.type.bit_width < 128:  # Arrow cannot find the distinct values of these types
            values = values.cast(pa.decimal128(38, values.type.scale))
        distinct = pc.unique(values)
        floats = np.array([float(number) for number in distinct.to_pylist()], dtype=np.float64)
        return floats[np.asarray(pc.index_in(values, distinct))]
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_null(values.type)):
        raise SettingError(f"eps must be numbers; found a column of {tell_arrow_type(values.type)}")
    return np.asarray(values.cast(pa.float64(), safe=False))


def _read_flags(values: Any) -> Any:
    """Return an Arrow column of plus as a NumPy array, and anything else as it is."""
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if not (pa.types.is_boolean(values.type) or pa.types.is_null(values.type)):
        raise SettingError(f"plus must be true or false; found a column of {tell_arrow_type(values.type)}")
    return np.asarray(values.cast(pa.bool_()))


def _refuse_nulls(values: Any, name: str) -> Any:
    """Return a value or a column of values, an Arrow scalar as a Python value; SettingError if one is NULL."""
    is_scalar = isinstance(values, pa.Scalar)
    if (is_scalar and not values.is_valid) or (isinstance(values, pa.Array | pa.ChunkedArray) and values.null_count):
        raise SettingError(f"{name} must not be NULL: the text of its row would be lost")
    return values.as_py() if is_scalar else values
