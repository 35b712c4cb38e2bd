"""Queries that sanitize: run, counted and entered in the ledger, wherever their rows go."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import duckdb

from custext_sql.errors import QueryError
from custext_sql.replacing.receipt import Receipt
from custext_sql.sanitizing.sanitizer import Sanitizer
from custext_sql.sql.functions import watch
from custext_sql.sql.queries import (
    Done,
    Shown,
    choose_result_format,
    fetch_objects,
    open_data,
    refuse_custext_databases,
    show,
    write_result,
)
from custext_sql.sql.query_words import uses_name
from custext_sql.sql.single_draws import draws_each_row_once
from custext_sql.sql.statements import read_statements
from custext_sql.sql.usage import Usage
from custext_sql.store.database import Database, locate
from custext_sql.store.files.atomic_outputs import atomic_output
from custext_sql.store.ledger.dataset import QUERY, Dataset
from custext_sql.store.ledger.entry import LedgerEntry, receipt_beside
from custext_sql.store.ledger.table import RAW

_Result = TypeVar("_Result")

_CALL = "custext_sanitize"  # how the names of both functions that sanitize begin
_UNPROTECTED: dict[str, Any] = {"draws": RAW, "key_id": None, "eps": None, "plus": None, "at_least": False}


@dataclass(frozen=True)
class Answer(Generic[_Result]):
    """The result of a query. receipt: None if nothing was drawn; note: what went wrong with the ledger."""

    result: _Result
    receipt: Receipt | None
    note: str | None


class QueryRelease:
    """A query that is run and entered in the ledger.

    data: a DuckDB file, which `writable` opens for writing. settings: those of `Sanitizer.load`. allow_raw: let texts
    out that were not sanitized.
    """

    def __init__(
        self,
        query: str,
        database: Database = None,
        data: str | None = None,
        dataset: Dataset | None = None,
        *,
        writable: bool = False,
        allow_raw: bool = False,
        **settings: Any,
    ) -> None:
        self._query = query
        self._database, self._data, self._writable = database, data, writable
        self._dataset = (dataset or Dataset()).or_called(QUERY)
        self._allow_raw = allow_raw
        self._statements = read_statements(query, writable=writable)
        self._sanitizer = Sanitizer.load(database, **settings)

    def show(self, limit: int) -> Answer[Shown | None]:
        """Run the query and return its first rows."""
        return self._run(lambda connection, done: show(connection, self._query, limit, done))

    def fetch(self) -> Answer[list[Any]]:
        """Run the query and return all its rows, as objects for JSON."""
        return self._run(lambda connection, done: fetch_objects(connection, self._query, done))

    def write(
        self, target: Path, *, force: bool = False, progress: Callable[[float], None] | None = None
    ) -> Answer[int]:
        """Write the result of the query to a new file, and return the number of rows."""
        format = choose_result_format(target)
        with atomic_output(target, force=force) as output:

            def write(connection: duckdb.DuckDBPyConnection, done: Done) -> int:
                return write_result(connection, self._query, output.path, format, done, progress=progress)

            return self._run(write, publish=output.publish, spill=output.spill, beside=receipt_beside(target))

    def _run(
        self,
        run: Callable[[duckdb.DuckDBPyConnection, Done], _Result],
        *,
        publish: Callable[[], object] | None = None,
        spill: Path | None = None,
        beside: Path | None = None,
    ) -> Answer[_Result]:
        """Run the query and enter it in the ledger before its result leaves. publish: makes the output appear.

        For statements that write by themselves, as COPY does, the entry is made first: at once if the custext database
        will be attached, which keeps this process from writing it, or if raw data is to leave, else when a function is
        first called.
        """
        entry = LedgerEntry(self._database, self._dataset, self._sanitizer.terms, at_least=True, beside=beside)
        usage = Usage(lambda: _begun(entry)) if self._statements.writes else Usage()
        exports = any(self._statements.exports)
        if self._names_a_call:
            entry.check()
        if self._statements.writes and (self._attaches_database or (exports and self._allow_raw)):
            entry.begin()
        is_once = False
        called: list[bool] = []  # for each finished statement, whether anything had been drawn by then
        try:
            with open_data(
                self._sanitizer, self._database, self._data, writable=self._writable, spill=spill
            ) as connection:
                if exports and not (self._allow_raw or self._names_a_call or _has_calling_views(connection)):
                    raise _refuse_raw()
                is_once = draws_each_row_once(connection, self._query)
                watch(connection, usage)

                def finish_statement() -> None:
                    called.append(usage.was_called)
                    refuse_custext_databases(connection)

                result = run(connection, finish_statement)
        except BaseException:
            self._end_failed(entry, usage, has_raw=self._has_raw(called))
            raise
        if usage.was_called and not self._has_raw(called):
            receipt = usage.describe(entry, self._sanitizer, at_least=not is_once)
            entry.publish(publish or _nothing, receipt, usage.keyed_sum)
            return Answer(result, receipt, entry.note)
        if exports or (publish is not None and result):
            self._publish_raw(entry, publish, exports=exports)
            return Answer(result, usage.receipt(self._sanitizer) if usage.was_called else None, entry.note)
        if publish is not None:
            publish()  # a result without rows
        entry.withdraw()
        return Answer(result, None, entry.note)

    def _has_raw(self, called: Sequence[bool]) -> bool:
        """Return whether a statement carried rows out before anything had been drawn."""
        return any(exports and not drawn for exports, drawn in zip(self._statements.exports, called, strict=False))

    @property
    def _attaches_database(self) -> bool:
        """Return whether the custext database is open while the query runs."""
        return self._data is None or Path(self._data).resolve() == locate(self._database).resolve()

    @property
    def _names_a_call(self) -> bool:
        return uses_name(self._query, _CALL)

    def _publish_raw(self, entry: LedgerEntry, publish: Callable[[], object] | None, *, exports: bool) -> None:
        """Let out texts that were not sanitized, if that is allowed, and enter them as unprotected."""
        if not exports and not self._allow_raw:
            entry.withdraw()
            raise _refuse_raw()
        entry.describe(**_UNPROTECTED)
        entry.publish(publish or _nothing, None)
        if not self._allow_raw:
            entry.add_note("the query wrote texts that no custext function sanitized; they are not protected")

    def _end_failed(self, entry: LedgerEntry, usage: Usage, *, has_raw: bool) -> None:
        """Keep the entry if something may have left before the query failed; withdraw it otherwise."""
        if has_raw:
            entry.describe(**_UNPROTECTED)
            entry.begin()
            entry.break_off(None)
        elif usage.was_called and self._statements.writes:
            entry.break_off(usage.describe(entry, self._sanitizer, at_least=True), usage.keyed_sum)
        else:
            entry.withdraw()


def _has_calling_views(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether a view or macro in the data calls a function that sanitizes."""
    [(count,)] = connection.execute(
        "SELECT (SELECT count(*) FROM duckdb_views() WHERE NOT internal AND sql ILIKE '%custext_sanitize%') + "
        "(SELECT count(*) FROM duckdb_functions() WHERE NOT internal AND macro_definition ILIKE '%custext_sanitize%')"
    ).fetchall()
    return bool(count)


def _refuse_raw() -> QueryError:
    return QueryError(
        "nothing was written: the query sanitizes nothing, so its result is the original data; sanitize the text "
        "column with custext_sanitize(column, eps, plus), or use --allow-raw to write it unprotected"
    )


def _begun(entry: LedgerEntry) -> AbstractContextManager[None]:
    """Begin an entry, if it has not begun, before anything is drawn."""
    entry.begin()
    return nullcontext()


def _nothing() -> None:
    """Do nothing: the result of the query goes to the caller."""
