"""A database that cannot be opened is named as what it is: damaged, in use, of a newer version, or not a database."""

import os
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from custext_sql import Sanitizer, build_mapping, connect, list_mappings, use_mapping
from custext_sql.cli import main
from custext_sql.errors import DatabaseError, QueryError
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store import duckdb_files
from custext_sql.store.database_files import is_interrupt
from custext_sql.store.rewriting import compact_database, upgrade_database
from tests.processes import hold_open

HEADER, BLOCK = 4096, 262_144  # bytes; a file has three headers, then blocks, each with a checksum of 8 bytes


@pytest.fixture
def odd_db(mapped_db: Path, tmp_path: Path) -> Path:
    """A database whose path has words that messages are searched for."""
    folder = tmp_path / "blocks interrupted; Could not set lock on file"
    folder.mkdir()
    return mapped_db.rename(folder / "a.duckdb")


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)


CALLS: tuple[Callable[[Path], object], ...] = (
    Sanitizer.load,
    list_mappings,
    connect,
    lambda path: build_mapping(path, embedding="small", k=5),
    lambda path: use_mapping(path, name="small-euclidean-k4"),
    compact_database,
    upgrade_database,
)


@pytest.mark.parametrize("place", [4, HEADER - 1, HEADER + 8, 2 * HEADER])
def test_a_flipped_byte_in_a_header_is_damage(odd_db: Path, place: int) -> None:
    flip(odd_db, place)
    for call in CALLS:
        with pytest.raises(DatabaseError, match="cannot open .*: the file is damaged; restore a backup of it, or move"):
            call(odd_db)


@pytest.mark.slow
def test_a_flipped_byte_anywhere_is_damage_or_not_seen(odd_db: Path) -> None:
    """In blocks that no call reads, such as free ones, nobody notices."""
    good = odd_db.read_bytes()
    seen = 0
    for place in range(3 * HEADER + 100, len(good), BLOCK):
        for call in CALLS:
            odd_db.write_bytes(good)
            flip(odd_db, place)
            try:
                result = call(odd_db)
            except DatabaseError as error:
                seen += 1
                assert "the file is damaged; restore a backup of it, or move it away and make a new one" in str(error)
                assert f"custext --db '{odd_db}' load starter" in str(error)
            else:
                if isinstance(result, duckdb.DuckDBPyConnection):
                    result.close()
    assert seen >= len(CALLS)


@pytest.mark.parametrize("size", [100, 3 * HEADER, BLOCK])
def test_a_file_that_was_cut_off_is_damaged(odd_db: Path, size: int) -> None:
    os.truncate(odd_db, size)
    for call in CALLS:
        with pytest.raises(DatabaseError, match="cannot open .*: the file is damaged; restore a backup"):
            call(odd_db)


def leave_log(path: Path) -> Path:
    """Write to a database, and end as if killed."""
    script = (
        f"import duckdb, os; connection = duckdb.connect({str(path)!r}); "
        "connection.execute(\"INSERT INTO settings VALUES ('a', 'b')\"); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    log = path.with_name(f"{path.name}.wal")
    assert log.stat().st_size
    return log


def test_a_damaged_log_is_damage(odd_db: Path, tmp_path: Path) -> None:
    log = leave_log(odd_db)
    whole = log.read_bytes()
    for place in (
        len(whole) // 2,
        2,
    ):  # the second is an unknown entry: an internal error of DuckDB
        log.write_bytes(whole)
        flip(log, place)
        for call in CALLS:
            with pytest.raises(DatabaseError, match="cannot open .*: the file is damaged; restore a backup"):
                call(odd_db)
    other = tmp_path / "other.duckdb"
    with duckdb.connect(other) as connection:
        connection.execute("CREATE TABLE settings (key VARCHAR, value VARCHAR)")
    leave_log(other).rename(log)
    with pytest.raises(DatabaseError, match="the file is damaged"):
        Sanitizer.load(odd_db)


def test_a_log_that_duckdb_ignores_is_not_in_use(odd_db: Path) -> None:
    """To replace the file beside such a log would be wrong, and to wait for it useless."""
    odd_db.with_name(f"{odd_db.name}.wal").write_bytes(b"no log" * 10)
    with pytest.raises(DatabaseError, match="DuckDB cannot read this log; restore a backup, or move the log away"):
        compact_database(odd_db)


def test_a_file_of_a_newer_duckdb_is_no_damage(odd_db: Path) -> None:
    content = bytearray(odd_db.read_bytes())
    content[12] = 99  # the version of the format
    checksum = 5381
    for (number,) in struct.iter_unpack("<Q", content[8:HEADER]):
        checksum ^= number * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    content[:8] = struct.pack("<Q", checksum)
    odd_db.write_bytes(content)
    for call in CALLS:
        with pytest.raises(
            DatabaseError, match="a newer version of DuckDB wrote it; run: pip install --upgrade duckdb"
        ):
            call(odd_db)


def test_other_files_are_no_databases_and_stay_as_they_are(tmp_path: Path) -> None:
    """DuckDB itself would show some of them as views in a database in memory."""
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with sqlite3.connect(tmp_path / "sqlite") as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    contents = {"empty": b"", "a.csv": b"a,b\n1,2\n", "a.json": b'{"a": 1}\n', "zeros": bytes(HEADER)}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "parquet.duckdb").write_bytes((tmp_path / "a.parquet").read_bytes())
    for path in (one for one in tmp_path.iterdir() if one.is_file()):
        before = path.read_bytes()
        for call in CALLS:
            with pytest.raises(DatabaseError, match=r"is not a custext database \(nor any DuckDB file\)"):
                call(path)
        assert path.read_bytes() == before


