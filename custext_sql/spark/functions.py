"""The SQL functions of a Spark session: custext_sanitize, custext_sanitize_keyed, custext_epsilon."""

import os
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from custext_sql import KeyFileError, Policy, Sanitizer
from custext_sql.spark.arrow_functions import make_arrow_function
from custext_sql.spark.shipping import Shipped, open_shipped, ship


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
    sanitize = make_arrow_function(_make_sanitize(fresh), "string")
    spark.udf.register("custext_sanitize", sanitize.asNondeterministic())  # or else equal calls would share a draw
    spark.udf.register("custext_sanitize_keyed", make_arrow_function(_make_sanitize_keyed(keyed), "string"))
    spark.udf.register("custext_epsilon", make_arrow_function(_make_epsilon(fresh), "double"))


def _make_sanitize(shipped: Shipped) -> Callable[..., pa.Array]:
    def custext_sanitize(text: pa.Array, eps: pa.Array, plus: pa.Array) -> pa.Array:
        return open_shipped(shipped).sanitize_arrow(text, eps, plus)

    return custext_sanitize


def _make_sanitize_keyed(shipped: Shipped) -> Callable[..., pa.Array]:
    def custext_sanitize_keyed(text: pa.Array, record: pa.Array) -> pa.Array:
        if shipped.key_file is None:
            raise KeyFileError("custext_sanitize_keyed needs a key: register(spark, key_file=PATH)")
        return open_shipped(shipped).sanitize_arrow(text, records=record)

    return custext_sanitize_keyed


def _make_epsilon(shipped: Shipped) -> Callable[..., pa.Array]:
    def custext_epsilon(text: pa.Array, eps: pa.Array, plus: pa.Array) -> pa.Array:
        return open_shipped(shipped).spend_arrow(text, eps, plus)

    return custext_epsilon
