"""Opens DuckDB files in such a way that this process never loses a lock on one.

DuckDB uses POSIX locks: as soon as a process closes any descriptor of a file, it loses all its locks on that file, even
those of descriptors still in use, and another process may write to the open file. (This has corrupted a database.) So a
file that this process has open is never opened a second time. It is used through the connection that has it, if this
module opened or was shown that connection, and refused otherwise. Nothing here looks into a file except through DuckDB.

A file may be replaced by another (see rewriting.py) after DuckDB has opened it and before DuckDB locks it. What is
written to such a file would be lost, so every file is checked once it is locked.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from weakref import ref

import duckdb

from custext_sql.errors import DamagedFileError, DatabaseError, ForeignFileError, tell_failure
from custext_sql.store.quoting import quote_name, quote_path

PATIENCE = 5.0  # seconds to wait while another process has a file open

# DuckDB 2.0 writes files in extra threads. If a write fails or is interrupted, they may wait for each other forever (in
# AsyncWriteQueue::AbortWrites): seen in 7 of 60 runs on a full disk. Without them, a failed write is simply an error.
NO_ASYNC_WRITES: dict[str, Any] = {"async_threads": 0}
SETTINGS: dict[str, Any] = {**NO_ASYNC_WRITES, "autoinstall_known_extensions": False}  # do not download extensions
_READ: dict[str, Any] = {**SETTINGS, "access_mode": "READ_ONLY"}
_WRITE: dict[str, Any] = {**SETTINGS, "memory_limit": "256MB"}  # otherwise DuckDB keeps a large transaction in memory

_TICK = 0.1  # seconds between attempts
_DESCRIPTORS = (Path("/proc/self/fd"), Path("/dev/fd"))  # where the system lists the descriptors of this process
_LOCKED = "IO Error: Could not set lock on file "
_FOREIGN = re.compile(r"IO Error: (?:Extension |The file .* is not a valid DuckDB database file!$)", re.DOTALL)
_NEWER = re.compile(
    r"IO Error: Trying to read a database file with .* created with a newer version of DuckDB", re.DOTALL
)
CUT_OFF = (  # how messages about files begin that are incomplete
    "IO Error: Could not read enough bytes from file ",
    "IO Error: Failure while replaying WAL file ",
    "INTERNAL Error: Failure while replaying WAL file ",
)

_Result = TypeVar("_Result")
_FileID = tuple[int, int]  # device and inode

_opening = threading.RLock()  # held from the check whether a file is open until it is opened
_holders: list["_Holder"] = []


class _AgainError(Exception):
    """A file must be opened again, for example because it was replaced while it was being opened.

    Its text, if any, says what to do if that does not help.
    """


@dataclass(frozen=True)
class _Holder:
    """A connection whose instance has a file open, under a name. inherited: by a fork, whose writes would be lost."""

    file: _FileID
    connection: "ref[duckdb.DuckDBPyConnection]"
    name: str
    inherited: bool = False


def open_file(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """Return a connection to a DuckDB file; if this process already has the file open, they share its instance.

    The file is the default catalog. The caller closes the connection. DatabaseError if it cannot be opened;
    ForeignFileError if it is not a DuckDB file.
    """

    def attempt() -> duckdb.DuckDBPyConnection:
        with _opening:
            if not is_open_here(path):
                connection = connect_file(path, _READ if read_only else _WRITE)
                if _was_replaced(path):
                    connection.close()
                    raise _AgainError
                _note_first(path, connection, _list_databases(connection)[0][0])
                return connection
            holder, cursor = _find_holder(path)
            if not read_only and (problem := _find_obstacle(path, holder, cursor)):
                cursor.close()
                raise problem
            _holders.append(_Holder(holder.file, ref(cursor), holder.name, holder.inherited))
            return cursor

    return when_free(path, attempt)


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
    if not _list_databases(connection)[0][1]:
        connection.close()
        raise ForeignFileError(f"{path} is not a DuckDB file")
    return connection


def attach_file(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> bool:
    """Attach a file for reading, unless this process already has it open, and return whether it was attached."""

    def attempt() -> bool:
        with _opening:
            if is_open_here(path):
                return False
            _attach(connection, path, name, "READ_ONLY")
            _note_first(path, connection, name)
            return True

    return when_free(path, attempt)


def note_attached(cursor: duckdb.DuckDBPyConnection, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Remember a connection if it has a file open, so that the file is used through it.

    cursor: a cursor of the connection, so that a result of the connection itself stays open.
    """
    for name, attached in _list_databases(cursor):
        with suppress(OSError):
            if attached and Path(attached).samefile(path):
                with _opening:
                    _holders.append(_Holder(_identify(path), ref(connection), name))
                return


