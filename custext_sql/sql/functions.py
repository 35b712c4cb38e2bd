"""The functions inside DuckDB: custext_sanitize, custext_sanitize_keyed, custext_epsilon.

A function belongs to a database instance, not to a connection: every connection of the instance sees it, and it
outlives the connection it was created on. So all functions of an instance share one holder, and `register` updates it.
"""

import itertools
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any
from weakref import WeakValueDictionary

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from custext_sql.errors import CusTextError, DatabaseError, KeyFileError, SettingError
from custext_sql.ledger.dataset import Dataset
from custext_sql.ledger.places import LedgerPlace
from custext_sql.ledger.release import Release, check_running
from custext_sql.sanitizer.policy import Policy
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sql.query_errors import own_messages
from custext_sql.store.database import Database, attach, locate
from custext_sql.store.duckdb_files import NO_ASYNC_WRITES, note_attached
from custext_sql.store.outputs import process_folder

_FINDER = "custext_registration"  # a function that returns the number of its instance


@dataclass(frozen=True)
class _Served:
    """What the functions of an instance currently use."""

    fresh: Sanitizer
    keyed: Sanitizer | None
    release: Release[Sanitizer] | None = None


class _Holder:
    """The functions of one database instance."""

    def __init__(self, served: _Served) -> None:
        self.served = served
        self.number = next(_numbers)

    def sanitize(self, text: pa.ChunkedArray, eps: pa.ChunkedArray, plus: pa.ChunkedArray) -> pa.Array:
        served = self.served  # read once, because `register` may replace it at any time
        return _sanitize(served.fresh, served.release, text, eps, plus, None)

    def sanitize_keyed(self, text: pa.ChunkedArray, record: pa.ChunkedArray) -> pa.Array:
        served = self.served
        keyed = served.keyed
        if keyed is None:
            raise KeyFileError(
                "custext_sanitize_keyed needs a key: --key-file PATH (in Python: register(connection, key_file=PATH))"
            )
        settings = keyed.key.settings if keyed.key else None
        assert settings is not None
        return _sanitize(keyed, served.release, text, settings.eps, settings.plus, record)

    def spend(self, text: pa.ChunkedArray, eps: pa.ChunkedArray, plus: pa.ChunkedArray) -> pa.Array:
        return self.served.fresh.spend_arrow(text, eps, plus)

    def create_functions(self, connection: duckdb.DuckDBPyConnection) -> None:
        settings = ["VARCHAR", "DOUBLE", "BOOLEAN"]
        self.functions = [  # kept: DuckDB does not keep a function alive once the connection is closed
            create_function(connection, "custext_sanitize", self.sanitize, settings, "VARCHAR"),
            create_function(
                connection, "custext_sanitize_keyed", self.sanitize_keyed, ["VARCHAR", "VARCHAR"], "VARCHAR"
            ),
            create_function(connection, "custext_epsilon", self.spend, settings, "DOUBLE"),
        ]
        self.find = lambda: self.number
        connection.create_function(_FINDER, self.find, [], "BIGINT", side_effects=True)


def create_function(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    function: Callable[..., pa.Array],
    parameters: list[str],
    result: str,
) -> Callable[..., pa.Array]:
    """Create a function over Arrow columns, and return what to keep alive while it may be called."""

    @wraps(function)
    def kept(*columns: Any) -> Any:
        try:
            return function(*columns)
        except CusTextError as error:
            own_messages.append(str(error))  # to recognize it when DuckDB passes it on as text
            raise

    connection.create_function(
        name,
        kept,
        parameters,  # type: ignore[arg-type]
        result,
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
        side_effects=True,  # without it, DuckDB merges equal calls, and rows would share a draw
    )
    return kept


def _sanitize(
    sanitizer: Sanitizer, release: Release[Sanitizer] | None, text: pa.ChunkedArray, eps: Any, plus: Any, records: Any
) -> pa.Array:
    if release is None or not len(text):
        return sanitizer.sanitize_arrow(text, eps, plus, records=records)
    with release.drawing() as tally:
        result = sanitizer.sanitize_arrow(text, eps, plus, records=records, tally=tally)
        release.note_call(keyed=sanitizer.key is not None, eps=eps, plus=plus)
    return result


# Nothing shows when an instance is gone, so its few small functions stay, even if this module is loaded again.
_holders: dict[int, _Holder] = globals().get("_holders", {})
_numbers = globals().get("_numbers", itertools.count(1))
_sanitizers: WeakValueDictionary[object, Sanitizer] = WeakValueDictionary()  # equal ones are shared
_lock = threading.Lock()


