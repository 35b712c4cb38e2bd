"""Which database is meant, and a connection to it, open only inside `reading` or `writing`."""

import os
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import platformdirs

from custext_sql.errors import DatabaseError
from custext_sql.store.connections import reading_file, upgrade_file, writing_file
from custext_sql.store.default_database import build_default
from custext_sql.store.files.duckdb_files import attach_file
from custext_sql.store.schema.distribution_macro import write_distribution_macro

Database = str | os.PathLike[str] | None

_CATALOG = "custext"  # what an attached database is called


def default_path() -> Path:
    """The user's own database, used when none is named."""
    return platformdirs.user_data_path("custext", appauthor=False) / "custext.duckdb"


def locate(database: Database = None) -> Path:
    """The file meant by `database`: itself, else CUSTEXT_DB, else the default, which is built on first use."""
    named = database if database is not None else os.environ.get("CUSTEXT_DB") or None
    if named is not None:
        path = Path(named)
        if not str(named):
            raise DatabaseError("the name of the database is empty; name a file with --db")
        if str(path).startswith(":memory:"):
            raise DatabaseError("a custext database is a file, so that every process can read it; found :memory:")
        _exists(path)
        return path
    path = default_path()
    if not _exists(path):
        build_default(path)
    return path


def _exists(path: Path) -> bool:
    try:
        str(path).encode()  # DuckDB takes no other names
        return path.exists()
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or "its name is not valid Unicode"
        raise DatabaseError(f"cannot open the database {str(path)[:200]!a}: {reason}") from None


def reading(database: Database = None) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
    """Open a database that is up to date, for reading only."""
    return reading_file(locate(database))


def writing(
    database: Database = None, *, patience: float | None = None
) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
    """Open one transaction on a database that is up to date; see `writing_file`."""
    return writing_file(locate(database), patience=patience)


def upgrade_database(database: Database = None) -> tuple[str, str]:
    """Bring an older database to this version's revision; see `upgrade_file`."""
    return upgrade_file(locate(database))


def attach(connection: duckdb.DuckDBPyConnection, database: Database = None, *, copied: bool = False) -> None:
    """Make a database readable as `custext` on a connection in memory, and its tables and macro without that prefix.

    If that is asked for, or this process has the file open already, what is there is a copy of its tables as they are
    now, and the file stays free.
    """
    path = locate(database)
    if copied or not attach_file(connection, path, _CATALOG):
        connection.execute(f"ATTACH ':memory:' AS {_CATALOG}")
        with reading_file(path) as source:
            _copy_tables(source, connection)
    connection.execute(f"SET search_path = 'memory,{_CATALOG}'")
    connection.execute(write_distribution_macro(f"{_CATALOG}.main."))  # reads these tables, whatever others there are


def _copy_tables(source: duckdb.DuckDBPyConnection, target: duckdb.DuckDBPyConnection) -> None:
    names = source.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND NOT temporary"
    ).fetchall()
    for (name,) in names:
        target.register("custext_copied", source.sql(f"FROM {name}").to_arrow_table())
        target.execute(f"CREATE TABLE {_CATALOG}.main.{name} AS FROM custext_copied")
        target.unregister("custext_copied")
