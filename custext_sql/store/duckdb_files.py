"""Opens DuckDB files in such a way that this process never loses a lock on one.

DuckDB uses POSIX locks: as soon as a process closes any descriptor of a file, it loses all its locks on that file, even
those of descriptors still in use, and another process may write to the open file. (This has corrupted a database.) So a
file that this process has open is never opened a second time. It is read through the connection that has it, if that is
known, or through DuckDB's own cache of instances. Nothing here looks into a file except through DuckDB.

DuckDB 2.0 reads the headers of a file before it locks the file, unless it is told that the file is one of its own (by
`duckdb:PATH`, or `TYPE duckdb` in ATTACH). If another process writes or replaces the file in between, these headers are
of an earlier state: the file then seems to be damaged, and what the other process wrote is lost. So nothing is opened
without that. Even so, a file may be replaced (see rewriting.py) after DuckDB has opened it and before DuckDB locks it.
What is written to such a file would be lost, so every file is checked once it is locked.
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

# DuckDB 2.0 writes files in extra threads. If a write fails or is interrupted, they may wait for each other forever (in
# AsyncWriteQueue::AbortWrites): seen in 7 of 60 runs on a full disk. Without them, a failed write is simply an error.
NO_ASYNC_WRITES: dict[str, Any] = {"async_threads": 0}
SETTINGS: dict[str, Any] = {**NO_ASYNC_WRITES, "autoinstall_known_extensions": False}  # do not download extensions
_READ: dict[str, Any] = {**SETTINGS, "access_mode": "READ_ONLY"}
_WRITE: dict[str, Any] = {**SETTINGS, "memory_limit": "256MB"}  # otherwise DuckDB keeps a large transaction in memory
_PREFIX = "duckdb:"  # names the format, so that DuckDB does not look into a file before it locks it
_ATTACHED_AS = re.compile(r'already attached by database "(.*)"')

PATIENCE = 5.0  # seconds to wait while another process has a file open

_TICK = 0.1  # seconds between attempts
_LOCKED = "IO Error: Could not set lock on file "
_FOREIGN = re.compile(r"IO Error: The file .* is not a valid DuckDB database file!$", re.DOTALL)
_NEWER = re.compile(
    r"IO Error: Trying to read a database file with .* created with a newer version of DuckDB", re.DOTALL
)
_DAMAGED = re.compile(  # how messages about damaged or incomplete files, and their logs, begin
    "(?:(?:Data Corruption|IO|INTERNAL) Error: )?"
    "(?:Corrupt|Data corruption|Could not read enough bytes from file |Failure while replaying WAL file )"
)

_FOLDERS = (Path("/proc/self/fd"), Path("/dev/fd"))  # where the system lists the descriptors of this process

_FileID = tuple[int, int]  # device and inode
_Result = TypeVar("_Result")

_opening = threading.RLock()  # held from the check whether a file is open until it is opened
_holders: list["_Holder"] = []
_inherited: frozenset[_FileID] = frozenset()  # in a fork: files that the parent had open


class _AgainError(Exception):
    """A file must be opened again, for example because it was replaced while it was being opened.

    Its text, if any, says what to do if that does not help.
    """


@dataclass(frozen=True)
class _Holder:
    """A connection whose instance has a file open, under a name. is_main: as its main database, not attached."""

    file: _FileID
    connection: "ref[duckdb.DuckDBPyConnection]"
    name: str
    is_main: bool = False


def open_file(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """Return a connection to a DuckDB file; if this process already has the file open, they share its instance.

    The file is the default catalog. The caller closes the connection. DatabaseError if it cannot be opened;
    ForeignFileError if it is not a DuckDB file.
    """

    def attempt() -> duckdb.DuckDBPyConnection:
        with _opening:
            if not is_open_here(path):
                connection = connect_file(path.resolve(), _READ if read_only else _WRITE)
                if _was_replaced(path):
                    connection.close()
                    raise _AgainError
                return connection
            if not read_only and _identify(path) in _inherited:
                raise DatabaseError(f"cannot write {path}: this process was forked from one that has it open")
            holder, is_main = _find_holder(path)
            if holder is not None and read_only:
                return holder
            if holder is not None:
                holder.close()
            if holder is None or is_main:
                shared = _share_instance(_find_shared_name(path))
                if read_only or not _is_read_only(shared):
                    return shared
                shared.close()
                raise _AgainError(f"{path} is being read by this process; close what reads it, or try again later")
            raise DatabaseError(
                f"cannot write {path}: this process has it attached to another connection; close that first"
            )

    return when_free(path, attempt)


def connect_file(path: Path, config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """Connect to a file that this process does not have open; DuckDB raises an IO error if it is of another format."""
    spill = {"temp_directory": f"{path}.tmp"}  # as by default, which DuckDB would derive from the prefix too
    return duckdb.connect(f"{_PREFIX}{path}", config={**spill, **config})


def _is_read_only(connection: duckdb.DuckDBPyConnection) -> bool:
    found = connection.execute("SELECT readonly FROM duckdb_databases() WHERE database_name = current_database()")
    return found.fetchall() == [(True,)]


def attach_file(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> bool:
    """Attach a file for reading, unless this process already has it open, and return whether it was attached."""

    def attempt() -> bool:
        with _opening:
            if is_open_here(path):
                return False
            _attach(connection, path, name, "READ_ONLY")
            _holders.append(_Holder(_identify(path), ref(connection), name))
            return True

    return when_free(path, attempt)


@contextmanager
def hold_still(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> Iterator[None]:
    """Attach a file so that no other process can open it, and no other thread opens it, until the end.

    The file is complete without a write-ahead log, so it can be replaced. DatabaseError if this process has it open.
    """
    log = path.with_name(f"{path.name}.wal")

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


def _attach(connection: duckdb.DuckDBPyConnection, path: Path, name: str, mode: str) -> None:
    connection.execute(f"ATTACH {quote_path(path)} AS {quote_name(name)} (TYPE duckdb, {mode})")
    if _was_replaced(path):
        connection.execute(f"DETACH {quote_name(name)}")
        raise _AgainError


@contextmanager
def private_log(path: Path) -> Iterator[None]:
    """Give the write-ahead log the permissions of its database, as SQLite does: DuckDB would let every user read it.

    DuckDB creates the log on the first commit, and writes to an empty one that is already there.
    """
    path = path.resolve()  # DuckDB writes the log beside the file itself, not beside a link to it
    log = path.with_name(f"{path.name}.wal")
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


def find_reason(error: Exception) -> str:
    """Return why DuckDB failed, without quoting its message."""
    if is_damaged(error):
        return "the file is damaged; restore a backup of it"
    if _NEWER.match(str(error)):
        return "a newer version of DuckDB wrote it; run: pip install --upgrade duckdb"
    kind = type(error).__name__.removesuffix("Exception")
    return tell_failure(str(error)) or ("an error of DuckDB" if kind == "Error" else f"DuckDB's {kind} error")


def is_damaged(error: Exception) -> bool:
    """Return whether DuckDB says that a file, or its write-ahead log, is damaged or incomplete."""
    return _DAMAGED.match(str(error)) is not None


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
                cursor.execute(f"USE {quote_name(holder.name)}")
                return cursor, holder.is_main
        except duckdb.Error:  # closed or detached in the meantime
            _holders.remove(holder)
    return None, False


def _find_shared_name(path: Path) -> Path:
    """Return the path under which this process has a file open, since DuckDB treats two links as two files."""
    name = _find_open_name(path)
    if name is None and path.stat().st_nlink > 1:
        raise refuse_second(path)
    return name or path


def _share_instance(path: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection to the instance of the file in this process, whatever its settings."""
    usual = {given.name.partition(".")[0] for given in (path, path.resolve())}
    for config in (_WRITE, _READ):
        try:
            return connect_file(path.resolve(), config)
        except duckdb.Error as error:
            attached = _ATTACHED_AS.search(str(error))
            if attached is not None and attached[1].removesuffix("_db") in usual:
                break  # a user's own connection, if the instance has the name of its file; a second try may open it
            if "different configuration" not in str(error):
                raise
    for read_only in (False, True):
        try:
            return duckdb.connect(path, read_only=read_only)
        except duckdb.Error as error:
            if "Unique file handle conflict" in str(error):
                _lock_again(path)
            if "different configuration" not in str(error):
                raise
    raise refuse_second(path)


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


