"""Opens, creates and upgrades the files of custext databases. database.py picks the file."""

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from custext_sql.errors import DatabaseError, ForeignFileError, OutputError
from custext_sql.store.files.atomic_outputs import atomic_output
from custext_sql.store.files.duckdb_files import find_reason, open_file, quote_path, when_free
from custext_sql.store.schema.revisions import REVISIONS

_OPTION = "--db (in Python: database)"
_NO_BAR = "SET enable_progress_bar_print = false"  # DuckDB would print one to stdout if a statement takes seconds
_STORAGE = "v1.0.0"  # the oldest file format; tested: DuckDB 1.1.3 to 2.0 read what 2.0 writes in it


@contextmanager
def reading_file(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database for reading only. DatabaseError if it is missing, empty, or at another revision."""
    if not path.exists():
        raise DatabaseError(f"database {path} does not exist; create it with: {_command(path)} load starter")
    connection = _connect(path, read_only=True)
    try:
        if not _is_current(connection, path):
            raise DatabaseError(f"{path} is empty; fill it with: {_command(path)} load FILE --name NAME")
        yield connection
    except duckdb.Error as error:
        raise DatabaseError(f"cannot read {path}: {find_reason(error)}") from None
    finally:
        connection.close()


@contextmanager
def writing_file(path: Path, *, patience: float | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open one transaction on a database; DatabaseError if it is at another revision.

    It commits at the end and rolls back on an error. A new database appears at its path only when the transaction is
    complete. patience: seconds to wait while another process has the file open.
    """
    if path.exists():
        with _transaction(path, patience) as connection:
            yield connection
    else:
        with new_database(path) as unfinished, _transaction(unfinished) as connection:
            yield connection


@contextmanager
def new_database(path: Path) -> Iterator[Path]:
    """Yield the path of an unfinished file, and move it to `path` at the end; an error leaves nothing behind.

    DatabaseError if the file cannot be created, or if another process creates one at `path` in the meantime.
    """
    made: list[Path] = []
    try:
        made = _make_folders(path.parent)
        with atomic_output(path, force=False) as output:
            _create_empty(output.path)
            yield output.path
            if output.path.with_name(f"{output.path.name}.wal").exists():
                raise DatabaseError(f"cannot create {path}: DuckDB did not write all of it; try again")
            output.publish()
    except (OSError, OutputError, duckdb.Error) as error:
        if path.exists():
            raise DatabaseError(f"another process created {path} in the meantime; try again") from None
        raise DatabaseError(f"cannot create {path}: {_find_reason(error)}") from None
    finally:
        for folder in made:
            with suppress(OSError):  # the database is in it now
                folder.rmdir()


def _find_reason(error: Exception) -> str:
    if isinstance(error, OutputError):
        return str(error)
    return getattr(error, "strerror", None) or find_reason(error)


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and its parents, and return those that did not exist, innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _create_empty(path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH {quote_path(path)} AS made (TYPE duckdb, STORAGE_VERSION '{_STORAGE}')")


def upgrade_file(path: Path) -> tuple[str, str]:
    """Upgrade a database to this version's revision, all or nothing, and return the revisions before and after.

    The file is rewritten as a whole: DuckDB leaves deleted data readable in the blocks that a migration frees.
    """
    path = path.resolve()  # a symbolic link would otherwise be replaced by a file
    if not path.exists():
        raise DatabaseError(f"database {path} does not exist")
    if path.stat().st_nlink > 1:
        raise DatabaseError(
            f"{path} has several names (hard links), and an upgrade would replace only one; remove the others"
        )
    newest = REVISIONS[-1]
    connection = _connect(path, read_only=False)
    try:
        before = _known_revision(connection, path)
    finally:
        connection.close()
    if before is None:
        raise DatabaseError(f"{path} is empty; fill it with: {_command(path)} load FILE --name NAME")
    if before != newest:
        _rewrite_upgraded(path)
    return before, newest


def _rewrite_upgraded(path: Path) -> None:
    """Copy a database, upgrade the copy, and replace the database by a compact copy of that."""
    try:
        with atomic_output(path, force=True) as output, duckdb.connect() as connection:
            connection.execute(_NO_BAR)
            when_free(path, lambda: connection.execute(f"ATTACH {quote_path(path)} AS old (TYPE duckdb, READ_ONLY)"))
            upgraded = output.path.with_name("upgraded.duckdb")
            _copy_database(connection, "old", upgraded)
            _migrate(upgraded)
            connection.execute(f"ATTACH {quote_path(upgraded)} AS upgraded (TYPE duckdb, READ_ONLY)")
            _copy_database(connection, "upgraded", output.path)
            shutil.copymode(path, output.path)
            with suppress(OSError):  # only root can change the owner
                shutil.chown(output.path, path.stat().st_uid, path.stat().st_gid)
            output.publish()  # the old file is still locked, so nobody can write to it
    except (OSError, OutputError, duckdb.Error) as error:
        raise DatabaseError(f"cannot upgrade {path}: {_find_reason(error)}; nothing was changed") from None


def _copy_database(connection: duckdb.DuckDBPyConnection, name: str, target: Path) -> None:
    """Copy everything in an attached database to a new file."""
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
        if "interrupted" in str(error).lower():  # how DuckDB reports Ctrl-C
            raise KeyboardInterrupt from None
        if not isinstance(error, duckdb.Error):
            raise
        raise DatabaseError(f"cannot write {path}: {find_reason(error)}; nothing was changed") from None
    finally:
        connection.close()


def _connect(path: Path, *, read_only: bool, patience: float | None = None) -> duckdb.DuckDBPyConnection:
    try:
        connection = open_file(path, read_only=read_only, patience=patience)
    except ForeignFileError:
        raise DatabaseError(
            f"{path} is not a custext database (nor any DuckDB file); name another one: {_OPTION}"
        ) from None
    connection.execute(_NO_BAR)
    return connection


def _is_current(connection: duckdb.DuckDBPyConnection, path: Path) -> bool:
    """Return True at this version's revision, False if the database has no tables; DatabaseError otherwise."""
    revision, newest = _known_revision(connection, path), REVISIONS[-1]
    if revision is not None and revision != newest:
        raise DatabaseError(
            f"{path} is at revision {revision} and this version needs {newest}; run: {_command(path)} upgrade"
        )
    return revision is not None


def _known_revision(connection: duckdb.DuckDBPyConnection, path: Path) -> str | None:
    """Return the revision of a database, or None if it has no tables.

    DatabaseError if it was written by a newer version, or is not a custext database.
    """
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
            f"{path} is not a custext database: it has tables of another program; name another file: {_OPTION}"
        )
    raise DatabaseError(
        f"{path} is at revision {revision}, written by a newer version of custext-sql; this version supports up to "
        f"{REVISIONS[-1]}; upgrade with: pip install --upgrade custext-sql"
    )


def _command(path: Path) -> str:
    return f"custext --db {shlex.quote(str(path))}"


def _migrate(path: Path) -> None:
    from custext_sql.store.schema.migrate import upgrade  # loads Alembic and SQLAlchemy

    upgrade(path)
