"""Jobs in separate processes that can be killed at any moment. They start quickly, as forks of a waiting process."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

from tests.processes import start

SCRIPT = """
import json, os, shutil, sys, traceback
from pathlib import Path
import alembic.command, duckdb, pyarrow.compute, sqlalchemy
import custext_sql
from custext_sql import build_mapping, load_embeddings, sanitize_file, sanitize_table
from custext_sql.store import rewriting
from custext_sql.store.rewriting import compact_database, upgrade_database
from custext_sql.store import outputs
from custext_sql.store import migrating, schema
from tests.ledger_entries import complete_release, enter_release

def load(database, source, name):
    load_embeddings(database, source, name=name)

def map(database, k):
    build_mapping(database, embedding="big", k=k)

def sanitize(database, source, target):
    sanitize_file(source, target, columns="body", eps=1.0, plus=True, force=True, database=database)

def append(database, data, key):
    names = {"columns": "body", "record_column": "id", "key_file": key, "database": database}
    sanitize_table(data, "reviews", "clean", append=True, **names)

def write_ledger(database, count):
    for _ in range(count):
        complete_release(database, enter_release(database, "d", largest_row_eps=3))

def compact(database, point):
    die_at(point)
    compact_database(database)

def upgrade(database, scripts, point):  # to a second revision
    schema.REVISIONS, schema.find_scripts = ("0001", "0002"), lambda: Path(scripts)
    die_at(point)
    upgrade_database(database)

def die_at(point):  # before or after one of the steps of rewriting a file
    reached = 0

    def reach():
        nonlocal reached
        reached += 1
        if reached == point:
            os.kill(os.getpid(), 9)

    def watch(module, name):
        step = getattr(module, name)

        def watched(*arguments, **options):
            reach()
            done = step(*arguments, **options)
            reach()
            return done

        setattr(module, name, watched)

    watch(rewriting, "_copy_database")
    watch(rewriting, "find_difference")
    watch(migrating, "upgrade")
    watch(outputs, "_sync")  # of the file, and of its folder once it is in place
    watch(shutil, "rmtree")

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

    def run(self, job: str, *arguments: str | Path | int) -> int:
        """Run a job, and return its wait status: 0, or the signal that ended it."""
        self._start(job, *arguments)
        return int(self._read())

    def time(self, job: str, *arguments: str | Path | int) -> float:
        """Run a job, and return how many seconds it took."""
        started = time.monotonic()
        assert self.run(job, *arguments) == 0, f"{job} failed"
        return time.monotonic() - started

    def kill(self, job: str, *arguments: str | Path | int, after: float) -> bool:
        """Start a job, kill it `after` seconds, and return whether it was killed before its end."""
        child = self._start(job, *arguments)
        time.sleep(after)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        return int(self._read()) == signal.SIGKILL


class Moments:
    """Random delays from the start of a job to a little after its end.

    A busy machine changes its pace, so the expected end moves: jobs that end before they are killed bring it closer.
    """

    def __init__(self, whole: float) -> None:
        self._whole, self._chooser = whole, random.Random(8)

    def kill(self, jobs: Jobs, job: str, *arguments: str | Path | int) -> bool:
        """Start a job, kill it at a random moment, and return whether it was killed before its end."""
        killed = jobs.kill(job, *arguments, after=self._chooser.uniform(0.0, 1.1 * self._whole))
        self._whole *= 1.12 if killed else 0.7
        return killed
