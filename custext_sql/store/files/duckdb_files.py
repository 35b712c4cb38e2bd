"""Opens DuckDB files in such a way that this process never loses a lock on one.

DuckDB uses POSIX locks: as soon as a process closes any descriptor of a file, it loses all its locks on that file, even
those of descriptors still in use, and another process may write to the open file. (This has corrupted a database.) So a
file that this process has open is never opened a second time. It is read through the connection that has it, if that is
known, or through DuckDB's own cache of instances. Nothing here looks into a file except through DuckDB.
"""

import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from weakref import ref

import duckdb

from custext_sql.errors import DatabaseError, ForeignFileError, tell_failure
from custext_sql.store.files.quoting import quote_text

PATIENCE = 5.0  # seconds to wait while another process has a file open

_OFFLINE: dict[str, Any] = {"autoinstall_known_extensions": False}  # download no extension for files of other formats
_READ: dict[str, Any] = {**_OFFLINE, "access_mode": "READ_ONLY"}
_WRITE: dict[str, Any] = {**_OFFLINE, "memory_limit": "256MB"}  # otherwise DuckDB keeps a large transaction in memory
_TICK = 0.1  # seconds between attempts
_DESCRIPTORS = (Path("/proc/self/fd"), Path("/dev/fd"))  # where the system lists the descriptors of this process
_ATTACHED_AS = re.compile(r'already attached by database "(.*)"')

_Result = TypeVar("_Result")

_opening = threading.RLock()  # held from the check whether a file is open until it is opened
_holders: list["_Holder"] = []
_inherited: frozenset[tuple[int, int]] = frozenset()  # in a fork: files that the parent had open


@dataclass(frozen=True)
class _Holder:
    """A connection whose instance has a file open, under a name. is_main: as its main database, not attached."""

    file: tuple[int, int]  # device and inode
    connection: "ref[duckdb.DuckDBPyConnection]"
    name: str
    is_main: bool = False


def open_file(path: Path, *, read_only: bool, patience: float | None = None) -> duckdb.DuckDBPyConnection:
    """Return a connection to a DuckDB file; if this process already has the file open, they share its instance.

    The file is the default catalog. The caller closes the connection. patience: seconds to wait while another process
    has the file open, by default PATIENCE. DatabaseError if it cannot be opened; ForeignFileError if it is not a DuckDB
    file.
    """

    def attempt() -> duckdb.DuckDBPyConnection:
        with _opening:
            if not is_open_here(path):
                return connect_file(path, _READ if read_only else _WRITE)
            if not read_only and _identify(path) in _inherited:
                raise DatabaseError(f"cannot write {path}: this process was forked from one that has it open")
            holder, is_main = _find_holder(path)
            if holder is not None and read_only:
                return holder
            if holder is not None:
                holder.close()
            if holder is None or is_main:
                return _share_instance(_find_open_name(path))
            raise DatabaseError(
                f"cannot write {path}: this process has it attached to another connection; close that first"
            )

    return when_free(path, attempt, patience)


