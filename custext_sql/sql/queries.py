"""Runs statements in DuckDB so that they end even after a signal, on a full disk, or if a thread hangs."""

import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb

from custext_sql.errors import FULL, QueryError

KEEP_PROGRESS = "SET enable_progress_bar = true; SET enable_progress_bar_print = false"  # otherwise DuckDB keeps none

_TICK = 0.2  # seconds between two checks of a query's progress
_PATIENCE = 2.0  # seconds for an interrupted query to end and for a connection to close: DuckDB may hang forever
_STILL = 10.0  # seconds without progress, on a full disk, after which a statement that writes counts as stuck
_ROOM = 2**20  # a disk with fewer free bytes is full


def let_threads_alternate() -> None:
    """Make Python switch threads more often: on two cores, queries run at least a fifth faster.

    It is a setting of the whole process, so programs should call this, not libraries.
    """
    sys.setswitchinterval(0.0003)


def close_in_time(connection: duckdb.DuckDBPyConnection) -> None:
    """Close a connection, but do not wait forever: a query that ignores its interruption would keep it open."""

    def close() -> None:
        with suppress(duckdb.Error):  # the connection may refuse, being busy with such a query
            connection.close()

    closing = threading.Thread(target=close, daemon=True)
    closing.start()
    closing.join(_PATIENCE)


def fetch(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    limit: int | None = None,
    *,
    writes: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[tuple[Any, ...]]:
    """Run a statement and return its rows, at most `limit` of them.

    writes: the file that the statement writes; QueryError if its disk is full and the statement makes no progress.
    progress: called with the share done meanwhile.

    The statement runs in a thread of its own, so that Ctrl-C always reaches this one: within a function that DuckDB
    calls, it could be lost. If DuckDB ignores an interrupt, that thread is left behind.
    """
    outcome: list[Any] = []
    begun, done = threading.Event(), threading.Event()  # an interrupted `start` or `join` does not know its thread

    def work() -> None:
        begun.set()
        try:
            result = connection.execute(statement)
            outcome.append(result.fetchall() if limit is None else result.fetchmany(limit))
        except BaseException as error:
            outcome.append(error)
        finally:
            done.set()

    share, moved = 0.0, time.monotonic()
    try:
        threading.Thread(target=work, name="custext-query", daemon=True).start()
        while not done.wait(_TICK):
            before, share = share, max(share, connection.query_progress() / 100.0)  # -1 if unknown
            if progress is not None:
                progress(min(share, 1.0))
            if writes is None or share > before or not _is_on_full_disk(writes):
                moved = time.monotonic()
            elif time.monotonic() > moved + _STILL:
                raise QueryError(FULL)
    except BaseException:
        deadline = time.monotonic() + _PATIENCE
        while begun.wait(1.0) and not done.wait(_TICK) and time.monotonic() < deadline:
            connection.interrupt()  # repeatedly: an interrupt that comes before the query has begun is lost
        raise
    [rows] = outcome
    if isinstance(rows, BaseException):
        raise rows
    return list(rows)


def _is_on_full_disk(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _ROOM
    except OSError:  # the folder is gone; DuckDB will say so
        return False
