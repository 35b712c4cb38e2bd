"""Runs SQL with the functions registered, on a DuckDB file or on files that the query names; writes what comes out."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from custext_sql.database import Database, attach, check_file
from custext_sql.errors import QueryError
from custext_sql.query_errors import safe_errors
from custext_sql.sql_functions import register

FORMATS = {".parquet": "FORMAT parquet", ".csv": "FORMAT csv, HEADER", ".json": "FORMAT json", ".jsonl": "FORMAT json"}

_CONFIG: dict[str, Any] = {"autoinstall_known_extensions": False}  # nothing is downloaded behind the user's back
_TICK = 0.2  # seconds between two looks at how far a query is


@contextmanager
def open_data(
    database: Database, data: str | os.PathLike[str] | None = None, **settings: Any
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the functions registered: to a DuckDB file, read-only, or in memory with the custext tables.

    settings are those of `register`. Errors of DuckDB quote no data.
    """
    with safe_errors():
        connection = duckdb.connect(config=_CONFIG) if data is None else _open_file(Path(data))
        try:
            register(connection, database, **settings)
            if data is None:
                attach(connection, database)
            yield connection
        finally:
            connection.close()


def _open_file(path: Path) -> duckdb.DuckDBPyConnection:
    if not path.exists():
        raise QueryError(f"there is no file {path}; --data names a DuckDB file")
    check_file(path)
    return duckdb.connect(path, read_only=True, config=_CONFIG)


@safe_errors()
def run(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.DuckDBPyConnection | None:
    """Run all statements of a query; returns the result of the last one, to fetch from, if it has any."""
    *before, last = _statements(connection, query)
    for statement in before:
        connection.execute(statement)
    result = connection.execute(last)
    return result if result.description else None


@safe_errors()
def write_result(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    output: str | os.PathLike[str],
    *,
    force: bool = False,
    progress: Callable[[float], None] | None = None,
) -> int:
    """Write what a query gives to a new file, whole or not at all, and return the number of rows.

    The name's ending tells the format. An existing file is replaced only if `force` says so.
    """
    target = Path(output)
    options = FORMATS.get(target.suffix.lower())
    if options is None:
        raise QueryError(f"cannot tell the format of {target}; its name must end in {', '.join(FORMATS)}")
    if target.exists() and not force:
        raise QueryError(f"{target} exists already; --force replaces it")
    if not target.parent.is_dir():
        raise QueryError(f"there is no folder {target.parent}")
    *before, last = _statements(connection, query)
    for statement in before:
        connection.execute(statement)
    draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
    quoted = str(draft).replace("'", "''")
    try:
        rows = _watch(connection, f"COPY (\n{last}\n) TO '{quoted}' ({options})", progress)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return rows


def _statements(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    statements = [statement.query.strip().rstrip(";") for statement in connection.extract_statements(query)]
    if not statements:
        raise QueryError("the query is empty")
    return statements


def _watch(connection: duckdb.DuckDBPyConnection, statement: str, progress: Callable[[float], None] | None) -> int:
    """Run a statement that tells a number of rows, and say how far it is meanwhile; Ctrl-C stops it."""
    if progress is None:
        [(rows,)] = connection.execute(statement).fetchall()
        return int(rows)
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(connection.execute(statement).fetchall()[0][0])
        except BaseException as error:
            outcome.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        while worker.is_alive():
            worker.join(_TICK)
            progress(max(0.0, connection.query_progress()) / 100.0)
    except BaseException:
        connection.interrupt()
        worker.join()
        raise
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return int(outcome[0])
