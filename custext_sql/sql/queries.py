"""Runs SQL with the custext functions, on a DuckDB file or on files that the query names, and writes results."""

import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from custext_sql.errors import FULL, ForeignFileError, QueryError
from custext_sql.sanitizing.sanitizer import Sanitizer
from custext_sql.sql.copy_options import choose_copy_options
from custext_sql.sql.functions import register_sanitizer
from custext_sql.sql.query_errors import safe_errors
from custext_sql.sql.query_words import strip_ending
from custext_sql.sql.statements import find_kind
from custext_sql.store.database import Database, attach, locate
from custext_sql.store.files.duckdb_files import connect_file, when_free
from custext_sql.store.files.private_folders import scratch_folder
from custext_sql.store.files.quoting import quote_text
from custext_sql.store.files.shared_instances import SETTINGS

RESULT_FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json"}

_READERS = {"parquet": "read_parquet({})", "csv": "read_csv({}, header = true)", "json": "read_json({})"}
Done = Callable[[], None]

_CONFIG: dict[str, Any] = {
    **SETTINGS,
    "python_enable_replacements": False,  # variables of this program are not tables
}
_TICK = 0.2  # seconds between two checks of a query's progress
_PATIENCE = 2.0  # seconds for an interrupted query to end and for a connection to close: DuckDB may hang forever
_STILL = 10.0  # seconds without progress, on a full disk, after which a statement that writes counts as stuck
_ROOM = 2**20  # a disk with fewer free bytes is full
_NUMBERS = re.compile(r"U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL")


@dataclass(frozen=True)
class Shown:
    """The first rows of a result as text; None stands for NULL. goes_on: there are more rows."""

    columns: list[str]
    is_number: list[bool]
    rows: list[tuple[str | None, ...]]
    goes_on: bool


def let_threads_alternate() -> None:
    """Make Python switch threads more often: on two cores, queries run at least a fifth faster.

    It is a setting of the whole process, so programs should call this, not libraries.
    """
    sys.setswitchinterval(0.0003)