def connect(
    database: Database = None,
    *,
    mapping: str | None = None,
    policy: str | Policy | None = None,
    calibration: str | None = None,
    key_file: str | os.PathLike[str] | None = None,
    dataset: str | Dataset | None = None,
    ledger: LedgerPlace = None,
    config: dict[str, Any] | None = None,
) -> duckdb.DuckDBPyConnection:
    """Return an in-memory DuckDB connection with the custext functions and the custext database attached as `custext`.

    The functions are `custext_sanitize(text, eps, plus)`, `custext_sanitize_keyed(text, record)` and
    `custext_epsilon(text, eps, plus)`. mapping, policy, calibration and key_file are those of `Sanitizer.load`. config:
    DuckDB's own settings.

    The database is attached for reading only, so that other processes can read it too. Its tables and macros need no
    prefix; tables created without a prefix are in memory. Close the connection before writing to the custext database.

    dataset: the name of the data in the ledger. What the functions do is then entered there, see `register`.

    Raise a CusTextError if the database, the mapping, the key or a setting cannot be used.
    """
    sanitizer = Sanitizer.load(
        database, mapping=mapping, policy=policy, calibration=calibration, key_file=key_file, ledger=ledger
    )
    connection = duckdb.connect(config={**NO_ASYNC_WRITES, "temp_directory": process_folder(), **(config or {})})
    try:
        release = _open_release(sanitizer, dataset)
        attach(connection, database)  # last: nothing else is read from the file then
        register_sanitizer(connection, sanitizer, release)
    except BaseException:
        connection.close()
        raise
    return connection


def register(
    connection: duckdb.DuckDBPyConnection,
    database: Database = None,
    *,
    mapping: str | None = None,
    policy: str | Policy | None = None,
    calibration: str | None = None,
    key_file: str | os.PathLike[str] | None = None,
    dataset: str | Dataset | None = None,
    ledger: LedgerPlace = None,
) -> None:
    """Make the functions of `connect` available on every connection of this connection's database instance.

    database: the custext database; mapping, policy, calibration and key_file are those of `Sanitizer.load`. Calling
    `register` again on any connection of the instance replaces these settings. The instance's own database does not
    change, so it may be open for reading only. A transaction that has already read something does not see the new
    functions.

    dataset: the name of the data in the ledger. Everything that the functions do, until `register` is called again, is
    then one release. It is pending before the first text leaves, and blocks budgets until it is settled: when the
    process ends, or when this process reads the ledger. The functions see calls, not rows, so its total says "at
    least". ledger: as in `Sanitizer.load`.

    Raise a CusTextError if the database, the mapping, the key or a setting cannot be used.
    """
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        raise SettingError(
            "register needs an open DuckDB connection: register(duckdb.connect(), database); found "
            f"{type(connection).__name__}"
        )
    with connection.cursor() as own:
        note_attached(own, connection, locate(database))
    sanitizer = Sanitizer.load(
        database, mapping=mapping, policy=policy, calibration=calibration, key_file=key_file, ledger=ledger
    )
    register_sanitizer(connection, sanitizer, _open_release(sanitizer, dataset))


def _open_release(sanitizer: Sanitizer, dataset: str | Dataset | None) -> Release[Sanitizer] | None:
    """Return a release for the calls; raise an error if the ledger does not allow it."""
    if dataset is None:
        return None
    release = Release(sanitizer, check_running(dataset), at_least=True, runs=True)
    release.check()
    return release


def register_sanitizer(
    connection: duckdb.DuckDBPyConnection, sanitizer: Sanitizer, release: Release[Sanitizer] | None = None
) -> None:
    """Make the functions draw with this sanitizer, for this release if any; only the keyed one uses its key."""
    with _lock, connection.cursor() as own:  # not in the caller's transaction: a rollback could undo half of it
        fresh = sanitizer.with_fresh_draws()
        fresh = _sanitizers.setdefault(fresh.identity, fresh)
        served = _Served(fresh, None if sanitizer.key is None else fresh.with_key(sanitizer.key), release)
        _refuse_macros(own)
        try:
            [(number,)] = own.execute(f"SELECT {_FINDER}()").fetchall()
        except duckdb.CatalogException:
            holder = _Holder(served)
            _holders[holder.number] = holder
            holder.create_functions(own)
        else:
            _holders[number].served = served


def _refuse_macros(connection: duckdb.DuckDBPyConnection) -> None:
    """Raise a DatabaseError for a macro that would be called instead of one of our functions."""
    found = connection.execute(
        "SELECT database_name, function_name FROM duckdb_functions() WHERE function_type IN ('macro', 'table_macro') "
        f"AND lower(function_name) IN ('custext_sanitize', 'custext_sanitize_keyed', 'custext_epsilon', '{_FINDER}')"
    ).fetchall()
    if found:
        raise DatabaseError(
            f"macro {found[0][1]} in database {found[0][0]} would be called instead of the function of that name; "
            "drop or rename the macro"
        )
