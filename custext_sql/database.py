"""Finds, opens and creates custext databases. A connection is open only inside `reading` or `writing`."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import platformdirs

from custext_sql.distribution_macro import write_distribution_macro
from custext_sql.errors import DatabaseError
from custext_sql.revisions import REVISIONS

Database = str | os.PathLike[str] | None

_STORAGE = "v1.0.0"  # the oldest file format; DuckDB 1.1.3 to 2.0 were seen to read what 2.0 writes in it
_READ: dict[str, Any] = {"access_mode": "READ_ONLY"}
_WRITE: dict[str, Any] = {"memory_limit": "256MB"}  # without a limit, DuckDB holds a whole large transaction in memory
_LOCK_PATIENCE = 5.0  # seconds to wait while another process has the file open
_STALE = 3600.0  # seconds after which another process's unfinished new database is taken for abandoned


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
        raise DatabaseError(
            f"There is no database at {path}; create it with: custext --db {path} load FILE --name NAME"
        )
    connection = _connect(path, read_only=True)
    try:
        if not _is_current(connection, path):
            raise DatabaseError(f"{path} is empty; fill it with: custext --db {path} load FILE --name NAME")
        yield connection
    except duckdb.Error as error:
        raise DatabaseError(f"cannot read {path}: {_first_line(error)}") from error
    finally:
        connection.close()


@contextmanager
def writing(database: Database = None, *, patience: float = _LOCK_PATIENCE) -> Iterator[duckdb.DuckDBPyConnection]:
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
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    made: list[Path] = []
    try:
        made = _make_folders(path.parent)
        _remove_abandoned_drafts(path)
        _create_empty(draft)
        yield draft
        try:
            os.link(draft, path)  # unlike a rename, this never replaces a database that appeared meanwhile
        except FileExistsError:
            raise DatabaseError(f"{path} was created by another process meanwhile; run the command again") from None
        except OSError:  # a file system without links
            draft.rename(path)
    except (OSError, duckdb.Error) as error:
        raise DatabaseError(f"cannot create {path}: {getattr(error, 'strerror', None) or _first_line(error)}") from None
    finally:
        for leftover in (draft, draft.with_name(draft.name + ".wal")):
            with suppress(OSError):
                leftover.unlink(missing_ok=True)
        for folder in made:
            with suppress(OSError):  # it holds the database now
                folder.rmdir()


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it; returns the new ones, innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _remove_abandoned_drafts(path: Path) -> None:
    for other in path.parent.iterdir():
        if other.name.startswith(f".{path.name}.") and ".draft" in other.name:
            with suppress(FileNotFoundError):  # another process may do the same
                if time.time() - other.stat().st_mtime > _STALE:
                    other.unlink()


def _create_empty(draft: Path) -> None:
    draft.unlink(missing_ok=True)
    with duckdb.connect() as connection:
        quoted = str(draft).replace("'", "''")
        connection.execute(f"ATTACH '{quoted}' AS draft (STORAGE_VERSION '{_STORAGE}')")


def upgrade_database(database: Database = None) -> tuple[str, str]:
    """Bring an older database to this version's revision, in one transaction; returns the revision before and after."""
    path = locate(database)
    if not path.exists():
        raise DatabaseError(f"There is no database at {path}")
    newest = REVISIONS[-1]
    connection = _connect(path, read_only=False)
    try:
        before = _known_revision(connection, path)
    finally:
        connection.close()
    if before is None:
        raise DatabaseError(f"{path} is empty; fill it with: custext --db {path} load FILE --name NAME")
    if before != newest:
        _migrate(path)
    return before, newest


@contextmanager
def _transaction(path: Path, patience: float = _LOCK_PATIENCE) -> Iterator[duckdb.DuckDBPyConnection]:
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
        raise DatabaseError(f"cannot write {path}: {_first_line(error)}; nothing was changed") from error
    finally:
        connection.close()


def attach(connection: duckdb.DuckDBPyConnection, database: Database = None) -> None:
    """Make a database readable as `custext` on a connection in memory, and its tables and macro without that prefix."""
    path = locate(database)
    quoted = str(path).replace("'", "''")
    when_free(path, lambda: connection.execute(f"ATTACH '{quoted}' AS custext (READ_ONLY)"))
    connection.execute("SET search_path = 'memory,custext'")
    connection.execute(write_distribution_macro("custext.main."))  # it reads these tables, whatever others there are


def _connect(path: Path, *, read_only: bool, patience: float = _LOCK_PATIENCE) -> duckdb.DuckDBPyConnection:
    _check_file(path)
    return when_free(path, lambda: _open_instance(path, _READ if read_only else _WRITE), patience)


def when_free(
    path: Path, open_file: Callable[[], duckdb.DuckDBPyConnection], patience: float = _LOCK_PATIENCE
) -> duckdb.DuckDBPyConnection:
    """Open a file, once no other process has it."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return open_file()
        except duckdb.Error as error:
            if "Unique file handle conflict" in str(error):
                raise DatabaseError(
                    f"cannot open {path}: this process has it open already; close that connection first"
                ) from None
            if "lock" not in str(error).lower():
                raise DatabaseError(f"cannot open {path}: {_first_line(error)}") from None
            if time.monotonic() > deadline:
                raise DatabaseError(f"{path} is in use by another process; try again when it is done") from None
        time.sleep(0.1)


def is_duckdb_file(path: Path) -> bool:
    """Whether it is one, or empty; asked before DuckDB tries to fetch an extension for what it does not know."""
    try:
        with path.open("rb") as file:
            head = file.read(12)
    except OSError as error:
        raise DatabaseError(f"cannot open the database {path}: {error.strerror}") from None
    return not head or head[8:] == b"DUCK"


def _check_file(path: Path) -> None:
    if not is_duckdb_file(path):
        raise DatabaseError(f"{path} is not a custext database, nor any DuckDB file; name another with --db")


def _open_instance(path: Path, wanted: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """A connection with these settings, or with those of the instance that this process has open already."""
    for read_only, config in ((False, wanted), (False, {}), (False, _WRITE), (False, _READ), (True, {})):
        try:
            return duckdb.connect(path, read_only=read_only, config=config)
        except duckdb.ConnectionException as error:
            if "different configuration" not in str(error):
                raise
    raise DatabaseError(f"cannot open {path}: this process has it open already; close that connection first")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


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
    from custext_sql.migrate import upgrade  # Alembic and SQLAlchemy: loaded only when needed

    upgrade(path)
