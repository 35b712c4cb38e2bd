"""The SQL functions of a Spark session: custext_sanitize, custext_sanitize_keyed, custext_epsilon."""

import inspect
import os
from collections.abc import Callable
from functools import wraps
from typing import Any

import pyarrow as pa
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]

from custext_sql import CusTextError, Policy, Sanitizer
from custext_sql.errors import KeyFileError, SettingError
from custext_sql.spark.shipping import open_shipped, ship


def register(
    spark: Any,
    database: str | os.PathLike[str] | None = None,
    *,
    mapping: str | None = None,
    policy: str | Policy | None = None,
    calibration: str | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> None:
    """Make the SQL functions of `custext_sql.register` available in a Spark session, classic or Connect.

    The parameters are those of `Sanitizer.load`. Only this process reads the database: workers get the mapping, the
    stopwords and the settings as one file, whose digest they check. Workers need custext-sql in the same version.

    key_file: a path at which this process and every worker find the key, readable by its owner only. The key itself is
    never sent.

    Spark may run a task twice, and `custext_sanitize` then draws twice, except at eps = 0. The other functions always
    return the same. The functions enter nothing in the ledger; `sanitize` does.

    Raise a CusTextError if the database, the mapping, the key or a setting cannot be used.
    """
    sanitizer = Sanitizer.load(database, mapping=mapping, policy=policy, calibration=calibration, key_file=key_file)
    keyed = ship(spark, sanitizer)
    fresh = keyed.without_key()

    def custext_sanitize(text: pa.Array, eps: pa.Array, plus: pa.Array) -> pa.Array:
        return open_shipped(fresh).sanitize_arrow(text, eps, plus)

    def custext_sanitize_keyed(text: pa.Array, record: pa.Array) -> pa.Array:
        if keyed.key_file is None:
            raise KeyFileError("custext_sanitize_keyed needs a key: register(spark, key_file=PATH)")
        return open_shipped(keyed).sanitize_arrow(text, records=record)

    def custext_epsilon(text: pa.Array, eps: pa.Array, plus: pa.Array) -> pa.Array:
        return open_shipped(fresh).spend_arrow(text, eps, plus)

    drawn_anew = make_arrow_function(custext_sanitize, "string").asNondeterministic()  # equal calls share no draw
    spark.udf.register("custext_sanitize", drawn_anew)
    spark.udf.register("custext_sanitize_keyed", make_arrow_function(custext_sanitize_keyed, "string"))
    spark.udf.register("custext_epsilon", make_arrow_function(custext_epsilon, "double"))


def make_arrow_function(function: Callable[..., pa.Array], result: str) -> Any:
    """Return a Spark function that calls `function` on Arrow columns. result: its return type, as written in SQL."""
    return arrow_udf(quote_no_data(function), result)


def quote_no_data(function: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
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
