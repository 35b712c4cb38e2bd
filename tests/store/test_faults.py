"""A process killed at any moment, or a full disk, loses no earlier data and leaves nothing half done."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest

from custext_sql import list_mappings, load_mapping
from custext_sql.ledger.entries import COMPLETE, PENDING
from custext_sql.store.contents import list_embeddings
from tests.killing import Jobs, Moments
from tests.ledger_entries import list_releases
from tests.vector_samples import stored_vectors, write_glove

pytestmark = pytest.mark.slow

KILLS = 30
WORDS = 5000
ROWS = 60_000


@pytest.fixture(scope="module")
def jobs() -> Iterator[Jobs]:
    with Jobs() as ready:
        yield ready


@pytest.fixture(scope="module")
def big_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vector file with enough words that loading takes a moment."""
    vectors = np.random.default_rng(0).normal(size=(WORDS, 50)).astype(np.float32)
    names = [f"w{index}" for index in range(len(vectors))]
    return write_glove(tmp_path_factory.mktemp("big") / "big.txt", names, vectors)


def test_killed_while_loading(jobs: Jobs, mapped_db: Path, big_file: Path, tmp_path: Path) -> None:
    moments = Moments(jobs.time("load", tmp_path / "other.duckdb", big_file, "big"))
    before, info = stored_vectors(mapped_db, "small"), load_mapping(mapped_db).info
    killed = 0
    for number in range(KILLS):
        killed += moments.kill(jobs, "load", mapped_db, big_file, f"big{number}")
        tokens, vectors = stored_vectors(mapped_db, "small")
        assert tokens == before[0]
        assert vectors.tobytes() == before[1].tobytes()
        assert load_mapping(mapped_db).info == info
        done = f"big{number}" in {embedding.name for embedding in list_embeddings(mapped_db)}
        assert len(stored_vectors(mapped_db, f"big{number}")[0]) == (WORDS if done else 0)
    assert killed > KILLS / 3
    jobs.time("load", mapped_db, big_file, "big")
    assert len(stored_vectors(mapped_db, "big")[0]) == WORDS


def test_killed_while_making_a_database(jobs: Jobs, db_path: Path, big_file: Path, tmp_path: Path) -> None:
    moments = Moments(jobs.time("load", tmp_path / "other.duckdb", big_file, "big"))
    for _ in range(20):
        moments.kill(jobs, "load", db_path, big_file, "big")
        if db_path.exists():
            assert len(stored_vectors(db_path, "big")[0]) == WORDS
            db_path.unlink()


def test_killed_while_mapping(jobs: Jobs, mapped_db: Path, big_file: Path) -> None:
    jobs.time("load", mapped_db, big_file, "big")
    moments = Moments(jobs.time("map", mapped_db, 20))
    kept = load_mapping(mapped_db, "big-euclidean-k20").info
    for number in range(KILLS):
        moments.kill(jobs, "map", mapped_db, 30 + number)
        infos, default = list_mappings(mapped_db)
        assert default == "small-euclidean-k4"
        assert kept in infos
        for info in infos[-2:]:
            assert load_mapping(mapped_db, info.name).info == info  # its fingerprint matches


def test_killed_while_sanitizing(jobs: Jobs, mapped_db: Path, tmp_path: Path) -> None:
    """The output is complete, absent or unchanged, and the ledger has every output that appeared."""
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT i AS id, 'alice bob carol ' || i AS body FROM range({ROWS}) r(i)) TO '{source}' "
            "(FORMAT parquet)"
        )
    moments = Moments(jobs.time("sanitize", mapped_db, source, target))
    target.unlink()
    killed, appeared = 0, 1
    for number in range(KILLS):
        old = b"precious" if number % 2 else None
        if old is not None:
            target.write_bytes(old)
        killed += moments.kill(jobs, "sanitize", mapped_db, source, target)
        releases = list_releases(mapped_db)
        assert {release.state for release in releases} <= {PENDING, COMPLETE}
        if target.exists() and target.read_bytes() != old:
            appeared += 1
            with duckdb.connect() as connection:
                assert connection.execute(f"SELECT count(*), max(id) FROM '{target}'").fetchall() == [(ROWS, ROWS - 1)]
        assert sum(release.state == COMPLETE for release in releases) <= appeared <= len(releases)
        target.unlink(missing_ok=True)
    assert killed > KILLS / 3
    for left in tmp_path.glob(".*.draft"):
        os.utime(left, (0, 0))  # not touched for a long time
    jobs.time("sanitize", mapped_db, source, target)
    assert [path.name for path in tmp_path.iterdir() if "draft" in path.name] == []


