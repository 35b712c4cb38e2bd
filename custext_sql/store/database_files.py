"""Opens and creates the files of custext databases. database.py picks the file."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from custext_sql.errors import DamagedFileError, DatabaseError, ForeignFileError, OutputError, tell_system_error
from custext_sql.store import schema
from custext_sql.store.duckdb_files import NO_ASYNC_WRITES, find_reason, is_damaged, open_file, private_log
from custext_sql.store.outputs import atomic_output, make_private_folders
from custext_sql.store.quoting import quote_path

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

NO_BAR = "SET enable_progress_bar_print = false"  # DuckDB would print one to stdout if a statement takes seconds
_STORAGE = "v1.0.0"  # the oldest file format; tested: DuckDB 1.1.3 to 2.0 read what 2.0 writes in it
LIST_TABLES = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND NOT temporary"
_OPTION = "--db (in Python: database)"


@contextmanager
def reading_file(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database for reading only. DatabaseError if it is missing, empty, or at another revision."""
    if not path.exists():
        raise DatabaseError(f"database {path} does not exist; create it with: {name_command(path)} load starter")
    connection = connect(path, read_only=True)
    try:
        if not _is_current(connection, path):
            raise empty_database(path)
        yield connection
    except duckdb.Error as error:
        raise DatabaseError(f"cannot read {path}: {tell_reason(error, path)}") from None
    finally:
        connection.close()


@contextmanager
def writing_file(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open one transaction on a database; DatabaseError if it is at another revision.

    It commits at the end and rolls back on an error. A new database appears at its path only when the transaction is
    complete.
    """
    if path.exists():
        with _transaction(path) as connection:
            yield connection
    else:
        with new_database(path) as unfinished, _transaction(unfinished) as connection:
            yield connection


@contextmanager
def new_database(path: Path) -> Iterator[Path]:
    """Yield the path of an unfinished file, and move it to `path` at the end; an error leaves nothing behind.

    Only the owner can read the file, and enter the folder if that is new too.
    DatabaseError if the file cannot be created, or if another process creates one at `path` in the meantime.
    """
    made: list[Path] = []
    unfinished = path
    try:
        made = make_private_folders(path.parent)
        with atomic_output(path, force=False, private=True) as output:
            unfinished = output.path
            with duckdb.connect(config=NO_ASYNC_WRITES) as connection:
                attach_new(connection, unfinished, "made")
            yield unfinished
            if unfinished.with_name(f"{path.name}.wal").exists():
                raise DatabaseError(f"cannot create {path}: DuckDB did not write all of it; try again")
            output.publish()
    except DatabaseError as error:
        raise type(error)(str(error).replace(str(unfinished), str(path))) from None
    except (OSError, OutputError, duckdb.Error) as error:
        if path.exists():
            raise DatabaseError(f"another process created {path} in the meantime; try again") from None
        raise DatabaseError(f"cannot create {path}: {tell_reason(error, path)}") from None
    finally:
        for folder in made:
            with suppress(OSError):  # the database is in it now
                folder.rmdir()


def attach_new(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    """Create an empty file and attach it."""
    connection.execute(f"ATTACH {quote_path(path)} AS {name} (TYPE duckdb, STORAGE_VERSION '{_STORAGE}')")


@contextmanager
def _transaction(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = connect(path, read_only=False)
    try:
        connection.execute("BEGIN")
        try:
            if not _is_current(connection, path):
                schema.create_tables(connection)
            yield connection
            with private_log(path):
                connection.execute("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):  # an interrupted statement may have ended the transaction
                connection.execute("ROLLBACK")
            raise
    except (duckdb.Error, RuntimeError) as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        if not isinstance(error, duckdb.Error):
            raise
        raise DatabaseError(f"cannot write {path}: {tell_reason(error, path)}; nothing was changed") from None
    finally:
        connection.close()


def connect(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """Return a connection to a file, whatever tables it has; DatabaseError if DuckDB cannot open it."""
    try:
        connection = open_file(path, read_only=read_only)
    except ForeignFileError:
        raise DatabaseError(
            f"{path} is not a custext database (nor any DuckDB file); name another one: {_OPTION}"
        ) from None
    except DamagedFileError as error:
        raise DatabaseError(f"{error}{_or_make_another(path)}") from None
    connection.execute(NO_BAR)
    return connection


def _is_current(connection: duckdb.DuckDBPyConnection, path: Path) -> bool:
    """Return True at this version's revision, False if the database has no tables; DatabaseError otherwise."""
    revision, newest = find_revision(connection, path), schema.REVISIONS[-1]
    if revision is not None and revision != newest:
        raise DatabaseError(
            f"{path} is at revision {revision} and this version needs {newest}; run: {name_command(path)} upgrade"
        )
    return revision is not None


def find_revision(connection: duckdb.DuckDBPyConnection, path: Path) -> str | None:
    """Return the revision of a database, or None if it has no tables.

    DatabaseError if this version can neither read nor upgrade it, or it is not a custext database.
    """
    names = {name for (name,) in connection.execute(LIST_TABLES).fetchall()}
    if not names:
        return None
    stamped = "alembic_version" in names
    rows = connection.execute("SELECT version_num FROM alembic_version").fetchall() if stamped else []
    if not rows or not {"embeddings", "mappings", "settings"} <= names:
        raise DatabaseError(
            f"{path} is not a custext database: it has tables of another program; name another file: {_OPTION}"
        )
    revision = str(rows[0][0])
    if revision not in schema.REVISIONS or "score_rows" not in names or "releases" in names:  # a snapshot's 0001
        raise DatabaseError(
            f"{path} was made by another version of custext-sql (revision {revision}); this one can neither read nor "
            "upgrade it. If that version is newer, run: pip install --upgrade custext-sql. If it is a snapshot from "
            f"before the first release, move the file away and make a new one with: {name_command(path)} load starter "
            "(or load FILE --name NAME)"
        )
    return revision


def empty_database(path: Path) -> DatabaseError:
    """Return the error for a database without tables."""
    return DatabaseError(f"{path} is empty; fill it with: {name_command(path)} load FILE --name NAME")


def tell_reason(error: Exception, path: Path) -> str:
    """Return why a database could not be read or written, without quoting DuckDB's message."""
    if isinstance(error, OutputError):
        return str(error)
    if isinstance(error, OSError):
        return tell_system_error(error)
    return f"{find_reason(error)}{_or_make_another(path)}" if is_damaged(error) else find_reason(error)


def _or_make_another(path: Path) -> str:
    return f", or move it away and make a new one with: {name_command(path)} load starter"


def name_command(path: Path) -> str:
    """Return the start of a command that uses this database."""
    return f"custext --db {shlex.quote(str(path))}"


def is_interrupt(error: Exception) -> bool:
    """Return whether DuckDB reports Ctrl-C; fetching turns it into a RuntimeError."""
    if isinstance(error, duckdb.Error):  # its text may name a path
        return isinstance(error, duckdb.InterruptException)
    return "interrupted" in str(error).lower()


def list_columns(kind: "type[DataclassInstance]") -> str:
    """Return the columns of the table of such rows, separated by commas: the fields of the dataclass."""
    return ", ".join(field.name for field in fields(kind))


def insert_row(connection: duckdb.DuckDBPyConnection, table: str, row: "DataclassInstance") -> None:
    """Insert a row into its table."""
    values = [getattr(row, field.name) for field in fields(row)]
    marks = ", ".join("?" for _ in values)
    connection.execute(f"INSERT INTO {table} ({list_columns(type(row))}) VALUES ({marks})", values)
