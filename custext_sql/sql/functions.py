"""The functions inside DuckDB: custext_sanitize, custext_sanitize_keyed, custext_epsilon.

A function belongs to a database instance, not to a connection: every connection of the instance sees it, and it
outlives the one it was made on. So all functions of an instance share one holder, which `register` finds and refills.
"""

import itertools
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

import duckdb
import numpy as np
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from custext_sql.errors import DatabaseError, KeyFileError, SettingError
from custext_sql.replacing.policy import Policy
from custext_sql.replacing.receipt import Receipt
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizer import Sanitizer
from custext_sql.sql.query_errors import remembering
from custext_sql.store.database import Database, attach, locate
from custext_sql.store.files.duckdb_files import note_attached
from custext_sql.store.files.private_folders import process_folder
from custext_sql.store.ledger.dataset import Dataset
from custext_sql.store.ledger.entry import LedgerEntry
from custext_sql.store.ledger.running_entry import RunningEntry, check_running
from custext_sql.text.columns import TextColumn

NAMES = ("custext_sanitize", "custext_sanitize_keyed", "custext_epsilon")
_FINDER = "custext_registration"  # a function that tells an instance's number


@dataclass(frozen=True)
class _Served:
    """What the functions of an instance use now."""

    fresh: Sanitizer
    keyed: Sanitizer | None
    usage: "Usage | None" = None


