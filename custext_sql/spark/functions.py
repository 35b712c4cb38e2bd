"""The SQL functions of a Spark session, and how its workers get the sanitizer: as one file, without the key."""

import inspect
import os
import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import SparkFiles
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]

import custext_sql
from custext_sql import CusTextError, Policy, Sanitizer
from custext_sql.errors import KeyFileError, SettingError
from custext_sql.store.key_files import read_key_file

_OPEN = 4  # sanitizers that a worker keeps open
_VERSION = str(getattr(custext_sql, "__version__", "of unknown version"))


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
    expected = f"{function.__name__}({', '.join(parameters.parameters)})"

    @wraps(function)
    def guarded(*columns: pa.Array, **named: pa.Array) -> pa.Array:
        try:
            parameters.bind(*columns, **named)
        except TypeError:
            found = len(columns) + len(named)
            raise SettingError(f"the function is {expected}; found {found} arguments") from None
        try:
            return function(*columns, **named)
        except CusTextError as error:
            raise error.with_traceback(None) from None
        except Exception as error:
            raise CusTextError(f"{function.__name__} failed ({type(error).__name__})") from None

    return guarded


@dataclass(frozen=True)
class Shipped:
    """What a task needs to find a sanitizer. It becomes part of plans, so it holds nothing secret.

    file: among the files of the session. version: of custext-sql, so that all workers replace words alike. key_file:
    where every worker finds the key, if there is one. key_name: the name of that key, as in the ledger.
    """

    file: str
    sha256: str
    version: str
    key_file: str | None = None
    key_name: str | None = None

    def without_key(self) -> "Shipped":
        """Return the same sanitizer with fresh draws."""
        return replace(self, key_file=None, key_name=None)


def ship(spark: Any, sanitizer: Sanitizer) -> Shipped:
    """Send a sanitizer, without its key, to all workers of a session; SettingError if this is not a Spark session."""
    if not hasattr(spark, "addArtifact") or not hasattr(spark, "udf"):
        raise SettingError(f"expected a Spark session of PySpark 4.1 or later; found {type(spark).__name__}")
    folder = Path(_keep_folder().name)
    unnamed = folder / secrets.token_hex(8)
    sha256 = sanitizer.save(unnamed)
    file = f"custext-{sha256}"  # a session's files cannot be replaced, so each content gets its own name
    unnamed.replace(folder / file)
    sent: set[str] = vars(spark).setdefault("_custext_files", set())
    if file not in sent:
        spark.addArtifact(str(folder / file), file=True)
        sent.add(file)
    key = sanitizer.key
    shipped = Shipped(file, sha256, _VERSION)
    return shipped if key is None else replace(shipped, key_file=str(key.path), key_name=key.key.name)


@lru_cache(_OPEN)
def open_shipped(shipped: Shipped) -> Sanitizer:
    """Return the sanitizer, in a worker, with its key if it has one; each worker reads and checks the files once."""
    if shipped.version != _VERSION:
        raise SettingError(
            f"this worker has custext-sql {_VERSION}, but the driver has {shipped.version}; install the same one"
        )
    if shipped.key_file is None:
        return Sanitizer.open(SparkFiles.get(shipped.file), sha256=shipped.sha256)
    key = read_key_file(shipped.key_file)
    if key.key.name != shipped.key_name:
        raise KeyFileError(
            f"{shipped.key_file} has another key on this worker; expected key {shipped.key_name}, that of the driver"
        )
    return open_shipped(shipped.without_key()).with_key(key)


@cache
def _keep_folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder that lasts as long as this process, because workers may fetch a file at any time."""
    return tempfile.TemporaryDirectory(prefix="custext-", ignore_cleanup_errors=True)
