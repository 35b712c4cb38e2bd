"""Connects to a DuckDB file that this process already has open, through the instance that has it."""

import os
import re
from pathlib import Path
from typing import Any

import duckdb

from custext_sql.errors import DatabaseError
from custext_sql.store.descriptors import list_descriptors

# DuckDB 2.0 writes files in extra threads. If a write fails or is interrupted, they may wait for each other forever (in
# AsyncWriteQueue::AbortWrites): seen in 7 of 60 runs on a full disk. Without them, a failed write is simply an error.
NO_ASYNC_WRITES: dict[str, Any] = {"async_threads": 0}
SETTINGS: dict[str, Any] = {**NO_ASYNC_WRITES, "autoinstall_known_extensions": False}  # do not download extensions
READ: dict[str, Any] = {**SETTINGS, "access_mode": "READ_ONLY"}
WRITE: dict[str, Any] = {**SETTINGS, "memory_limit": "256MB"}  # otherwise DuckDB keeps a large transaction in memory
PREFIX = "duckdb:"  # names the format, so that DuckDB does not look into a file before it locks it
_ATTACHED_AS = re.compile(r'already attached by database "(.*)"')


def share_instance(path: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection to the instance of the file in this process, whatever its settings."""
    usual = {given.name.partition(".")[0] for given in (path, path.resolve())}
    for name in (f"{PREFIX}{path}", path):  # the second for a user's own connection
        for read_only, config in ((False, {}), (False, WRITE), (False, READ), (True, {})):
            try:
                return duckdb.connect(name, read_only=read_only, config=config)
            except duckdb.ConnectionException as error:
                if "different configuration" not in str(error):
                    raise
            except duckdb.Error as error:
                attached = _ATTACHED_AS.search(str(error))
                if attached is None:
                    raise
                if name == path:
                    _lock_again(path)
                    raise
                if attached[1].removesuffix("_db") not in usual:
                    raise refuse_second(path) from None  # an instance has the name of its file: this is another's
                break
    raise refuse_second(path)


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
