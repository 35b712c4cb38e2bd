"""Spark functions on Arrow columns, whose errors quote no data."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import pyarrow as pa
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]

from custext_sql import CusTextError, SettingError


def make_arrow_function(function: Callable[..., pa.Array], result: str) -> Any:
    """Return a Spark function that calls `function` on Arrow columns. result: its return type, as written in SQL."""
    return arrow_udf(_guard(function), result)


def _guard(function: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    """Return the function with errors that quote no data, because Spark writes them to the logs of its executors."""
    parameters = inspect.signature(function)

    @wraps(function)
    def guarded(*columns: pa.Array, **named: pa.Array) -> pa.Array:
        try:
            parameters.bind(*columns, **named)
        except TypeError:
            found = len(columns) + len(named)
            expected = f"{function.__name__}({', '.join(parameters.parameters)})"
            raise SettingError(f"the function is {expected}; found {found} arguments") from None
        try:
            return function(*columns, **named)
        except CusTextError as error:
            raise error.with_traceback(None) from None
        except Exception as error:
            raise CusTextError(f"{function.__name__} failed ({type(error).__name__})") from None

    return guarded
