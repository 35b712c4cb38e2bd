"""Opens DuckDB files so that this process never loses a lock that it holds on one.

DuckDB locks files by POSIX rules: as soon as a process closes any descriptor of a file, all its locks on that file are
gone, those of descriptors still in use included, and another process may write to what this one has open. (Seen: a
corrupt database.) So a file that this process has open is never opened a second time. It is read through the connection
that has it, where that is known, or through DuckDB's own cache of instances; and nothing here looks into a file by any
other means than DuckDB.
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

_OFFLINE: dict[str, Any] = {"autoinstall_known_extensions": False}  # none is fetched for files of another make
_READ: dict[str, Any] = {**_OFFLINE, "access_mode": "READ_ONLY"}
_WRITE: dict[str, Any] = {**_OFFLINE, "memory_limit": "256MB"}  # else DuckDB holds a large transaction in memory
_TICK = 0.1  # seconds between two attempts
_DESCRIPTORS = (Path("/proc/self/fd"), Path("/dev/fd"))  # where a system lists those of this process
_ATTACHED_AS = re.compile(r'already attached by database "(.*)"')

_Result = TypeVar("_Result")

_opening = threading.RLock()  # so that no thread opens a file between another one's look and its opening
_holders: list["_Holder"] = []
_inherited: frozenset[tuple[int, int]] = frozenset()  # files that the parent had open, in a fork


@dataclass(frozen=True)
class _Holder:
    """A connection whose instance has a file, and the name it has there. is_main: the instance is the file's own."""

    file: tuple[int, int]  # device and inode
    connection: "ref[duckdb.DuckDBPyConnection]"
    name: str
    is_main: bool = False


def open_file(path: Path, *, read_only: bool, patience: float | None = None) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file once no other process has it, or share what this process has open of it.

    patience: seconds to wait for others, PATIENCE if not given. The connection is to be closed, and its default catalog
    is the file's.
    """

    def attempt() -> duckdb.DuckDBPyConnection:
        with _opening:
            if not is_open_here(path):
                return connect_file(path, _READ if read_only else _WRITE)
            if not read_only and _identify(path) in _inherited:
                raise DatabaseError(f"cannot write {path}: this process is a fork of one that has it open")
            holder, is_main = _find_holder(path)
            if holder is not None and read_only:
                return holder
            if holder is not None:
                holder.close()
            if holder is None or is_main:
                return _share_instance(_find_open_name(path))
            raise DatabaseError(
                f"cannot write {path}: this process has it attached in another connection; close that first"
            )

    return when_free(path, attempt, patience)


def connect_file(path: Path, config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """Connect to a DuckDB file that this process does not have open; refuse files of other formats.

    DuckDB itself takes a CSV, JSON or Parquet file for a wish to see it as a view, in a database in memory.
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
    """Attach a file for reading, unless this process has it open already; return whether it was attached."""

    def attempt() -> bool:
        with _opening:
            if is_open_here(path):
                return False
            connection.execute(f"ATTACH {quote_path(path)} AS {name} (TYPE duckdb, READ_ONLY)")
            _holders.append(_Holder(_identify(path), ref(connection), name))
            return True

    return when_free(path, attempt)


def detach_all() -> None:
    """Detach the files that were attached here, at the end of a process whose connections are still open."""
    with _opening:
        for holder in [holder for holder in _holders if not holder.is_main]:
            connection = holder.connection()
            if connection is not None:
                with suppress(duckdb.Error):
                    connection.execute("SET search_path = 'memory'")
                    connection.execute(f"DETACH {holder.name}")
                    _holders.remove(holder)


