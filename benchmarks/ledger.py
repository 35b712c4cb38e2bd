"""Measures how long releases wait for one another, and what counting the records of a key costs."""

import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

from benchmarks.files import write_texts
from benchmarks.measuring import best_time
from benchmarks.sanitizing import read_corpora
from custext_sql import Dataset, Sanitizer, make_key, sanitize_file
from custext_sql.mechanism.randomness import KeyedRandomness
from custext_sql.sanitizer.tally import Counts
from custext_sql.sql.queries import let_threads_alternate
from custext_sql.store.building import load_starter
from tests.ledger.releasing import read_line, run_processes
from tests.ledger.releasing import write_texts as write_few
from tests.processes import start

ROWS = 10_000_000
PAUSE = 0.2  # seconds between releases during the long one


def main() -> None:
    texts, _ = read_corpora()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = folder / "custext.duckdb"
        load_starter(database)
        write_few(folder / "texts.csv")
        compete(database, folder)
        make_key(folder / "key", database, eps=1.0, plus=True)
        write_texts(folder / "large.parquet", texts, ROWS)
        print(f"\nsanitizing {ROWS:,} sentences with a key, Parquet to Parquet, two threads")
        first = [run_keyed(folder, "bare", "bare"), run_keyed(folder, "counted", "first")]
        second = [run_keyed(folder, "counted", "second"), run_keyed(folder, "bare", "bare")]
        again = run_keyed(folder, "counted", "second")
        bare, counted = min(first[0]["seconds"], second[1]["seconds"]), min(first[1]["seconds"], second[0]["seconds"])
        for label, seconds in (
            ("without counting its records", bare),
            ("counting its records", counted),
            ("a second time, all records known", again["seconds"]),
        ):
            print(f"  {label:34s} {seconds:6.1f} s  ({seconds / bare:.2f}x)")
        runs = [first[1], second[0], again]
        print(f"  peak resident memory               {max(run['megabytes'] for run in runs):6.0f} MB")
        print(f"  longest release of other processes {max(run['longest'] for run in runs):6.2f} s")
        print(f"  size of the ledger                 {size_of(database):6.0f} MB", flush=True)


def compete(database: Path, folder: Path) -> None:
    with run_processes(4, "stay_open", str(database)) as connections:
        assert [read_line(connection) for connection in connections] == ["open"] * 4
        with run_processes(8, "release_many", str(database), str(folder), "{}", "shared", 25) as workers:
            longest = max(read_line(worker) for worker in workers)
    print("\n8 processes make 25 releases each at once, while 4 connections are open")
    print(f"  longest release {longest:.2f} s", flush=True)


def run_keyed(folder: Path, counting: str, dataset: str) -> dict[str, float]:
    """Sanitize the large file in a process of its own, while this one makes small releases."""
    sanitizer, longest = Sanitizer.load(folder / "custext.duckdb"), 0.0
    command = [sys.executable, "-m", "benchmarks.ledger", str(folder), counting, dataset]
    with start(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            longest = max(longest, best_time(lambda: sanitizer.release(["a good film"], 1.0, dataset="small"), runs=1))
            time.sleep(PAUSE)
        assert process.stdout is not None and process.returncode == 0
        return {**json.loads(process.stdout.read()), "longest": longest}


def sanitize_keyed(folder: Path, counting: str, dataset: str) -> None:
    let_threads_alternate()
    used = Dataset(dataset, reuse_key=True)
    source, target = folder / "large.parquet", folder / "out.parquet"

    def release() -> None:
        sanitize_file(
            source,
            target,
            columns="text",
            key_file=folder / "key",
            record_column="id",
            dataset=used,
            force=True,
            database=folder / "custext.duckdb",
        )

    with ExitStack() as stack:
        if counting == "bare":
            stack.enter_context(patch.object(KeyedRandomness, "digest", lambda *_, **__: ()))
            stack.enter_context(patch.object(Counts, "with_digests", lambda counts, *_: counts))
        seconds = best_time(release, runs=1)
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps({"seconds": seconds, "megabytes": peak}))


def size_of(database: Path) -> float:
    return sum(path.stat().st_size for path in database.parent.glob("custext.ledger.sqlite*")) / 1e6


if __name__ == "__main__":
    sanitize_keyed(Path(sys.argv[1]), *sys.argv[2:])
