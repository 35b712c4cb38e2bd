"""The functions inside DuckDB: custext_sanitize, custext_sanitize_keyed, custext_epsilon.

A function belongs to a database instance, not to a connection: every connection of the instance sees it, and it
outlives the connection it was created on. So all functions of an instance share one holder, and `register` updates it.
"""

import itertools
import os
import threading
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from custext_sql.errors import DatabaseError, KeyFileError, SettingError
from custext_sql.replacing.policy import Policy
from custext_sql.replacing.receipt import Receipt
from custext_sql.sanitizing.sanitizer import Sanitizer
from custext_sql.sql.query_errors import remembering
from custext_sql.sql.usage import Usage
from custext_sql.store.database import Database, attach, locate
from custext_sql.store.files.duckdb_files import note_attached
from custext_sql.store.files.private_folders import process_folder
from custext_sql.store.files.shared_instances import NO_ASYNC_WRITES
from custext_sql.store.ledger.dataset import Dataset
from custext_sql.store.ledger.entry import LedgerEntry
from custext_sql.store.ledger.running_entry import RunningEntry, check_running

NAMES = ("custext_sanitize", "custext_sanitize_keyed", "custext_epsilon")
_FINDER = "custext_registration"  # a function that returns the number of its instance


@dataclass(frozen=True)
class _Served:
    """What the functions of an instance currently use."""

    fresh: Sanitizer
    keyed: Sanitizer | None
    usage: Usage | None = None


class _Holder:
    """The functions of one database instance."""

    def __init__(self, served: _Served) -> None:
        self.served = served
        self.number = next(_numbers)

    def sanitize(self, text: pa.ChunkedArray, eps: pa.ChunkedArray, plus: pa.ChunkedArray) -> pa.Array:
        served = self.served  # read once, because `register` may replace it at any time
        return _sanitize(served.fresh, served.usage, text, eps, plus, None)

    def sanitize_keyed(self, text: pa.ChunkedArray, record: pa.ChunkedArray) -> pa.Array:
        served = self.served
        keyed = served.keyed
        if keyed is None:
            raise KeyFileError(
                "custext_sanitize_keyed needs a key: --key-file PATH (in Python: register(connection, key_file=PATH))"
            )
        settings = keyed.key.settings if keyed.key else None
        assert settings is not None
        return _sanitize(keyed, served.usage, text, settings.eps, settings.plus, record)

    def spend(self, text: pa.ChunkedArray, eps: pa.ChunkedArray, plus: pa.ChunkedArray) -> pa.Array:
        return self.served.fresh.spend_arrow(text, eps, plus)

    def create_functions(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.functions = {  # kept: DuckDB does not keep a function alive once the connection is closed
            "custext_sanitize": (remembering(self.sanitize), ["VARCHAR", "DOUBLE", "BOOLEAN"], "VARCHAR"),
            "custext_sanitize_keyed": (remembering(self.sanitize_keyed), ["VARCHAR", "VARCHAR"], "VARCHAR"),
            "custext_epsilon": (remembering(self.spend), ["VARCHAR", "DOUBLE", "BOOLEAN"], "DOUBLE"),
        }
        for name, (function, parameters, result) in self.functions.items():
            connection.create_function(
                name,
                function,
                parameters,  # type: ignore[arg-type]
                result,
                type=PythonUDFType.ARROW,
                null_handling=FunctionNullHandling.SPECIAL,
                side_effects=True,  # without it, DuckDB merges equal calls, and rows would share a draw
            )
        self.find = lambda: self.number
        connection.create_function(_FINDER, self.find, [], "BIGINT", side_effects=True)


def _sanitize(
    sanitizer: Sanitizer, usage: Usage | None, text: pa.ChunkedArray, eps: Any, plus: Any, records: Any
) -> pa.Array:
    if usage is None or not len(text):
        return sanitizer.sanitize_arrow(text, eps, plus, records=records)
    with usage.guard():
        result = sanitizer.sanitize_arrow(text, eps, plus, records=records, tally=usage.tally)
        usage.note(sanitizer, eps, plus)
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
    config: dict[str, Any] | None = None,
) -> duckdb.DuckDBPyConnection:
    """Return an in-memory DuckDB connection with the custext functions and the custext database attached as `custext`.

    The functions are `custext_sanitize(text, eps, plus)`, `custext_sanitize_keyed(text, record)` and
    `custext_epsilon(text, eps, plus)`. mapping, policy, calibration and key_file are those of `Sanitizer.load`. config:
    DuckDB's own settings.

    The database is attached for reading only, so that other processes can read it too. Its tables and macros need no
    prefix; tables created without a prefix are in memory. Close the connection before writing to the custext database.

    dataset: the name of the data in the ledger. What the functions do is then entered there, see `register`; a copy of
    the tables in memory is attached instead, so that the ledger can be written.

    Raise a CusTextError if the database, the mapping, the key or a setting cannot be used.
    """
    sanitizer = Sanitizer.load(database, mapping=mapping, policy=policy, calibration=calibration, key_file=key_file)
    connection = duckdb.connect(config={**NO_ASYNC_WRITES, "temp_directory": process_folder(), **(config or {})})
    try:
        usage = None if dataset is None else _enter(sanitizer, database, dataset)
        attach(connection, database, copied=dataset is not None)  # last: nothing else is read from the file then
        register_sanitizer(connection, sanitizer, usage)
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
) -> None:
    """Make the functions of `connect` available on every connection of this connection's database instance.

    database: the custext database; mapping, policy, calibration and key_file are those of `Sanitizer.load`. Calling
    `register` again on any connection of the instance replaces these settings. The instance's own database does not
    change, so it may be open for reading only. A transaction that has already read something does not see the new
    functions.

    dataset: the name of the data in the ledger. Everything that the functions do, until `register` is called again, is
    then one release: it is pending before the first text leaves, and is brought up to date after a second without calls
    and when the process ends. The functions see calls, not rows, so the total of the release says "at least".

    Raise a CusTextError if the database, the mapping, the key or a setting cannot be used.
    """
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        raise SettingError(
            "register needs an open DuckDB connection: register(duckdb.connect(), database); found "
            f"{type(connection).__name__}"
        )
    with connection.cursor() as own:
        note_attached(own, connection, locate(database))
    sanitizer = Sanitizer.load(database, mapping=mapping, policy=policy, calibration=calibration, key_file=key_file)
    register_sanitizer(connection, sanitizer, None if dataset is None else _enter(sanitizer, database, dataset))


