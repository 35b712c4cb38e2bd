"""Finds, opens and creates custext databases. A connection is open only inside `reading` or `writing`."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import platformdirs

from custext_sql.errors import DatabaseError, ForeignFileError, OutputError
from custext_sql.store.files.atomic_outputs import draft_of
from custext_sql.store.files.duckdb_files import attach_file, find_reason, open_file, quote_path, when_free
from custext_sql.store.schema.distribution_macro import write_distribution_macro
from custext_sql.store.schema.revisions import REVISIONS

Database = str | os.PathLike[str] | None

_STORAGE = "v1.0.0"  # the oldest file format; DuckDB 1.1.3 to 2.0 were seen to read what 2.0 writes in it
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
        from custext_sql import starter  # it writes databases, so it imports this module

        starter.build_default(path)
    return path


def _exists(path: Path) -> bool:
    try:
        str(path).encode()  # DuckDB takes no other names
        return path.exists()
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or "its name is not valid Unicode"
        raise DatabaseError(f"cannot open the database {str(path)[:200]!a}: {reason}") from None


@contextmanager
def reading(database: Database = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """An open read-only connection to a database that is up to date."""
    path = locate(database)
    if not path.exists():
        raise DatabaseError(f"There is no database at {path}; create it with: custext --db {path} load starter")
    connection = _connect(path, read_only=True)
    try:
        if not _is_current(connection, path):
            raise DatabaseError(f"{path} is empty; fill it with: custext --db {path} load FILE --name NAME")
        yield connection
    except duckdb.Error as error:
        raise DatabaseError(f"cannot read {path}: {find_reason(error)}") from None
    finally:
        connection.close()


@contextmanager
def writing(database: Database = None, *, patience: float | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """One transaction on a database that is up to date.

    It commits at the end and rolls back on an error. A database that was not there is made beside its place and
    appears there only when the transaction is complete. patience: seconds to wait while another process has it open.
    """
    path = locate(database)
    if path.exists():
        with _transaction(path, patience) as connection:
            yield connection
    else:
        with new_database(path) as draft, _transaction(draft) as connection:
            yield connection


@contextmanager
def new_database(path: Path) -> Iterator[Path]:
    """A draft beside `path`, moved there at the end unless another process was first; on an error nothing stays."""
    made: list[Path] = []
    try:
        made = _make_folders(path.parent)
        with draft_of(path, force=False) as draft:
            _create_empty(draft.path)
            yield draft.path
            if draft.path.with_name(f"{draft.path.name}.wal").exists():
                raise DatabaseError(f"cannot create {path}: DuckDB left some of it unwritten; run the command again")
            draft.publish()
    except (OSError, OutputError, duckdb.Error) as error:
        if path.exists():
            raise DatabaseError(f"{path} was created by another process meanwhile; run the command again") from None
        raise DatabaseError(f"cannot create {path}: {_tell_reason(error)}") from None
    finally:
        for folder in made:
            with suppress(OSError):  # it holds the database now
                folder.rmdir()


def _tell_reason(error: Exception) -> str:
    if isinstance(error, OutputError):
        return str(error)
    return getattr(error, "strerror", None) or find_reason(error)


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it; returns the new ones, innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _create_empty(draft: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH {quote_path(draft)} AS draft (TYPE duckdb, STORAGE_VERSION '{_STORAGE}')")


def upgrade_database(database: Database = None) -> tuple[str, str]:
    """Bring an older database to this version's revision, whole or not at all; returns the revision before and after.

    The file is rewritten, because DuckDB leaves what a migration deletes legible in the blocks it has freed.
    """
    path = locate(database).resolve()  # the file itself, not a link to it, which would be replaced by another file
    if not path.exists():
        raise DatabaseError(f"There is no database at {path}")
    if path.stat().st_nlink > 1:
        raise DatabaseError(f"{path} has several names (hard links), of which an upgrade would replace one; keep one")
    newest = REVISIONS[-1]
    connection = _connect(path, read_only=False)
    try:
        before = _known_revision(connection, path)
    finally:
        connection.close()
    if before is None:
        raise DatabaseError(f"{path} is empty; fill it with: custext --db {path} load FILE --name NAME")
    if before != newest:
        _rewrite_upgraded(path)
    return before, newest


def _rewrite_upgraded(path: Path) -> None:
    """Copy a database, upgrade the copy, and put a copy of that in its place."""
    try:
        with draft_of(path, force=True) as draft, duckdb.connect() as connection:
            when_free(path, lambda: connection.execute(f"ATTACH {quote_path(path)} AS old (TYPE duckdb, READ_ONLY)"))
            upgraded = draft.path.with_name("upgraded.duckdb")
            _copy_database(connection, "old", upgraded)
            _migrate(upgraded)
            connection.execute(f"ATTACH {quote_path(upgraded)} AS upgraded (TYPE duckdb, READ_ONLY)")
            _copy_database(connection, "upgraded", draft.path)
            shutil.copymode(path, draft.path)
            with suppress(OSError):  # only root can give files away
                shutil.chown(draft.path, path.stat().st_uid, path.stat().st_gid)
            draft.publish()  # while the old file is still locked, so that nobody writes to what is being replaced
    except (OSError, OutputError, duckdb.Error) as error:
        raise DatabaseError(f"cannot upgrade {path}: {_tell_reason(error)}; nothing was changed") from None


def _copy_database(connection: duckdb.DuckDBPyConnection, name: str, target: Path) -> None:
    """Copy all that an attached database has to a new file."""
    connection.execute(f"ATTACH {quote_path(target)} AS copied (TYPE duckdb, STORAGE_VERSION '{_STORAGE}')")
    connection.execute(f"COPY FROM DATABASE {name} TO copied")
    connection.execute("DETACH copied")


@contextmanager
def _transaction(path: Path, patience: float | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = _connect(path, read_only=False, patience=patience)
    try:
        if not _is_current(connection, path):
            connection.close()
            _migrate(path)
            connection = _connect(path, read_only=False)
        connection.execute("BEGIN")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):  # an interrupted statement may have ended the transaction
                connection.execute("ROLLBACK")
            raise
    except (duckdb.Error, RuntimeError) as error:
        if "interrupted" in str(error).lower():  # what DuckDB makes of Ctrl-C
            raise KeyboardInterrupt from None
        if not isinstance(error, duckdb.Error):
            raise
        raise DatabaseError(f"cannot write {path}: {find_reason(error)}; nothing was changed") from None
    finally:
        connection.close()


def attach(connection: duckdb.DuckDBPyConnection, database: Database = None, *, copied: bool = False) -> None:
    """Make a database readable as `custext` on a connection in memory, and its tables and macro without that prefix.

    If that is asked for, or this process has the file open already, what is there is a copy of its tables as they are
    now, and the file stays free.
    """
    path = locate(database)
    if copied or not attach_file(connection, path, _CATALOG):
        connection.execute(f"ATTACH ':memory:' AS {_CATALOG}")
        with reading(path) as source:
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


def _connect(path: Path, *, read_only: bool, patience: float | None = None) -> duckdb.DuckDBPyConnection:
    try:
        return open_file(path, read_only=read_only, patience=patience)
    except ForeignFileError:
        raise DatabaseError(f"{path} is not a custext database, nor any DuckDB file; name another with --db") from None


def _is_current(connection: duckdb.DuckDBPyConnection, path: Path) -> bool:
    """True if at this version's revision, False if wholly empty; an error that says what to do otherwise."""
    revision, newest = _known_revision(connection, path), REVISIONS[-1]
    if revision is not None and revision != newest:
        raise DatabaseError(
            f"{path} is at revision {revision} and this version needs {newest}; run: custext --db {path} upgrade"
        )
    return revision is not None


def _known_revision(connection: duckdb.DuckDBPyConnection, path: Path) -> str | None:
    """The database's revision, None if it has no tables; an error if it is newer than this version or not ours."""
    try:
        rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    except duckdb.CatalogException:
        rows = []
    revision = str(rows[0][0]) if rows else None
    if revision in REVISIONS:
        return revision
    names = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if not names:
        return None
    if revision is None or not {"embeddings", "mappings", "settings"} <= names:
        raise DatabaseError(
            f"{path} holds tables of something else; custext keeps its tables in a database of its own: "
            "name another file with --db"
        )
    raise DatabaseError(
        f"{path} is at revision {revision}, written by a newer version of custext-sql; this version knows "
        f"{REVISIONS[-1]}; upgrade it with: pip install --upgrade custext-sql"
    )


def _migrate(path: Path) -> None:
    from custext_sql.store.schema.migrate import upgrade  # Alembic and SQLAlchemy: loaded only when needed

    upgrade(path)