@contextmanager
def hold_still(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> Iterator[None]:
    """Attach a file so that no other process can open it, and no other thread opens it, until the end.

    The file is complete without a write-ahead log, so it can be replaced. DatabaseError if this process has it open.
    """
    log = _name_log(path)

    def attempt() -> None:
        before = log.stat() if log.exists() else None
        _attach(connection, path, name, "READ_WRITE")
        if log.exists():  # a process was killed; the new file must not get its log
            connection.execute(f"DETACH {name}")  # DuckDB writes the log into the file, and deletes it
            if before is not None and log.exists() and log.stat() == before:
                raise DatabaseError(f"{log}: DuckDB cannot read this log; restore a backup, or move the log away")
            raise _AgainError

    with _opening:
        if is_open_here(path):
            raise refuse_second(path)
        when_free(path, attempt)
        try:
            yield
        finally:
            connection.execute(f"DETACH {name}")


@contextmanager
def private_log(path: Path) -> Iterator[None]:
    """Give the write-ahead log the permissions of its database, as SQLite does: DuckDB would let every user read it.

    DuckDB creates the log on the first commit, and writes to an empty one that is already there.
    """
    path = path.resolve()  # DuckDB writes the log beside the file itself, not beside a link to it
    log = _name_log(path)
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, path.stat().st_mode & 0o666)
    except OSError:  # another connection of this process created it
        yield
        return
    os.close(descriptor)
    try:
        yield
    finally:
        if log.exists() and not log.stat().st_size:  # nothing was changed
            log.unlink()