@contextmanager
def open_data(
    sanitizer: Sanitizer,
    database: Database,
    data: str | os.PathLike[str] | None = None,
    *,
    writable: bool = False,
    spill: Path | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection with the functions: to the DuckDB file `data`, or in memory with the custext tables.

    writable: open `data` for writing, not just for reading. spill: a private folder for what does not fit into memory,
    if there is one. Errors of DuckDB quote no data.
    """
    with safe_errors(), scratch_folder() if spill is None else nullcontext(spill) as folder:
        if data is not None and Path(data).resolve() == locate(database).resolve():
            if writable:
                raise QueryError(f"{data} is the custext database, which queries cannot change; leave out --write")
            data = None  # its tables are attached anyway
        config = {**_CONFIG, "temp_directory": str(folder)}
        connection = duckdb.connect(config=config) if data is None else _open_file(Path(data), config, writable)
        try:
            if data is None:
                attach(connection, database)
            register_sanitizer(connection, sanitizer)
            refuse_custext_databases(connection)
            yield connection
        finally:
            close_in_time(connection)


def refuse_custext_databases(connection: duckdb.DuckDBPyConnection) -> None:
    """Raise QueryError if a custext database is open for writing: a query could change its mappings or its ledger."""
    with safe_errors():
        found = connection.execute(
            "SELECT database_name FROM duckdb_tables() JOIN duckdb_databases() USING (database_name) "
            "WHERE NOT readonly AND table_name IN ('alembic_version', 'mappings', 'releases') "
            "GROUP BY database_name HAVING count(DISTINCT table_name) = 3"
        ).fetchall()
    if found:
        raise QueryError("queries cannot change a custext database; open it for reading: ATTACH ... (READ_ONLY)")


def _open_file(path: Path, config: dict[str, Any], writable: bool) -> duckdb.DuckDBPyConnection:
    if not path.exists():
        raise QueryError(f"{path} does not exist; --data needs a DuckDB file")
    mode: dict[str, Any] = {} if writable else {"access_mode": "READ_ONLY"}
    try:
        return when_free(path, lambda: connect_file(path, {**config, **mode}))
    except ForeignFileError:
        raise QueryError(f"{path} is not a DuckDB file; name other files in the query: FROM '{path.name}'") from None


def close_in_time(connection: duckdb.DuckDBPyConnection) -> None:
    """Close a connection, but do not wait forever: a query that ignores its interruption would keep it open."""

    def close() -> None:
        with suppress(duckdb.Error):  # the connection may refuse, being busy with such a query
            connection.close()

    closing = threading.Thread(target=close, daemon=True)
    closing.start()
    closing.join(_PATIENCE)


def show(connection: duckdb.DuckDBPyConnection, query: str, limit: int, done: Done | None = None) -> Shown | None:
    """Run a query and return its first rows; None for a statement without rows, such as SET.

    done: called after each statement except the last.
    """
    with safe_errors(query):
        last, is_query = _run_up_to_the_last(connection, query, done)
        if not is_query:
            rows = fetch(connection, last, limit + 1)
            if not rows:
                return None
            columns = [str(column[0]) for column in connection.description or []]
            texts = [tuple(None if cell is None else str(cell) for cell in row) for row in rows]
            return Shown(columns, [False] * len(columns), texts[:limit], len(rows) > limit)
        described = connection.execute(f"DESCRIBE {last}").fetchall()
        rows = fetch(connection, f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (\n{last}\n)", limit + 1)
        is_number = [bool(_NUMBERS.match(column[1])) for column in described]
        return Shown([column[0] for column in described], is_number, rows[:limit], len(rows) > limit)


def fetch_objects(connection: duckdb.DuckDBPyConnection, query: str, done: Done | None = None) -> list[Any]:
    """Run a query and return all its rows, each as an object for JSON. done: as for `show`."""
    with safe_errors(query):
        last, is_query = _run_up_to_the_last(connection, query, done)
        if not is_query:
            fetch(connection, last)
            return []
        rows = fetch(connection, f"SELECT to_json(row) FROM (\n{last}\n) AS row")
        return [json.loads(row, parse_constant=str) for (row,) in rows]


def write_result(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    path: Path,
    format: str,
    done: Done | None = None,
    *,
    progress: Callable[[float], None] | None = None,
) -> int:
    """Write the result of a query to a file, and return the number of rows. done: as for `show`."""
    quoted, options = quote_text(str(path)), choose_copy_options(format)
    with safe_errors(query):
        last, is_query = _run_up_to_the_last(connection, query, done)
        if not is_query:
            raise QueryError("--output needs a query that ends with a statement that returns rows")
        told = fetch(connection, f"COPY (\n{last}\n) TO {quoted} ({options})", writes=path, progress=progress)
        # DuckDB does not return the number of rows of a PIVOT
        [(rows,)] = told or fetch(connection, f"SELECT count(*) FROM {_READERS[format].format(quoted)}")
    return int(rows)


def choose_result_format(target: Path) -> str:
    """Return the format of a result file, by the ending of its name; QueryError if it stands for none."""
    format = RESULT_FORMATS.get(target.suffix.lower())
    if format is None:
        raise QueryError(f"{target}: cannot tell the format; expected a name that ends in {', '.join(RESULT_FORMATS)}")
    return format


def _run_up_to_the_last(connection: duckdb.DuckDBPyConnection, query: str, done: Done | None) -> tuple[str, bool]:
    """Run all statements except the last; return the last one, and whether it is a query that returns rows."""
    statements = connection.extract_statements(query)
    if not statements:
        raise QueryError("the query is empty")
    *before, last = statements
    for statement in before:
        fetch(connection, statement.query)
        if done is not None:
            done()
    is_query = find_kind(last) == duckdb.StatementType.SELECT
    return strip_ending(last.query) if is_query else last.query, is_query


def fetch(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    limit: int | None = None,
    *,
    writes: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[tuple[Any, ...]]:
    """Run a statement and return its rows, at most `limit` of them.

    writes: the file that the statement writes; QueryError if its disk is full and the statement makes no progress.
    progress: called with the share done meanwhile.

    The statement runs in a thread of its own, so that Ctrl-C always reaches this one: within a function that DuckDB
    calls, it could be lost. If DuckDB ignores an interrupt, that thread is left behind.
    """
    outcome: list[Any] = []
    begun, done = (
        threading.Event(),
        threading.Event(),
    )  # an interrupted `start` or `join` does not know the state of its thread

    def work() -> None:
        begun.set()
        try:
            result = connection.execute(statement)
            outcome.append(result.fetchall() if limit is None else result.fetchmany(limit))
        except BaseException as error:
            outcome.append(error)
        finally:
            done.set()

    if progress is not None or writes is not None:
        connection.execute(
            "SET enable_progress_bar = true; SET enable_progress_bar_print = false"
        )  # DuckDB keeps no progress without these
    share, moved = 0.0, time.monotonic()
    try:
        threading.Thread(target=work, name="custext-query", daemon=True).start()
        while not done.wait(_TICK):
            before, share = share, max(share, connection.query_progress() / 100.0)  # -1 if unknown
            if progress is not None:
                progress(min(share, 1.0))
            if writes is None or share > before or not _is_on_full_disk(writes):
                moved = time.monotonic()
            elif time.monotonic() > moved + _STILL:
                raise QueryError(FULL)
    except BaseException:
        deadline = time.monotonic() + _PATIENCE
        while begun.wait(1.0) and not done.wait(_TICK) and time.monotonic() < deadline:
            connection.interrupt()  # repeatedly: an interrupt that comes before the query has begun is lost
        raise
    [rows] = outcome
    if isinstance(rows, BaseException):
        raise rows
    return list(rows)


def _is_on_full_disk(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _ROOM
    except OSError:  # the folder is gone; DuckDB will say so
        return False
