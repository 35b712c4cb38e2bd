"""Picks the database: the argument, CUSTEXT_DB, or the default. Connections are open only in a `with` block."""

import os
import shlex
import stat
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path

import duckdb
import platformdirs

from custext_sql.errors import DatabaseError, PrivacyWarning, warn_caller
from custext_sql.parameters import check_path
from custext_sql.store import schema
from custext_sql.store.database_files import LIST_TABLES, reading_file, writing_file
from custext_sql.store.duckdb_files import attach_file

Database = str | os.PathLike[str] | None

_CATALOG = "custext"  # the name of an attached database


def default_path() -> Path:
    """Return the path of the user's default database, used if no other is named."""
    return platformdirs.user_data_path("custext", appauthor=False) / "custext.duckdb"


def locate(database: Database = None) -> Path:
    """Return the path of a database: the argument, else CUSTEXT_DB, else the default, which is built on first use.

    DatabaseError if the path cannot be used. A named database need not exist yet. Warns if other users can read it.
    """
    named = database if database is not None else os.environ.get("CUSTEXT_DB") or None
    if named is not None:
        check_path(named, "database")
        path = Path(named)
        if not str(named):
            raise DatabaseError("the name of the database is empty; name a file: --db (in Python: database)")
        if str(path).startswith(":memory:"):
            raise DatabaseError("a custext database must be a file, not in memory; found :memory:")
        if _exists(path) and path.is_file():
            warn_if_open(path, 0o600)
        return path
    path = default_path()
    if not _exists(path):
        from custext_sql.store.building import build_default  # on first use only: it loads all about vectors

        build_default(path)
    warn_if_open(path.parent, 0o700)
    return path


@cache  # once per process
def warn_if_open(path: Path, wanted: int) -> None:
    """Warn if other users can use a file or folder of this user, unless they cannot enter a folder above it."""
    found = path.stat()
    if not hasattr(os, "geteuid") or found.st_uid != os.geteuid() or not found.st_mode & 0o077:
        return
    if all(folder.stat().st_mode & 0o011 for folder in path.resolve().parents):
        warn_caller(
            f"{path} is open to other users (mode {stat.S_IMODE(found.st_mode):04o}), who can see what you "
            f"released and measured; run: chmod {wanted:o} {shlex.quote(str(path))}",
            PrivacyWarning,
        )


def _exists(path: Path) -> bool:
    try:
        str(path).encode()  # DuckDB accepts no other names
        return path.exists()
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or "its name is not valid Unicode"
        raise DatabaseError(f"cannot open the database {str(path)[:200]!a}: {reason}") from None


def reading(database: Database = None) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
    """Open a database for reading only; see `reading_file`."""
    return reading_file(locate(database))


def writing(database: Database = None) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
    """Open one transaction on a database; see `writing_file`."""
    return writing_file(locate(database))


def attach(connection: duckdb.DuckDBPyConnection, database: Database = None) -> None:
    """Attach a database as `custext` to a connection in memory; its tables and macro need no prefix there.

    If this process already has the file open, a copy of the current tables is attached instead.
    """
    path = locate(database)
    if not attach_file(connection, path, _CATALOG):
        connection.execute(f"ATTACH ':memory:' AS {_CATALOG}")
        with reading_file(path) as source:
            _copy_tables(source, connection)
    connection.execute(f"SET search_path = 'memory,{_CATALOG}'")
    schema.create_distribution_macro(connection, f"{_CATALOG}.main.")  # even if others have the same names


def _copy_tables(source: duckdb.DuckDBPyConnection, target: duckdb.DuckDBPyConnection) -> None:
    for (name,) in source.execute(LIST_TABLES).fetchall():
        target.register("custext_copied", source.sql(f"FROM {name}").to_arrow_table())
        target.execute(f"CREATE TABLE {_CATALOG}.main.{name} AS FROM custext_copied")
        target.unregister("custext_copied")
    schema.create_scores_view(target, f"{_CATALOG}.main.")
