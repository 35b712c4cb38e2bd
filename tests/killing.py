"""Jobs in separate processes that can be killed at any moment. They start quickly, as forks of a waiting process."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

from tests.processes import start

SCRIPT = """
import json, os, sys, traceback
import alembic.command, duckdb, pyarrow.compute, sqlalchemy
import custext_sql
from custext_sql import build_mapping, load_embeddings, sanitize_file
from custext_sql.store.ledger import table as ledger
from custext_sql.store.schema import migrate
from tests.ledger_entries import enter_release

def load(database, source, name):
    load_embeddings(database, source, name=name)

def map(database, k):
    build_mapping(database, embedding="big", k=k)

def sanitize(database, source, target):
    sanitize_file(source, target, columns="body", eps=1.0, plus=True, force=True, database=database)

def write_ledger(database, count):
    for _ in range(count):
        ledger.update(database, ledger.finish(enter_release(database, "d", largest_row_eps=3)))

print("ready", flush=True)
for line in sys.stdin:
    job, *arguments = json.loads(line)
    child = os.fork()
    if not child:
        try:
            globals()[job](*arguments)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Jobs:
    """A waiting process that runs each job in a new child process."""

    def __enter__(self) -> "Jobs":
        self._stack = ExitStack()
        command = [sys.executable, "-c", SCRIPT]
        self._parent = self._stack.enter_context(
            start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        assert self._read() == "ready"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._stack.close()

    def _read(self) -> str:
        assert self._parent.stdout is not None
        return str(self._parent.stdout.readline()).strip()

    def _start(self, job: str, *arguments: str | Path | int) -> int:
        assert self._parent.stdin is not None
        self._parent.stdin.write(json.dumps([job, *arguments], default=str) + "\n")
        self._parent.stdin.flush()
        return int(self._read())

    def time(self, job: str, *arguments: str | Path | int) -> float:
        """Run a job, and return how many seconds it took."""
        started = time.monotonic()
        self._start(job, *arguments)
        assert self._read() == "0", f"{job} failed"
        return time.monotonic() - started

    def kill(self, job: str, *arguments: str | Path | int, after: float) -> bool:
        """Start a job, kill it `after` seconds, and return whether it was killed before its end."""
        child = self._start(job, *arguments)
        time.sleep(after)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        return int(self._read()) == signal.SIGKILL
