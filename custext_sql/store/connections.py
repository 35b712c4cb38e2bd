"""Opens, creates and upgrades the files of custext databases; which file is meant is decided in database.py."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from custext_sql.errors import DatabaseError, ForeignFileError, OutputError
from custext_sql.store.files.atomic_outputs import atomic_output
from custext_sql.store.files.duckdb_files import find_reason, open_file, quote_path, when_free
from custext_sql.store.schema.revisions import REVISIONS

_STORAGE = "v1.0.0"  # the oldest file format; DuckDB 1.1.3 to 2.0 were seen to read what 2.0 writes in it


@contextmanager
def reading_file(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database that is up to date, for reading only."""
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
def writing_file(path: Path, *, patience: float | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open one transaction on a database that is up to date.

    It commits at the end and rolls back on an error. A database that was not there is made beside its place and
    appears there only when the transaction is complete. patience: seconds to wait while another process has it open.
    """
    if path.exists():
        with _transaction(path, patience) as connection:
            yield connection
    else:
        with new_database(path) as unfinished, _transaction(unfinished) as connection:
            yield connection


@contextmanager
def new_database(path: Path) -> Iterator[Path]:
    """Yield an unfinished file, moved to `path` at the end unless another process came first; errors leave nothing."""
    made: list[Path] = []
    try:
        made = _make_folders(path.parent)
        with atomic_output(path, force=False) as output:
            _create_empty(output.path)
            yield output.path
            if output.path.with_name(f"{output.path.name}.wal").exists():
                raise DatabaseError(f"cannot create {path}: DuckDB left some of it unwritten; run the command again")
            output.publish()
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


def _create_empty(path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH {quote_path(path)} AS made (TYPE duckdb, STORAGE_VERSION '{_STORAGE}')")


def upgrade_file(path: Path) -> tuple[str, str]:
    """Bring an older database to this version's revision, whole or not at all; returns the revision before and after.

    The file is rewritten, because DuckDB leaves what a migration deletes legible in the blocks it has freed.
    """
    path = path.resolve()  # the file itself, not a link to it, which would be replaced by another file
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
        with atomic_output(path, force=True) as output, duckdb.connect() as connection:
            when_free(path, lambda: connection.execute(f"ATTACH {quote_path(path)} AS old (TYPE duckdb, READ_ONLY)"))
            upgraded = output.path.with_name("upgraded.duckdb")
            _copy_database(connection, "old", upgraded)
            _migrate(upgraded)
            connection.execute(f"ATTACH {quote_path(upgraded)} AS upgraded (TYPE duckdb, READ_ONLY)")
            _copy_database(connection, "upgraded", output.path)
            shutil.copymode(path, output.path)
            with suppress(OSError):  # only root can give files away
                shutil.chown(output.path, path.stat().st_uid, path.stat().st_gid)
            output.publish()  # while the old file is still locked, so that nobody writes to what is being replaced
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