def test_killed_while_writing_the_ledger(jobs: Jobs, mapped_db: Path) -> None:
    moments = Moments(jobs.time("write_ledger", mapped_db, 5))
    info = load_mapping(mapped_db).info
    known = {release.release_id: release.state for release in list_releases(mapped_db)}
    for _ in range(KILLS):
        moments.kill(jobs, "write_ledger", mapped_db, 5)
        found = {release.release_id: release.state for release in list_releases(mapped_db)}
        assert found.items() >= known.items() and len(found) - len(known) <= 5
        assert sum(state == PENDING for state in found.values()) - sum(s == PENDING for s in known.values()) <= 1
        known = found
    assert load_mapping(mapped_db).info == info


FULL = """
import sys
from pathlib import Path
from custext_sql import CusTextError, load_embeddings, load_mapping
from custext_sql.store.contents import list_embeddings
from custext_sql.cli import main
from tests.ledger_entries import list_releases
from custext_sql.store import schema
from click.testing import CliRunner

disk, big, source, database, scripts = map(Path, sys.argv[1:])
own = disk / "custext.duckdb"
own.write_bytes(database.read_bytes())
info = load_mapping(own).info

def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])

before = sorted(path.name for path in disk.iterdir())
done = run("--db", database, "sanitize", source, disk / "out.parquet", "--column", "body", "--policy", "paper")
assert done.exit_code == 1 and "Traceback" not in done.output, done.output
print(done.output)
assert sorted(path.name for path in disk.iterdir()) == before, list(disk.iterdir())
assert list_releases(database) == []
try:
    load_embeddings(own, big, name="big")
    raise SystemExit("the disk was not full")
except CusTextError as error:
    print(error)
assert load_mapping(own).info == info and [one.name for one in list_embeddings(own)] == ["small"]

before = own.read_bytes()
given = schema.REVISIONS, schema.find_scripts
for command in ("compact", "upgrade"):
    if command == "upgrade":
        schema.REVISIONS, schema.find_scripts = ("0001", "0002"), lambda: scripts
    done = run("--db", own, command)
    assert done.exit_code == 1 and "the disk is full; nothing was changed" in done.output, done.output
    assert own.read_bytes() == before and sorted(path.name for path in disk.iterdir()) == ["custext.duckdb"]
schema.REVISIONS, schema.find_scripts = given

(disk / "filler").write_bytes(b"")
with (disk / "filler").open("wb", buffering=0) as filler:
    try:
        while filler.write(bytes(4096)):
            pass
    except OSError:
        pass
target = big.with_name("elsewhere.csv")
lines = big.with_name("lines.csv")
lines.write_text("id,body\\n1,alice\\n")
done = run("--db", own, "sanitize", lines, target, "--column", "body")
print(done.output)
assert done.exit_code == 1 and not target.exists(), "what cannot be entered is not released"
assert f"cannot write the ledger {disk / 'custext.ledger.sqlite'}: " in done.output, done.output
assert "full; nothing was released" in done.output, done.output
(disk / "filler").unlink()
assert list_releases(own) == []
done = run("--db", own, "sanitize", lines, target, "--column", "body")
assert done.exit_code == 0 and target.exists(), done.output
assert [release.state for release in list_releases(own)] == ["complete"]
assert load_mapping(own).info == info
"""


def test_a_full_disk_leaves_everything_as_it_was(
    mapped_db: Path, big_file: Path, next_scripts: Path, tmp_path: Path
) -> None:
    """The disk is a real one, in memory; the database fits, with half a megabyte to spare."""
    source, disk = tmp_path / "in.parquet", tmp_path / "disk"
    disk.mkdir()
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT i AS id, 'alice bob carol dave ' || md5(i::VARCHAR) AS body FROM range(300000) r(i)) "
            f"TO '{source}' (FORMAT parquet)"
        )
    size = mapped_db.stat().st_size // 1024 + 512
    command = f"mount -t tmpfs -o size={size}k tmpfs '{disk}' && exec \"$@\""
    places = map(str, (disk, big_file, source, mapped_db, next_scripts))
    script = [sys.executable, "-c", textwrap.dedent(FULL), *places]
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    done = subprocess.run(
        ["unshare", "--mount", *as_root, "sh", "-c", command, "sh", *script],
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare" in done.stderr and "ot permitted" in done.stderr:
        pytest.skip("this machine lets nobody mount a small disk")
    assert done.returncode == 0, done.stdout + done.stderr
