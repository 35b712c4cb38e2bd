"""Processes that a test starts, and that always end with the test, even if it fails."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

_HOLD = """
import fcntl, sys, time
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_SH if sys.argv[3] == "True" else fcntl.LOCK_EX)  # as DuckDB does
print("open", flush=True)
time.sleep(float(sys.argv[2]))
"""

_LOCK = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(600)
"""


@contextmanager
def start(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process in its own process group; at the end, the whole group is killed, with all children."""

    def listen() -> None:
        for number in (signal.SIGINT, signal.SIGHUP):  # a shell, or nohup, may have set them to be ignored
            signal.signal(number, signal.SIG_DFL)

    with subprocess.Popen(list(map(str, command)), start_new_session=True, preexec_fn=listen, **options) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def hold_open(path: Path, seconds: float = 600.0, *, read_only: bool = False) -> Iterator[subprocess.Popen[Any]]:
    """Let another process keep a DuckDB file open, by default for writing."""
    command = [sys.executable, "-S", "-c", _HOLD, str(path), str(seconds), str(read_only)]
    with start(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "open\n"
        yield process


@contextmanager
def hold_ledger(db: Path) -> Iterator[None]:
    """Let another process write to the ledger beside a database without an end, so that nobody else can write."""
    command = [sys.executable, "-c", _LOCK, str(db.with_name(f"{db.stem}.ledger.sqlite"))]
    with start(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "locked\n"
        yield


def can_write(path: Path) -> bool:
    """Return whether another process can open a DuckDB file for writing now."""
    script = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    command = [sys.executable, "-S", "-c", script, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "BlockingIOError" in done.stderr, done.stderr
    return done.returncode == 0


def find_files(folder: Path, pattern: str = "*") -> list[Path]:
    """Return the files and folders below a folder whose names match a pattern; others may delete some meanwhile."""
    return [
        Path(place, name)
        for place, folders, files in os.walk(folder)
        for name in (*folders, *files)
        if fnmatch(name, pattern)
    ]


def size_of(path: Path) -> int:
    """Return the size of a file; 0 if it is gone."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def wait_for(condition: Callable[[], object], seconds: float = 120.0) -> None:
    """Wait until a condition is true; fail after `seconds`, a limit that suits a busy machine."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        time.sleep(0.05)