@pytest.mark.parametrize("header", [b"", b"SQLite format 3\0"])
def test_a_file_in_use_is_in_use(odd_db: Path, monkeypatch: pytest.MonkeyPatch, header: bytes) -> None:
    """DuckDB reads headers first unless told the format: those of a file that another process may be writing now."""
    monkeypatch.setattr(duckdb_files, "PATIENCE", 0.1)
    with hold_open(odd_db):
        with odd_db.open("r+b") as file:
            file.write(header)
        for call in CALLS:
            with pytest.raises(DatabaseError, match="is in use by another process; try again later"):
                call(odd_db)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Corrupt database file: computed checksum 1 does not match stored checksum 2", "the file is damaged"),
        ("Corrupted uncompressed string segment: dictionary is outside the segment", "the file is damaged"),
        ("Invalid Error: Resource temporarily unavailable", "an error of DuckDB$"),
        ("Settings Error: corrupt", "an error of DuckDB$"),
        ('IO Error: Cannot open file "{path}": Permission denied', "permission denied"),
    ],
)
def test_only_damage_is_called_damage(odd_db: Path, message: str, told: str) -> None:
    """DuckDB's errors of several kinds have no class of their own in Python. The path has words of other errors."""

    def fail() -> None:
        raise duckdb.Error(message.format(path=odd_db))

    with pytest.raises(DatabaseError, match=f"cannot open .*: {told}"):
        duckdb_files.when_free(odd_db, fail)


def test_a_path_is_no_interrupt(odd_db: Path) -> None:
    """The path contains "interrupted"; an error that names it once ended the command as Ctrl-C does."""
    assert not is_interrupt(duckdb.IOException(f'IO Error: Could not read from file "{odd_db}": Input/output error'))
    assert is_interrupt(duckdb.InterruptException("INTERRUPT Error: Interrupted!"))
    assert is_interrupt(RuntimeError("Query interrupted"))


def test_damaged_data_is_named_too(mapped_db: Path, tmp_path: Path) -> None:
    data = tmp_path / "shop.duckdb"
    with duckdb.connect(data) as connection:
        connection.execute("CREATE TABLE reviews AS SELECT md5(range::VARCHAR) AS body FROM range(50_000)")
    good = data.read_bytes()
    flip(data, HEADER + 8)
    query = ["--db", str(mapped_db), "sql", "SELECT max(body) FROM reviews", "--data", str(data)]
    assert (
        f"cannot open {data}: the file is damaged; restore a backup of it\n" in CliRunner().invoke(main, query).output
    )
    said = set()
    for place in range(3 * HEADER + 100, len(good), 4 * BLOCK):
        data.write_bytes(good)
        flip(data, place)
        said.add(CliRunner().invoke(main, query).output)
    assert "Error: a file that is read is damaged or cut off; restore a backup of it\n" in said
    data.write_bytes(good[: len(good) // 2])
    release = ["--db", str(mapped_db), "sanitize", "--data", str(data), "--table", "reviews", "new", "--column", "body"]
    assert "damaged or cut off; restore a backup of it\n" in CliRunner().invoke(main, release).output
    with pytest.raises(QueryError, match="is damaged"), safe_errors():
        raise duckdb.Error("Corrupt database file: computed checksum 1 does not match stored checksum 2")
