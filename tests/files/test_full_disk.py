"""On a full disk, every release ends with an error that names the file, and leaves nothing behind."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from custext_sql import Sanitizer, connect
from custext_sql.files.duckdb_instances import open_instance
from custext_sql.ledger.release import Release
from custext_sql.sql.nested_query import open_for_query
from custext_sql.store.duckdb_files import open_file
from tests.ledger_entries import list_releases
from tests.processes import start

CUSTEXT = [sys.executable, "-m", "custext_sql"]
TRIES = 20
ROWS = 50_000
LONG = 600.0  # seconds; a few are needed
MOUNT = 'mount -t tmpfs -o "size=$1" tmpfs "$0" || exit 99; shift; "$@"; status=$?; find "$0" -mindepth 1; exit $status'


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DuckDB file with a table that does not fit onto the disk, beside the same rows as CSV and as lines."""
    path = tmp_path_factory.mktemp("source") / "shop.duckdb"
    rows = f"SELECT i AS id, 'alice bob carol dave ' || md5(i::VARCHAR) AS body FROM range({ROWS}) r(i)"
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE reviews AS {rows}")
        connection.execute(f"COPY reviews TO '{path.with_suffix('.csv')}'")
        connection.execute(f"COPY (SELECT body FROM reviews) TO '{path.with_suffix('.txt')}' (HEADER false)")
    return path