class Usage:
    """What the functions of an instance did, over all queries: counts, and with what settings they were called.

    guard: within what draws are made.
    """

    def __init__(self, guard: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self.guard = guard
        self.forget()

    def forget(self) -> None:
        """Start counting anew."""
        self.tally = Tally()
        self.epsilons: set[float] = set()
        self.plus: set[bool] = set()
        self._was_keyed = self._was_fresh = False

    def note(self, sanitizer: Sanitizer, eps: Any, plus: Any) -> None:
        """Note a call that was carried out."""
        self.epsilons.add(float(np.max(eps, initial=0.0)))
        self.plus.update(np.unique(plus).tolist())
        if sanitizer.key is None:
            self._was_fresh = True
        else:
            self._was_keyed = True

    def describe(self, entry: LedgerEntry, sanitizer: Sanitizer, *, at_least: bool) -> Receipt:
        """Say in an entry what the functions were called with, and return the receipt."""
        terms = sanitizer.terms if self.is_keyed else sanitizer.with_fresh_draws().terms
        plus = next(iter(self.plus)) if len(self.plus) == 1 else None
        largest = max(self.epsilons)
        entry.describe(draws=terms.draws, key_id=terms.key_id, eps=largest, plus=plus, at_least=at_least)
        return self.receipt(sanitizer)

    def receipt(self, sanitizer: Sanitizer) -> Receipt:
        """Return the receipt of what was drawn."""
        return self.tally.receipt(sanitizer.policy, sanitizer.guarantee({max(self.epsilons)}, self.plus))

    @property
    def was_called(self) -> bool:
        return self._was_fresh or self._was_keyed

    @property
    def is_keyed(self) -> bool:
        """Whether all draws came from the key."""
        return self._was_keyed and not self._was_fresh

    @property
    def keyed_sum(self) -> str | None:
        """What tells equal releases, if all draws came from the key."""
        return self.tally.keyed_sum if self.is_keyed else None


class _Holder:
    """The functions of one database instance."""

    def __init__(self, served: _Served) -> None:
        self.served = served
        self.number = next(_numbers)

    def sanitize(self, text: pa.ChunkedArray, eps: pa.ChunkedArray, plus: pa.ChunkedArray) -> pa.Array:
        served = self.served  # taken once, since `register` may swap it at any moment
        return _sanitize(served.fresh, served.usage, text, _values(eps, "eps"), _values(plus, "plus"), None)

    def sanitize_keyed(self, text: pa.ChunkedArray, record: pa.ChunkedArray) -> pa.Array:
        served = self.served
        keyed = served.keyed
        if keyed is None:
            raise KeyFileError(
                "custext_sanitize_keyed needs a key: --key-file PATH, or register(connection, key_file=PATH)"
            )
        if record.null_count:
            raise SettingError("record must not be NULL: it is what a text is known by")
        settings = keyed.key.settings if keyed.key else None
        assert settings is not None
        return _sanitize(keyed, served.usage, text, settings.eps, settings.plus, record)

    def spend(self, text: pa.ChunkedArray, eps: pa.ChunkedArray, plus: pa.ChunkedArray) -> pa.Array:
        column = TextColumn.from_arrow(text)
        spent = self.served.fresh.spend(column, _values(eps, "eps"), _values(plus, "plus"))
        return pa.array(spent, mask=column.missing)

    def create_functions(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.functions = {  # kept: DuckDB itself does not hold on to a function once the connection is closed
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
                side_effects=True,  # else DuckDB folds constants and merges calls, and rows would share a draw
            )
        self.find = lambda: self.number
        connection.create_function(_FINDER, self.find, [], "BIGINT", side_effects=True)


def _sanitize(
    sanitizer: Sanitizer, usage: Usage | None, text: pa.ChunkedArray, eps: Any, plus: Any, records: Any
) -> pa.Array:
    column = TextColumn.from_arrow(text)
    if usage is None or not len(column):
        return sanitizer.sanitize_column(column, eps, plus, records=records).to_arrow()
    with usage.guard():
        result = sanitizer.sanitize_column(column, eps, plus, records=records, tally=usage.tally)
        usage.note(sanitizer, eps, plus)
    return result.to_arrow()


# There is no telling when an instance is gone, so its few small functions stay, also if this module is loaded again.
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
    """Return an in-memory DuckDB connection with the custext database attached as `custext` and its functions:
    `custext_sanitize(text, eps, plus)`, `custext_sanitize_keyed(text, record)`, `custext_epsilon(text, eps, plus)`.

    The database is attached for reading only, so that other processes can read it too; its tables and macros are found
    without a prefix, and what is created without one lives in memory. Close the connection before the custext database
    is written to. config: DuckDB's own settings.

    dataset: what the ledger calls the data; what the functions do is then entered there, see `register`, and what is
    attached is a copy of the tables in memory, so that the ledger can be written.
    """
    sanitizer = Sanitizer.load(database, mapping=mapping, policy=policy, calibration=calibration, key_file=key_file)
    connection = duckdb.connect(config={"temp_directory": process_folder(), **(config or {})})
    try:
        usage = None if dataset is None else _enter(sanitizer, database, dataset)
        attach(connection, database, copied=dataset is not None)  # when nothing else has to be read from the file
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
    """Make the functions that `connect` names available on every connection of this connection's database instance.

    Calling it again on any connection of the instance replaces the settings, which are those of Sanitizer.load. Nothing
    in the instance's own database changes, so it may be open for reading only. A transaction that has begun to read
    does not see functions made after that.

    dataset: what the ledger calls the data. All that the functions do, until `register` is called again, is then one
    release: pending before the first text leaves, and brought up to date after a second without calls and when the
    process ends. The functions see calls, not rows, so its total says "at least".
    """
    with connection.cursor() as own:
        note_attached(own, connection, locate(database))
    sanitizer = Sanitizer.load(database, mapping=mapping, policy=policy, calibration=calibration, key_file=key_file)
    register_sanitizer(connection, sanitizer, None if dataset is None else _enter(sanitizer, database, dataset))


def _enter(sanitizer: Sanitizer, database: Database, dataset: str | Dataset) -> Usage:
    """Return what notes the calls of functions and enters them in the ledger, if that allows it."""
    known = check_running(dataset)
    usage = Usage()

    def open_entry() -> LedgerEntry:
        return LedgerEntry(database, known, sanitizer.terms, at_least=True, must_be_made=True)

    def count(entry: LedgerEntry) -> tuple[Receipt, str | None] | None:
        if not usage.was_called:
            return None
        return usage.describe(entry, sanitizer, at_least=True), usage.keyed_sum

    open_entry().check()
    usage.guard = RunningEntry(open_entry, count, usage.forget).drawing
    return usage


def register_sanitizer(connection: duckdb.DuckDBPyConnection, sanitizer: Sanitizer, usage: Usage | None = None) -> None:
    """Make the functions draw with this sanitizer, and note what they do; only the keyed one uses its key."""
    with _lock, connection.cursor() as own:  # not in the caller's transaction, whose end could undo half of it
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
    """Note what the functions of this connection's instance do from now on."""
    holder = _find_holder(connection)
    if holder is None:
        raise DatabaseError("the functions are not registered on this connection")
    holder.served = replace(holder.served, usage=usage)


def refuse_macros(connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse a macro that would be called in place of one of our functions."""
    names = ", ".join(f"'{name}'" for name in (*NAMES, _FINDER))
    found = connection.execute(
        "SELECT database_name, function_name FROM duckdb_functions() "
        f"WHERE function_type IN ('macro', 'table_macro') AND lower(function_name) IN ({names})"
    ).fetchall()
    if found:
        raise DatabaseError(
            f"the macro {found[0][1]} in database {found[0][0]} would be called in place of the function of that name; "
            "drop or rename it"
        )


def _share(sanitizer: Sanitizer) -> Sanitizer:
    return _sanitizers.setdefault(sanitizer.identity, sanitizer)


def _find_holder(connection: duckdb.DuckDBPyConnection) -> _Holder | None:
    try:
        [(number,)] = connection.execute(f"SELECT {_FINDER}()").fetchall()
    except duckdb.CatalogException:
        return None
    return _holders[number]


def _values(array: pa.ChunkedArray, name: str) -> Any:
    if array.null_count:
        raise SettingError(f"{name} must not be NULL: the text of that row would be lost")
    return array.to_numpy()
