"""Reads columns of eps and plus that come as Arrow data, such as those of a query."""

from typing import Any

import numpy as np
import pyarrow as pa

from custext_sql.errors import SettingError, tell_arrow_type


def read_epsilons(values: Any) -> Any:
    """Return an Arrow column of eps as a NumPy array, a scalar as a number, and anything else as it is.

    A decimal number becomes the float closest to it, as in SQL; Arrow's own conversion of 0.3 gives another float.
    SettingError if one is NULL.
    """
    _check_nulls(values, "eps")
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        return values.as_py() if isinstance(values, pa.Scalar) else values
    if pa.types.is_decimal(values.type):
        return _read_decimals(values)
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_null(values.type)):
        raise SettingError(f"eps must be numbers; found a column of {tell_arrow_type(values.type)}")
    return _to_numpy(values.cast(pa.float64(), safe=False))


def _read_decimals(values: pa.Array | pa.ChunkedArray) -> Any:
    import pyarrow.compute as pc  # here, because it is slow to load

    if values.type.bit_width < 128:  # Arrow cannot find the distinct values of these types
        values = values.cast(pa.decimal128(38, values.type.scale))
    distinct = pc.unique(values)
    floats = np.array([float(number) for number in distinct.to_pylist()], dtype=np.float64)
    return floats[_to_numpy(pc.index_in(values, distinct))]


def read_flags(values: Any) -> Any:
    """Return an Arrow column of plus as a NumPy array, a scalar as a bool, and anything else as it is.

    SettingError if one is NULL.
    """
    _check_nulls(values, "plus")
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        return values.as_py() if isinstance(values, pa.Scalar) else values
    if not (pa.types.is_boolean(values.type) or pa.types.is_null(values.type)):
        raise SettingError(f"plus must be true or false; found a column of {tell_arrow_type(values.type)}")
    return _to_numpy(values.cast(pa.bool_()))


def _check_nulls(values: Any, name: str) -> None:
    if isinstance(values, pa.Scalar):
        has_nulls = not values.is_valid
    else:
        has_nulls = isinstance(values, pa.Array | pa.ChunkedArray) and values.null_count > 0
    if has_nulls:
        raise SettingError(f"{name} must not be NULL: the text of its row would be lost")


def _to_numpy(values: pa.Array | pa.ChunkedArray) -> Any:
    return np.asarray(values)
