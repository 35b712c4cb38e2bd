"""After a signal, every command ends within ten seconds, whatever DuckDB does, and leaves no partial output."""

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from custext_sql.ledger.entries import PENDING
from tests.ledger_entries import list_releases
from tests.processes import start, wait_for

pytestmark = pytest.mark.slow

CUSTEXT = [sys.executable, "-m", "custext_sql"]
LIMIT = 30.0  # seconds; the guarantee is ten, but a busy machine needs longer
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]

# A pipe that nobody writes to: DuckDB waits in the kernel, where no interrupt reaches it.
STUCK = (
    "SELECT custext_sanitize(t, 1, true) AS t FROM read_csv('pipe.csv', header = false, auto_detect = false, "
    "delim = '|', columns = {'t': 'VARCHAR'})"
)
# The same command, with a query that never gives up waiting for DuckDB.
ENDLESS = "from custext_sql.sql import queries; queries._PATIENCE = 1e9; from custext_sql.cli import main; main()"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "tmp").mkdir()
    os.mkfifo(work / "pipe.csv")
    return work


def run_stuck(command: list[str], folder: Path) -> Any:
    """Start a command that reads from the pipe."""
    environment = {**os.environ, "TMPDIR": str(folder.parent / "tmp")}
    return start(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end(process: Any, number: int) -> None:
    """Send a signal, and check how the process ends."""
    started = time.monotonic()
    os.kill(process.pid, number)
    printed = b"".join(part for part in process.communicate(timeout=60) if part)
    assert time.monotonic() - started < LIMIT
    assert process.returncode == 128 + number, printed
    assert b"Traceback" not in printed


@contextmanager
def stuck(program: list[str], database: Path, folder: Path) -> Iterator[Any]:
    """Run a query that waits for more from the pipe, and yield the process; check that nothing is left of it."""
    writer = os.open(folder / "pipe.csv", os.O_RDWR)
    command = [*program, "--db", str(database), "sql", STUCK, "--output", "out.parquet"]
    try:
        with run_stuck(command, folder) as process:
            os.write(writer, b"alice bob\n" * 1000)
            wait_for(lambda: list(folder.glob(".out.parquet.*.draft")))
            wait_for(lambda: fcntl.ioctl(writer, termios.FIONREAD, bytes(4)) == bytes(4))  # nothing is left in the pipe
            time.sleep(1.0)  # by now DuckDB waits for more
            yield process
    finally:
        os.close(writer)
    assert sorted(path.name for path in folder.iterdir()) == ["pipe.csv"]
    assert list_releases(database) == []


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("program", [CUSTEXT, [sys.executable, "-c", ENDLESS]], ids=["orderly", "endless"])
def test_a_stuck_query_ends_in_time(mapped_db: Path, folder: Path, number: signal.Signals, program: list[str]) -> None:
    with stuck(program, mapped_db, folder) as process:
        end(process, number)
    assert list((folder.parent / "tmp").iterdir()) == []


def test_a_second_signal_ends_at_once(mapped_db: Path, folder: Path) -> None:
    patient = "from custext_sql.cli import ending; ending._PATIENCE = 1e6; "  # after the first signal
    with stuck([sys.executable, "-c", patient + ENDLESS], mapped_db, folder) as process:
        os.kill(process.pid, signal.SIGTERM)
        time.sleep(1.0)
        assert process.poll() is None
        end(process, signal.SIGTERM)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("form", ["file", "table"])
def test_a_release_in_the_middle_leaves_nothing(
    mapped_db: Path, folder: Path, number: signal.Signals, form: str
) -> None:
    with duckdb.connect(folder / "shop.duckdb") as connection:
        connection.execute("CREATE TABLE reviews AS SELECT 'alice bob carol' AS body FROM range(20000000)")
        connection.execute(f"COPY reviews TO '{folder / 'in.parquet'}'")
    forms = {"file": ["in.parquet", "out.parquet"], "table": ["--data", "shop.duckdb", "--table", "reviews", "clean"]}
    command = [*CUSTEXT, "--db", str(mapped_db), "sanitize", *forms[form], "--column", "body"]
    with run_stuck(command, folder) as process:
        wait_for(lambda: list(folder.glob(".*.draft")))
        time.sleep(1.0)
        end(process, number)
    assert sorted(path.name for path in folder.iterdir()) == ["in.parquet", "pipe.csv", "shop.duckdb"]
    with duckdb.connect(folder / "shop.duckdb", read_only=True) as connection:
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("reviews",)]
    assert list_releases(mapped_db) == []


@pytest.mark.parametrize("number", SIGNALS)
def test_a_stream_whose_reader_has_stopped_ends_in_time(mapped_db: Path, folder: Path, number: signal.Signals) -> None:
    """The pipe is full, and the ledger has what was released so far."""
    (folder / "in.txt").write_text("alice bob carol\n" * 500_000)
    command = [*CUSTEXT, "--db", str(mapped_db), "sanitize", "-", "-"]
    with (
        (folder / "in.txt").open() as source,
        start(command, cwd=folder, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process,
    ):
        assert process.stdout is not None
        wait_for(lambda: len(list_releases(mapped_db)) == 1)
        process.stdout.read(100)  # it has started to write
        started = time.monotonic()
        os.kill(process.pid, number)
        process.wait(timeout=60)
        assert time.monotonic() - started < LIMIT
    assert process.returncode == 128 + number
    [release] = list_releases(mapped_db)
    assert release.state == PENDING and release.replaced and release.largest_row_eps == 3.0


def test_an_ignored_signal_stays_ignored(mapped_db: Path, folder: Path) -> None:
    """This is the case under nohup."""
    (folder / "in.txt").write_text("alice\n" * 200_000)
    script = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); from custext_sql.cli import main; main()"
    command = [sys.executable, "-c", script, "--db", str(mapped_db), "sanitize", "in.txt", "out.txt"]
    with run_stuck(command, folder) as process:
        wait_for(lambda: list(folder.glob(".out.txt.*.draft")) or (folder / "out.txt").exists())
        os.kill(process.pid, signal.SIGHUP)
        _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert (folder / "out.txt").exists()
