"""Releases in processes of their own, which share one ledger."""

import json
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from custext_sql import Dataset, Sanitizer, connect, sanitize_file
from custext_sql.errors import BudgetError
from tests.processes import start

TEXTS = ["alice met bob", "carol dave erin frank", "zzz 12"]
MOST_WORDS = 4  # of one of the texts
EPS = 0.1

_WAIT = 300  # seconds until a process that does not answer has failed


def write_texts(path: Path) -> None:
    """Write the texts to a CSV file with the column `body`."""
    path.write_text("body\n" + "".join(f"{text}\n" for text in TEXTS))


def release_many(db: str, folder: str, name: str, dataset: str, count: int) -> float:
    """Make releases, every second one a file, and return the seconds that the slowest took."""
    sanitizer, slowest = Sanitizer.load(db), 0.0
    for number in range(count):
        started = time.monotonic()
        if number % 2:
            target = Path(folder) / f"{name}-{number}.csv"
            sanitize_file(Path(folder) / "texts.csv", target, columns="body", eps=EPS, dataset=dataset, database=db)
        else:
            sanitizer.release(TEXTS, EPS, dataset=dataset)
        slowest = max(slowest, time.monotonic() - started)
    return slowest


def stay_open(db: str) -> None:
    """Draw on a connection, say so, and keep it open until a line comes in."""
    with connect(db, dataset="open") as connection:
        connection.execute("SELECT custext_sanitize('alice met bob', 1.0, false)").fetchall()
        print(json.dumps("open"), flush=True)
        sys.stdin.readline()


@contextmanager
def run_processes(count: int, job: str, *arguments: object) -> Iterator[list["subprocess.Popen[str]"]]:
    """Start processes that run a function of this module; `{}` in an argument is the number of the process."""
    with ExitStack() as stack:
        made = []
        for number in range(count):
            given = json.dumps([str(part).format(number) if isinstance(part, str) else part for part in arguments])
            command = [sys.executable, "-m", "tests.ledger.releasing", job, given]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            made.append(stack.enter_context(start(command, **pipes)))
        yield made


def read_line(process: "subprocess.Popen[str]") -> Any:
    """Return what a process printed next."""
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def race(db: str, folder: str, turns: int) -> list[int]:
    """Let two processes release the last of a budget at the same moment; return how many did so, in each turn."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    racers = [context.Process(target=_race, args=(db, folder, turns, place, barrier, results)) for place in range(2)]
    for racer in racers:
        racer.start()
    released = [results.get(timeout=_WAIT) for _ in racers]
    for racer in racers:
        racer.join()
    return [sum(both) for both in zip(*released, strict=True)]


def _race(db: str, folder: str, turns: int, place: int, barrier: Any, results: Any) -> None:
    sanitizer, done = Sanitizer.load(db), []
    budget = 1.5 * EPS * MOST_WORDS  # for one release, not for two
    for turn in range(turns):
        dataset, target = Dataset(f"turn {turn}", budget), Path(folder) / f"{place}-{turn}.csv"
        barrier.wait(_WAIT)
        try:
            if turn % 2:
                sanitizer.release(TEXTS, EPS, dataset=dataset)
            else:
                source = Path(folder) / "texts.csv"
                sanitize_file(source, target, columns="body", eps=EPS, dataset=dataset, database=db)
            done.append(True)
        except BudgetError:
            assert not target.exists()
            done.append(False)
    results.put(done)


if __name__ == "__main__":
    jobs: dict[str, Callable[..., Any]] = {"release_many": release_many, "stay_open": stay_open}
    print(json.dumps(jobs[sys.argv[1]](*json.loads(sys.argv[2]))))