def connect_file(path: Path, config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """Connect to a DuckDB file that this process does not have open; ForeignFileError for files of other formats.

    DuckDB itself would open a CSV, JSON or Parquet file as a view in a database in memory.
    """
    try:
        connection = duckdb.connect(path, config=config)
    except duckdb.CatalogException as error:
        if "in-memory database in read-only mode" not in str(error):
            raise
        raise ForeignFileError(f"{path} is not a DuckDB file") from None
    opened = connection.execute(
        "SELECT path FROM duckdb_databases() WHERE NOT internal ORDER BY database_oid"
    ).fetchall()
    if not opened[0][0]:
        connection.close()
        raise ForeignFileError(f"{path} is not a DuckDB file")
    return connection


def attach_file(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> bool:
    """Attach a file for reading, unless this process already has it open, and return whether it was attached."""

    def attempt() -> bool:
        with _opening:
            if is_open_here(path):
                return False
            connection.execute(f"ATTACH {quote_path(path)} AS {name} (TYPE duckdb, READ_ONLY)")
            _holders.append(_Holder(_identify(path), ref(connection), name))
            return True

    return when_free(path, attempt)


def detach_all() -> None:
    """Detach all files that `attach_file` attached. Call this when the process ends with open connections."""
    with _opening:
        for holder in [holder for holder in _holders if not holder.is_main]:
            connection = holder.connection()
            if connection is not None:
                with suppress(duckdb.Error):
                    connection.execute("SET search_path = 'memory'")
                    connection.execute(f"DETACH {holder.name}")
                    _holders.remove(holder)


def note_attached(cursor: duckdb.DuckDBPyConnection, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Remember a user's connection if it has a file open, so that the file is read through it.

    cursor: a cursor of the connection, so that a result of the connection itself stays open.
    """
    rows = cursor.execute(
        "SELECT database_name, path FROM duckdb_databases() WHERE NOT internal ORDER BY database_oid"
    ).fetchall()  # the first row is the main database of the instance
    for place, (name, attached) in enumerate(rows):
        with suppress(OSError):
            if attached and Path(attached).samefile(path):
                with _opening:
                    _holders.append(_Holder(_identify(path), ref(connection), str(name), is_main=place == 0))
                return


def when_free(path: Path, attempt: Callable[[], _Result], patience: float | None = None) -> _Result:
    """Call `attempt`, which opens a file, until no other process has the file open, and return its result.

    patience: seconds to wait, by default PATIENCE. DatabaseError after that, or if the file cannot be opened for
    another reason; ForeignFileError if it is not a DuckDB file.
    """
    deadline = time.monotonic() + (PATIENCE if patience is None else patience)
    while True:
        try:
            return attempt()
        except duckdb.Error as error:
            message = str(error)
            if "Unique file handle conflict" in message or "different configuration" in message:
                raise _refuse_second(path) from None
            if "not a valid DuckDB database file" in message or message.startswith("IO Error: Extension "):
                raise ForeignFileError(f"{path} is not a DuckDB file") from None
            if "lock" not in message.lower():
                raise DatabaseError(f"cannot open {path}: {find_reason(error)}") from None
            if time.monotonic() > deadline:
                raise DatabaseError(f"{path} is in use by another process; try again later") from None
        time.sleep(_TICK)


def quote_path(path: Path) -> str:
    """Return a path as a SQL string literal."""
    return quote_text(str(path))


def is_open_here(path: Path) -> bool:
    """Return whether this process has the file open, without opening it."""
    return bool(_list_descriptors(path))


def find_reason(error: Exception) -> str:
    """Return why DuckDB failed, without quoting its message."""
    return tell_failure(str(error)) or f"DuckDB's {type(error).__name__.removesuffix('Exception')} error"


def _list_descriptors(path: Path) -> list[int]:
    """Return the descriptors of a file in this process."""
    found = []
    with suppress(OSError):  # the file does not exist
        wanted = _identify(path)
        for descriptor in _list_all_descriptors():
            with suppress(OSError):
                status = os.fstat(descriptor)
                if (status.st_dev, status.st_ino) == wanted:
                    found.append(descriptor)
    return found


def _list_all_descriptors() -> list[int]:
    """Return all descriptors of this process; none on systems where closing one releases no lock of another."""
    folder = next((folder for folder in _DESCRIPTORS if folder.is_dir()), None)
    return [] if folder is None else [int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal()]


def _identify(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _find_holder(path: Path) -> tuple[duckdb.DuckDBPyConnection | None, bool]:
    """Return a cursor of a known connection to the file, or None, and whether the file is its main database."""
    wanted = _identify(path)
    for holder in tuple(_holders):
        connection = holder.connection()
        try:
            if connection is None:
                raise duckdb.ConnectionException("gone")
            if holder.file == wanted:
                cursor = connection.cursor()
                cursor.execute(f'USE "{holder.name}"')
                return cursor, holder.is_main
        except duckdb.Error:  # closed or detached in the meantime
            _holders.remove(holder)
    return None, False


def _find_open_name(path: Path) -> Path:
    """Return the path under which this process has a file open, since DuckDB treats two links as two files."""
    for descriptor in _list_descriptors(path):
        with suppress(OSError):
            name = (_DESCRIPTORS[0] / str(descriptor)).readlink()
            if name.samefile(path):
                return name
    if path.stat().st_nlink > 1:
        raise _refuse_second(path)
    return path


def _note_inherited() -> None:
    """Remember, in a fork, which files the parent had open: what the fork wrote to them would be lost."""
    global _inherited
    found = set()
    for descriptor in _list_all_descriptors():
        with suppress(OSError):
            status = os.fstat(descriptor)
            found.add((status.st_dev, status.st_ino))
    _inherited = frozenset(found)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_inherited)


def _share_instance(path: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection to the instance of the file in this process, whatever its settings."""
    name = _find_attached_name(path)
    usual = {given.name.partition(".")[0] for given in (path, path.resolve())}
    if name is not None and name.removesuffix("_db") not in usual:
        raise _refuse_second(path)  # an instance has the name of its file: this one is attached to another
    for read_only, config in ((False, {}), (False, _WRITE), (False, _READ), (True, {})):
        try:
            return duckdb.connect(path, read_only=read_only, config=config)
        except duckdb.ConnectionException as error:
            if "different configuration" not in str(error):
                raise
        except duckdb.Error as error:
            if "Unique file handle conflict" in str(error):
                _lock_again(path)
            raise
    raise _refuse_second(path)


def _find_attached_name(path: Path) -> str | None:
    """Return the name under which an instance of this process has the file open, or None.

    Since the type is given, DuckDB reports the conflict before it opens the file.
    """
    with duckdb.connect() as scratch:
        try:
            scratch.execute(f"ATTACH {quote_path(path)} AS custext_probe (TYPE duckdb)")
        except duckdb.Error as error:
            found = _ATTACHED_AS.search(str(error))
            return None if found is None else found[1]
    return None


def _lock_again(path: Path) -> None:
    """Lock a file again: DuckDB lost its lock when it opened and closed the attached file to find out its type."""
    import fcntl

    for descriptor in _list_descriptors(path):
        writes = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        try:
            fcntl.lockf(descriptor, (fcntl.LOCK_EX if writes else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError:
            raise DatabaseError(
                f"{path}: another process opened it while this process had it attached, and either may now corrupt it; "
                "close it in this process now"
            ) from None


def _refuse_second(path: Path) -> DatabaseError:
    return DatabaseError(
        f"cannot open {path}: this process already has it open in another connection; close that connection first, or "
        "use it: custext_sql.register(connection)"
    )
