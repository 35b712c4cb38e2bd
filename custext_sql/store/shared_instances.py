"""Connects to a DuckDB file that this process already has open, through the instance that has it."""

import os
import re
from pathlib import Path
from typing import Any

import duckdb

from custext_sql.errors import DatabaseError
from custext_sql.store.descriptors import list_descriptors
from custext_sql.store.quoting import quote_path

# DuckDB 2.0 writes files in extra threads. If a write fails or is interrupted, they may wait for each other forever (in
# AsyncWriteQueue::AbortWrites): seen in 7 of 60 runs on a full disk. Without them, a failed write is simply an error.
NO_ASYNC_WRITES: dict[str, Any] = {"async_threads": 0}
SETTINGS: dict[str, Any] = {**NO_ASYNC_WRITES, "autoinstall_known_extensions": False}  # do not download extensions
READ: dict[str, Any] = {**SETTINGS, "access_mode": "READ_ONLY"}
WRITE: dict[str, Any] = {**SETTINGS, "memory_limit": "256MB"}  # otherwise DuckDB keeps a large transaction in memory
_ATTACHED_AS = re.compile(r'already attached by database "(.*)"')


def share_instance(path: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection to the instance of the file in this process, whatever its settings."""
    name = _find_attached_name(path)
    usual = {given.name.partition(".")[0] for given in (path, path.resolve())}
    if name is not None and name.removesuffix("_db") not in usual:
        raise refuse_second(path)  # an instance has the name of its file: this one is attached to another
    for read_only, config in ((False, {}), (False, WRITE), (False, READ), (True, {})):
        try:
            return duckdb.connect(path, read_only=read_only, config=config)
        except duckdb.ConnectionException as error:
            if "different configuration" not in str(error):
                raise
        except duckdb.Error as error:
            if "Unique file handle conflict" in str(error):
                _lock_again(path)
            raise
    raise refuse_second(path)


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

    for descriptor in list_descriptors(path):
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