def _enter(sanitizer: Sanitizer, database: Database, dataset: str | Dataset) -> Usage:
    """Return a usage that enters calls in the ledger; raise an error if the ledger does not allow that."""
    known = check_running(dataset)
    usage = Usage()

    def open_entry() -> LedgerEntry:
        return LedgerEntry(database, known, sanitizer.terms, at_least=True, must_be_made=True)

    def count(entry: LedgerEntry) -> tuple[Receipt, str | None] | None:
        if not usage.was_called:
            return None
        return usage.describe(entry, sanitizer), usage.keyed_sum

    open_entry().check()
    usage.guard = RunningEntry(open_entry, count, usage.forget).drawing
    return usage


def register_sanitizer(connection: duckdb.DuckDBPyConnection, sanitizer: Sanitizer, usage: Usage | None = None) -> None:
    """Make the functions draw with this sanitizer and record it in `usage`; only the keyed one uses its key."""
    with _lock, connection.cursor() as own:  # not in the caller's transaction: a rollback could undo half of it
        fresh = _share(sanitizer.with_fresh_draws())
        served = _Served(fresh, None if sanitizer.key is None else fresh.with_key(sanitizer.key), usage)
        refuse_macros(own)
        holder = _find_holder(own)
        if holder is not None:
            holder.served = served
            return
        holder = _Holder(served)
        _holders[holder.number] = holder
        holder.create_functions(own)


def watch(connection: duckdb.DuckDBPyConnection, usage: Usage) -> None:
    """Record in `usage` what the functions of this connection's instance do from now on."""
    holder = _find_holder(connection)
    if holder is None:
        raise DatabaseError("the functions are not registered on this connection")
    holder.served = replace(holder.served, usage=usage)


def refuse_macros(connection: duckdb.DuckDBPyConnection) -> None:
    """Raise a DatabaseError for a macro that would be called instead of one of our functions."""
    names = ", ".join(f"'{name}'" for name in (*NAMES, _FINDER))
    found = connection.execute(
        "SELECT database_name, function_name FROM duckdb_functions() "
        f"WHERE function_type IN ('macro', 'table_macro') AND lower(function_name) IN ({names})"
    ).fetchall()
    if found:
        raise DatabaseError(
            f"macro {found[0][1]} in database {found[0][0]} would be called instead of the function of that name; "
            "drop or rename the macro"
        )


def _share(sanitizer: Sanitizer) -> Sanitizer:
    return _sanitizers.setdefault(sanitizer.identity, sanitizer)


def _find_holder(connection: duckdb.DuckDBPyConnection) -> _Holder | None:
    try:
        [(number,)] = connection.execute(f"SELECT {_FINDER}()").fetchall()
    except duckdb.CatalogException:
        return None
    return _holders[number]