def run_on(disk: Path, command: Sequence[object], size: str = "600k", **options: Any) -> tuple[int, str, str]:
    """Run a command that sees a small disk; return its status, the files left on the disk, and its errors."""
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    line = list(map(str, ["unshare", "--mount", *as_root, "sh", "-c", MOUNT, disk, size, *command]))
    with start(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        printed, errors = process.communicate(timeout=LONG)
    if process.returncode == 99 or ("unshare" in errors and "ot permitted" in errors):
        pytest.skip("this machine lets nobody mount a small disk")
    return process.returncode, printed, errors


SLOW = [
    pytest.param(name, marks=pytest.mark.slow)
    for name in ("out.parquet", "out.json", "out.tsv.gz", "out.txt", "out.txt.gz")
]


@pytest.mark.parametrize("name", ["out.csv", *SLOW])
def test_a_release_names_the_file(mapped_db: Path, disk: Path, source: Path, name: str) -> None:
    has_columns = not name.startswith("out.txt")
    data = source.with_suffix(".csv" if has_columns else ".txt")
    columns = ["--column", "body"] if has_columns else []
    release = ["sanitize", data, disk / name, *columns, "--policy", "paper"]
    ended = run_on(disk, [*CUSTEXT, "--db", mapped_db, *release])
    assert ended == (1, "", f"Error: cannot write {disk / name}: the disk is full\n")
    assert list_releases(mapped_db) == []


@pytest.mark.slow
def test_a_query_names_the_file(mapped_db: Path, disk: Path, source: Path) -> None:
    query = f"SELECT custext_sanitize(body, 1, false) AS body, id FROM '{source.with_suffix('.csv')}'"
    status, left, errors = run_on(disk, [*CUSTEXT, "--db", mapped_db, "sql", query, "--output", disk / "out.csv"])
    assert status == 1 and left == ""
    assert f"{disk / 'out.csv'}: the disk is full\n" in errors


@pytest.mark.slow
@pytest.mark.parametrize(
    "form",
    [
        ["sql", "SELECT id, custext_sanitize(body, 1, false) AS body FROM reviews", "--into", "clean"],
        ["sanitize", "--table", "reviews", "clean", "--column", "body", "--policy", "paper"],
    ],
)
def test_a_table_names_the_database(mapped_db: Path, disk: Path, source: Path, form: list[str]) -> None:
    data = disk / "shop.duckdb"
    script = 'cp "$1" "$2" && shift 2 && "$@"'
    command = ["sh", "-c", script, "sh", source, data, *CUSTEXT, "--db", mapped_db, *form, "--data", data]
    status, left, errors = run_on(disk, command, f"{source.stat().st_size // 1024 + 300}k")
    assert status == 1 and set(left.split()) <= {f"{data}", f"{data}.wal"}  # an empty log, which DuckDB deletes later
    assert errors.count("\n") == 1 and str(data) in errors and errors.endswith(": the disk is full\n")
    assert list_releases(mapped_db) == []


@pytest.mark.slow
def test_temporary_files_name_their_folder(mapped_db: Path, disk: Path, source: Path) -> None:
    """A stream is stored there first, and so is its output."""
    environment = {**os.environ, "TMPDIR": str(disk)}
    form = ["sanitize", "-", "-", "--format", "csv", "--column", "body", "--policy", "paper"]
    for size in ("600k", f"{source.with_suffix('.csv').stat().st_size // 1024 + 600}k"):
        with source.with_suffix(".csv").open() as given:
            ended = run_on(disk, [*CUSTEXT, "--db", mapped_db, *form], size, stdin=given, env=environment)
        assert ended == (1, "", f"Error: cannot write {disk}: the disk is full\n")


@pytest.mark.slow
def test_spilled_data_names_its_folder(mapped_db: Path, disk: Path) -> None:
    query = "SELECT md5(i::VARCHAR) AS text FROM range(3000000) r(i) ORDER BY text"
    environment = {**os.environ, "TMPDIR": str(disk)}
    little = (
        "import sys; from custext_sql.sql import nested_query; from custext_sql.cli import main; "
        "nested_query._CONFIG['memory_limit'] = '60MB'; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", little, "--db", mapped_db, "sql", query]
    ended = run_on(disk, command, "4m", env=environment)
    assert ended == (1, "", f"Error: cannot write {disk}: the disk is full; temporary files need room\n")


@pytest.mark.slow
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_no_release_waits_forever(mapped_db: Path, disk: Path, source: Path, format: str) -> None:
    target = disk / f"out.{format}"
    release = ["sanitize", source.with_suffix(".csv"), target, "--column", "body", "--policy", "paper"]
    for _ in range(TRIES):
        ended = run_on(disk, [*CUSTEXT, "--db", mapped_db, *release])
        assert ended == (1, "", f"Error: cannot write {target}: the disk is full\n")


# A pipe that nobody writes to: DuckDB waits in the kernel, where no interrupt reaches it.
VIEW = "read_csv('pipe.csv', header = false, auto_detect = false, columns = {'body': 'VARCHAR'})"
SOON = "from custext_sql.sql import queries; queries._STILL = 1.0\n"
STUCK_COMMAND = SOON + "from custext_sql.cli import main; main()"


@pytest.fixture
def stuck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a DuckDB file whose view never returns."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    writer = os.open("pipe.csv", os.O_RDWR)
    with duckdb.connect("stuck.duckdb") as connection:
        connection.execute(f"CREATE VIEW reviews AS FROM {VIEW}")
    yield tmp_path
    os.close(writer)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_stuck_command_ends_on_a_full_disk(mapped_db: Path, disk: Path, stuck: Path, format: str) -> None:
    query = f"SELECT custext_sanitize(body, 1, false) AS body FROM {VIEW}"
    target = disk / f"out.{format}"
    command = [sys.executable, "-c", STUCK_COMMAND, "--db", mapped_db, "sql", query, "--output", target]
    assert run_on(disk, command, cwd=stuck) == (1, "", f"Error: cannot write {target}: the disk is full\n")
    assert list_releases(mapped_db) == []


def test_duckdb_writes_in_no_other_threads(mapped_db: Path, tmp_path: Path) -> None:
    """These may wait for each other forever if a write fails; see duckdb_files.py."""
    for opened in (
        open_instance(),
        open_for_query(Release(Sanitizer.load(mapped_db), None)),
        open_file(mapped_db.with_name("own.duckdb"), read_only=False),
        connect(mapped_db),
    ):
        with opened as connection:
            assert connection.execute("SELECT current_setting('async_threads')").fetchall() == [(0,)]
