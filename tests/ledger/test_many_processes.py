"""Many processes release at once: no entry is lost, every output has one, and a budget is spent once."""

import random
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from custext_sql import read_ledger
from custext_sql.ledger.entries import COMPLETE, PENDING
from custext_sql.ledger.ledger import find_releases
from tests.killing import Jobs, Moments
from tests.ledger.releasing import EPS, MOST_WORDS, race, read_line, run_processes, write_texts

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "outputs"
    folder.mkdir()
    write_texts(folder / "texts.csv")
    return folder


@pytest.mark.usefixtures("each_ledger")
def test_eight_processes_release_while_four_connections_are_open(mapped_db: Path, folder: Path) -> None:
    with run_processes(4, "stay_open", str(mapped_db)) as connections:
        assert [read_line(connection) for connection in connections] == ["open"] * 4
        with run_processes(8, "release_many", str(mapped_db), str(folder), "{}", "shared", 25) as workers:
            assert all(read_line(worker) > 0 for worker in workers)
        assert [release.state for release in read_ledger(mapped_db, dataset="open").releases] == [PENDING] * 4
        for connection in connections:
            connection.communicate("close\n", timeout=300)
    ledger = read_ledger(mapped_db)
    shared = [release for release in ledger.releases if release.dataset == "shared"]
    assert len(shared) == 200 and {release.state for release in shared} == {COMPLETE}
    assert [release.state for release in ledger.releases if release.dataset == "open"] == [COMPLETE] * 4
    totals = {total.dataset: total.total_eps for total in ledger.totals}
    assert totals["shared"] is not None
    assert Fraction(totals["shared"]) == 200 * Fraction(str(EPS)) * MOST_WORDS
    assert totals["open"] == 4 * 2
    outputs = [path for path in folder.glob("*.csv") if path.name != "texts.csv"]
    assert len(outputs) == 8 * 12
    for output in random.Random(1).sample(outputs, 10):  # two releases may have drawn the same bytes
        assert find_releases(output, mapped_db)


@pytest.mark.usefixtures("each_ledger")
def test_every_output_of_a_killed_process_has_its_entry(mapped_db: Path, folder: Path) -> None:
    source, known = folder / "texts.csv", set[str]()
    killed = 0
    with Jobs() as jobs:
        moments = Moments(jobs.time("sanitize", mapped_db, source, folder / "first.csv"))
        for number in range(50):
            target = folder / f"killed{number}.csv"
            killed += moments.kill(jobs, "sanitize", mapped_db, source, target)
            entered = {release.release_id for release in read_ledger(mapped_db).releases}
            assert entered >= known, "an entry was lost"
            known = entered
            if target.exists():
                assert len(target.read_text().splitlines()) == 1 + 3, "the output is not whole"
                assert find_releases(target, mapped_db), "an output has no entry"
    assert killed >= 10
    if (path := mapped_db.with_suffix(".ledger.sqlite")).exists():
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()


@pytest.mark.usefixtures("each_ledger")
def test_two_processes_never_both_get_the_last_of_a_budget(mapped_db: Path, folder: Path) -> None:
    assert race(str(mapped_db), str(folder), 100) == [1] * 100
    assert len(read_ledger(mapped_db).releases) == 100