def note_attached(cursor: duckdb.DuckDBPyConnection, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Remember a connection whose owner has a file open in it, so that the file is read through it.

    cursor: one of the connection's, to ask on without ending what the connection itself is doing.
    """
    rows = cursor.execute(
        "SELECT database_name, path FROM duckdb_databases() WHERE NOT internal ORDER BY database_oid"
    ).fetchall()  # the first is the instance's own
    for place, (name, attached) in enumerate(rows):
        with suppress(OSError):
            if attached and Path(attached).samefile(path):
                with _opening:
                    _holders.append(_Holder(_identify(path), ref(connection), str(name), is_main=place == 0))
                return


def when_free(path: Path, attempt: Callable[[], _Result], patience: float | None = None) -> _Result:
    """Attempt to open a file until no other process has it; what else is wrong is said in plain words."""
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
                raise DatabaseError(f"{path} is in use by another process; try again when it is done") from None
        time.sleep(_TICK)


def quote_path(path: Path) -> str:
    """Return a path as a string of SQL."""
    return quote_text(str(path))


def is_open_here(path: Path) -> bool:
    """Tell whether this process has a descriptor of the file, without making one."""
    return bool(_list_descriptors(path))


def find_reason(error: Exception) -> str:
    """Return why DuckDB failed, in words that quote nothing."""
    return tell_failure(str(error)) or f"DuckDB's {type(error).__name__.removesuffix('Exception')} error"


def _list_descriptors(path: Path) -> list[int]:
    """Return the descriptors that this process has of a file."""
    found = []
    with suppress(OSError):  # no such file
        wanted = _identify(path)
        for descriptor in _list_all_descriptors():
            with suppress(OSError):
                status = os.fstat(descriptor)
                if (status.st_dev, status.st_ino) == wanted:
                    found.append(descriptor)
    return found


def _list_all_descriptors() -> list[int]:
    """Return those of this process; none on a system where closing one unlocks no other."""
    folder = next((folder for folder in _DESCRIPTORS if folder.is_dir()), None)
    return [] if folder is None else [int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal()]


def _identify(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _find_holder(path: Path) -> tuple[duckdb.DuckDBPyConnection | None, bool]:
    """Return a cursor on a connection that is known to have the file, and whether its instance is the file's own."""
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
        except duckdb.Error:  # closed, or detached by now
            _holders.remove(holder)
    return None, False


def _find_open_name(path: Path) -> Path:
    """Return the name by which this process has a file open: DuckDB knows files by their names, not their links."""
    for descriptor in _list_descriptors(path):
        with suppress(OSError):
            name = (_DESCRIPTORS[0] / str(descriptor)).readlink()
            if name.samefile(path):
                return name
    if path.stat().st_nlink > 1:
        raise _refuse_second(path)
    return path


def _note_inherited() -> None:
    """Remember, in a fork, which files it has from its parent: what it wrote there would be lost."""
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
    """Return a connection to the instance that this process has of the file, with whatever settings it was made."""
    name = _find_attached_name(path)
    usual = {given.name.partition(".")[0] for given in (path, path.resolve())}
    if name is not None and name.removesuffix("_db") not in usual:
        raise _refuse_second(path)  # DuckDB names an instance after its file: somebody attached this to another one
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
    """Return the name under which some instance of this process has the file; None: none has.

    With its type given, DuckDB finds the conflict before it opens the file.
    """
    with duckdb.connect() as scratch:
        try:
            scratch.execute(f"ATTACH {quote_path(path)} AS custext_probe (TYPE duckdb)")
        except duckdb.Error as error:
            found = _ATTACHED_AS.search(str(error))
            return None if found is None else found[1]
    return None


def _lock_again(path: Path) -> None:
    """Take a lock again that DuckDB has just lost: to tell a file's type, it opened and closed what was attached."""
    import fcntl

    for descriptor in _list_descriptors(path):
        writes = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        try:
            fcntl.lockf(descriptor, (fcntl.LOCK_EX if writes else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError:
            raise DatabaseError(
                f"{path}: another process opened it while this one had it attached, and either may now corrupt it; "
                "close it here at once"
            ) from None


def _refuse_second(path: Path) -> DatabaseError:
    return DatabaseError(
        f"cannot open {path}: this process has it open already, in another connection; close that first, or use it: "
        "custext_sql.register(connection)"
    )