def when_free(path: Path, attempt: Callable[[], _Result]) -> _Result:
    """Call `attempt`, which opens a file, until no other process has the file open, and return its result.

    DatabaseError after PATIENCE seconds, or if the file cannot be opened for another reason; DamagedFileError if it is
    damaged, ForeignFileError if it is not a DuckDB file.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        busy = f"{path} is in use by another process; try again later"
        try:
            return attempt()
        except duckdb.Error as error:
            message = str(error)
            if "Unique file handle conflict" in message or "different configuration" in message:
                raise refuse_second(path) from None
            if _FOREIGN.match(message):
                raise ForeignFileError(f"{path} is not a DuckDB file") from None
            if not message.startswith(_LOCKED):
                refuse = DamagedFileError if is_damaged(error) else DatabaseError
                raise refuse(f"cannot open {path}: {find_reason(error)}") from None
        except _AgainError as error:
            busy = str(error) or busy
        if time.monotonic() > deadline:
            raise DatabaseError(busy)
        time.sleep(_TICK)


def refuse_second(path: Path) -> DatabaseError:
    """Return the error for a file that this process already has open in a connection that cannot be shared."""
    return DatabaseError(
        f"cannot open {path}: this process already has it open in another connection; close that connection first, or "
        "use it: custext_sql.register(connection)"
    )


def find_reason(error: Exception) -> str:
    """Return why DuckDB failed, without quoting its message."""
    if is_damaged(error):
        return "the file is damaged; restore a backup of it"
    if _NEWER.match(str(error)):
        return "a newer version of DuckDB wrote it; run: pip install --upgrade duckdb"
    return tell_failure(str(error)) or f"DuckDB's {type(error).__name__.removesuffix('Exception')} error"


def is_damaged(error: Exception) -> bool:
    """Return whether DuckDB reports that a file, or its write-ahead log, is damaged or incomplete.

    DuckDB's error type for wrong checksums has no class of its own in Python: only the base class stands for it.
    """
    return type(error) is duckdb.Error or str(error).startswith(CUT_OFF)


def is_open_here(path: Path) -> bool:
    """Return whether this process has the file open, found out without opening it, and under any of its names.

    False on systems that do not list descriptors: closing one releases no lock of another there.
    """
    try:
        return _identify(path) in (_list_open_files() or ())
    except OSError:  # the file does not exist
        return False


def _was_replaced(path: Path) -> bool:
    """Return whether the file that this process has just opened is no longer at its path.

    False on systems that do not list descriptors; they do not let a file be replaced while it is open.
    """
    return _list_open_files() is not None and not is_open_here(path)


def _list_open_files() -> set[_FileID] | None:
    folder = next((folder for folder in _DESCRIPTORS if folder.is_dir()), None)
    if folder is None:
        return None
    found = set()
    for descriptor in [int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal()]:
        with suppress(OSError):
            status = os.fstat(descriptor)
            found.add((status.st_dev, status.st_ino))
    return found


def _identify(path: Path) -> _FileID:
    status = path.stat()
    return status.st_dev, status.st_ino


def _name_log(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def _list_databases(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str | None]]:
    """Return the name and the file of each database of an instance, the main one first."""
    return connection.execute(
        "SELECT database_name, path FROM duckdb_databases() WHERE NOT internal ORDER BY database_oid"
    ).fetchall()


def _attach(connection: duckdb.DuckDBPyConnection, path: Path, name: str, mode: str) -> None:
    connection.execute(f"ATTACH {quote_path(path)} AS {quote_name(name)} (TYPE duckdb, {mode})")
    if _was_replaced(path):
        connection.execute(f"DETACH {quote_name(name)}")
        raise _AgainError


def _note_first(path: Path, connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Remember the only connection that has the file open, and forget those that had it before."""
    first = _Holder(_identify(path), ref(connection), name)
    _holders[:] = [*(holder for holder in _holders if holder.file != first.file), first]


def _find_holder(path: Path) -> tuple[_Holder, duckdb.DuckDBPyConnection]:
    """Return a known holder of a file with a cursor of its connection; DatabaseError if none is known."""
    wanted = _identify(path)
    known = [holder for holder in _holders if holder.file == wanted]
    for holder in known:
        with suppress(duckdb.Error):  # it was closed or detached in the meantime
            if (connection := holder.connection()) is not None:
                cursor = connection.cursor()
                cursor.execute(f"USE {quote_name(holder.name)}")
                return holder, cursor
    if known:  # perhaps another thread is about to close the file
        raise _AgainError(str(refuse_second(path)))
    raise refuse_second(path)


def _find_obstacle(path: Path, holder: _Holder, cursor: duckdb.DuckDBPyConnection) -> Exception | None:
    """Return the error if nothing can be written to a file through this connection; None if it can."""
    if holder.inherited:
        return DatabaseError(f"cannot write {path}: this process was forked from one that has it open")
    if _list_databases(cursor)[0][0] != holder.name:
        return DatabaseError(
            f"cannot write {path}: this process has it attached to another connection; close that first"
        )
    query = "SELECT readonly FROM duckdb_databases() WHERE database_name = current_database()"
    if cursor.execute(query).fetchall() == [(True,)]:
        return _AgainError(f"{path} is being read by this process; close what reads it, or try again later")
    return None


def _note_fork() -> None:
    """Remember, in a fork, that its parent has these files open: what the fork wrote to them would be lost."""
    global _opening
    _opening = threading.RLock()  # a thread that the fork does not have may hold that of the parent
    _holders[:] = [_Holder(holder.file, holder.connection, holder.name, inherited=True) for holder in _holders]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