def refuse_second(path: Path) -> DatabaseError:
    """Return the error for a file that this process already has open in a connection that cannot be shared."""
    return DatabaseError(
        f"cannot open {path}: this process already has it open in another connection; close that connection first, or "
        "use it: custext_sql.register(connection)"
    )


def _identify(path: Path) -> _FileID:
    """Return what identifies a file, whatever its name; OSError if it does not exist."""
    status = path.stat()
    return status.st_dev, status.st_ino


def is_open_here(path: Path) -> bool:
    """Return whether this process has the file open."""
    return bool(_list_descriptors(path))


def _was_replaced(path: Path) -> bool:
    """Return whether the file that this process has just opened is no longer at its path.

    False on systems that do not list descriptors; they do not let a file be replaced while it is open.
    """
    return _find_folder() is not None and not is_open_here(path)


def _list_descriptors(path: Path) -> list[int]:
    """Return the descriptors of a file in this process."""
    with suppress(OSError):  # the file does not exist
        wanted = _identify(path)
        return [descriptor for descriptor, found in _identify_all().items() if found == wanted]
    return []


def _find_open_name(path: Path) -> Path | None:
    """Return the path under which this process has a file open, or None if the system does not tell."""
    for descriptor in _list_descriptors(path):
        with suppress(OSError):
            name = (_FOLDERS[0] / str(descriptor)).readlink()
            if name.samefile(path):
                return name
    return None


def _identify_all() -> dict[int, _FileID]:
    """Return the file of each descriptor; none on systems where closing one releases no lock of another."""
    folder = _find_folder()
    names = [] if folder is None else [entry.name for entry in folder.iterdir()]
    found = {}
    for descriptor in map(int, filter(str.isdecimal, names)):
        with suppress(OSError):
            status = os.fstat(descriptor)
            found[descriptor] = (status.st_dev, status.st_ino)
    return found


def _find_folder() -> Path | None:
    return next((folder for folder in _FOLDERS if folder.is_dir()), None)


def _note_inherited() -> None:
    """Remember, in a fork, which files the parent had open: what the fork wrote to them would be lost."""
    global _inherited, _opening
    _inherited = frozenset(_identify_all().values())
    _opening = threading.RLock()  # a thread that the fork does not have may hold that of the parent


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_inherited)
