"""A compact database contains the same as before, and nobody loses a write or reads half a file."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from custext_sql import build_mapping, drop_embedding, drop_mapping, load_mapping
from custext_sql.cli import main
from custext_sql.errors import DatabaseError
from custext_sql.store import duckdb_files, rewriting
from custext_sql.store.database import reading, writing
from custext_sql.store.rewriting import (
    compact_database,
    find_difference,
    measure_free,
    suggest_compacting,
    upgrade_database,
)
from tests.killing import Jobs
from tests.processes import hold_open, start
from tests.store.test_damage import leave_log

MINE = """
CREATE SCHEMA own; CREATE TYPE own.mood AS ENUM ('sad', 'glad'); CREATE SEQUENCE own.numbers;
SELECT nextval('own.numbers');
CREATE TABLE own.people (name VARCHAR PRIMARY KEY, mood own.mood, twice INTEGER DEFAULT 7, CHECK (twice < 100));
INSERT INTO own.people VALUES ('a', 'sad', 1), ('b', 'glad', NULL); COMMENT ON COLUMN own.people.mood IS 'of today';
CREATE INDEX moods ON own.people (mood); CREATE VIEW own.sad AS FROM own.people WHERE mood = 'sad';
CREATE MACRO own.plus(a) AS a + 1;
"""


def differ(first: Path, second: Path) -> str | None:
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{first}' AS one (READ_ONLY); ATTACH '{second}' AS two (READ_ONLY)")
        return find_difference(connection, "one", "two")


def copy(path: Path) -> Path:
    return Path(shutil.copy(path, path.with_name(f"copy-of-{path.name}")))


@pytest.fixture
def dropped_db(few_db: Path) -> Path:
    """A database from which a mapping was dropped, and to which a user added tables."""
    build_mapping(few_db, embedding="starter", k=30)
    drop_mapping(few_db, name="starter-euclidean-k30")
    with duckdb.connect(few_db) as connection:
        connection.execute(MINE)
    return few_db


def test_a_compact_database_is_smaller_and_contains_the_same(dropped_db: Path) -> None:
    before, info = copy(dropped_db), load_mapping(dropped_db).info
    done = compact_database(dropped_db)
    assert (done.database, done.bytes_before) == (str(dropped_db), before.stat().st_size)
    assert done.bytes_after == dropped_db.stat().st_size < done.bytes_before
    assert differ(before, dropped_db) is None
    assert load_mapping(dropped_db).info == info
    with duckdb.connect(dropped_db) as connection:
        [(tags,)] = connection.execute("SELECT tags FROM duckdb_databases() WHERE NOT internal").fetchall()
        assert tags["storage_version"].startswith("v1.0.0")  # so that older versions of DuckDB read it
        with pytest.raises(duckdb.ConstraintException):
            connection.execute("INSERT INTO settings SELECT * FROM settings")
    assert sorted(path.name for path in dropped_db.parent.iterdir()) == sorted([before.name, dropped_db.name])


def test_what_was_deleted_is_no_longer_in_the_file(mapped_db: Path) -> None:
    mark = "mark-of-what-was-deleted"
    for statement in ("INSERT INTO settings VALUES (?, 'x')", "DELETE FROM settings WHERE key = ?"):
        with writing(mapped_db) as connection:
            connection.execute(statement, [mark])
    assert mark.encode() in mapped_db.read_bytes()
    compact_database(mapped_db)
    assert mark.encode() not in mapped_db.read_bytes()


CHANGES = [
    ("DELETE FROM stopwords WHERE word = 'the'", "the table stopwords"),
    ("UPDATE groups SET rank = rank + 1 WHERE token = 'bob'", "the table groups"),
    ("INSERT INTO own.people VALUES ('c', NULL, NULL)", "the table people"),
    ("COMMENT ON COLUMN groups.rank IS NULL", "its columns"),
    ("CREATE OR REPLACE TABLE settings AS FROM settings", "its tables"),  # without its primary key
    ("CREATE OR REPLACE VIEW own.sad AS FROM own.people WHERE mood = 'glad'", "its views"),
    ("CREATE OR REPLACE MACRO own.plus(a) AS a + 2", "its functions"),
    ("DROP INDEX own.moods", "its indexes"),
    ("SELECT nextval('own.numbers')", "its sequences"),
]


def test_every_difference_is_found(mapped_db: Path) -> None:
    with duckdb.connect(mapped_db) as connection:
        connection.execute(MINE)
    other = copy(mapped_db)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{mapped_db}' AS one (READ_ONLY); ATTACH '{other}' AS two; USE two")
        for change, difference in CHANGES:
            assert find_difference(connection, "one", "two") is None
            connection.execute("BEGIN")
            connection.execute(change).fetchall()
            assert find_difference(connection, "one", "two") == difference, change
            connection.execute("ROLLBACK")


def test_a_copy_that_differs_does_not_replace_the_database(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rewriting._copy_database

    def lose_a_word(connection: duckdb.DuckDBPyConnection, name: str, target: Path) -> None:
        whole(connection, name, target)
        with duckdb.connect(target) as other:
            other.execute("DELETE FROM stopwords WHERE word = 'the'")

    monkeypatch.setattr(rewriting, "_copy_database", lose_a_word)
    before = mapped_db.read_bytes()
    with pytest.raises(DatabaseError, match="differs in the table stopwords; nothing was changed"):
        compact_database(mapped_db)
    assert mapped_db.read_bytes() == before
    assert not list(mapped_db.parent.glob(".*"))


@pytest.mark.parametrize("rewrite", [compact_database, upgrade_database])
def test_a_database_in_use_is_left_alone(
    mapped_db: Path, monkeypatch: pytest.MonkeyPatch, rewrite: Callable[[Path], object]
) -> None:
    monkeypatch.setattr(duckdb_files, "PATIENCE", 0.2)
    before = mapped_db.read_bytes()
    for read_only in (True, False):
        with (
            hold_open(mapped_db, read_only=read_only),
            pytest.raises(DatabaseError, match="is in use by another process"),
        ):
            rewrite(mapped_db)
    with reading(mapped_db), pytest.raises(DatabaseError, match="this process"):
        rewrite(mapped_db)
    assert mapped_db.read_bytes() == before


def test_databases_that_cannot_be_replaced_are_refused(mapped_db: Path, tmp_path: Path, next_version: Path) -> None:
    link = tmp_path / "link.duckdb"
    link.symlink_to(mapped_db)
    assert upgrade_database(link) == ("0001", "0002") and link.is_symlink()
    assert compact_database(link).database == str(mapped_db) and link.is_symlink()
    (tmp_path / "hard.duckdb").hardlink_to(mapped_db)
    for rewrite in (compact_database, upgrade_database):
        with pytest.raises(DatabaseError, match="cannot (compact|upgrade) .*several names"):
            rewrite(mapped_db)
        with pytest.raises(DatabaseError, match="does not exist"):
            rewrite(tmp_path / "none.duckdb")


def test_a_file_replaced_while_it_is_opened_is_opened_again(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise what is written would go to a file that has no name any more."""
    other, connect, opened = copy(mapped_db), duckdb_files.connect_file, []

    def connect_and_replace(path: Path, config: dict[str, object]) -> duckdb.DuckDBPyConnection:
        connection = connect(path, config)
        opened.append(path)
        if len(opened) == 1:
            other.replace(path)
        return connection

    monkeypatch.setattr(duckdb_files, "connect_file", connect_and_replace)
    with writing(mapped_db) as connection:
        connection.execute("INSERT INTO settings VALUES ('a', 'kept')")
    assert len(opened) == 2
    with duckdb.connect(mapped_db) as connection:
        assert connection.execute("SELECT value FROM settings WHERE key = 'a'").fetchall() == [("kept",)]


WRITE = """
import sys
from pathlib import Path
from custext_sql.store.database import writing
from custext_sql.store import duckdb_files
duckdb_files.PATIENCE = 60.0
number = 0
while not Path(sys.argv[2]).exists():
    with writing(sys.argv[1]) as connection:
        connection.execute("INSERT INTO settings VALUES (?, 'x')", [f"write {number}"])
    number += 1
print(number)
"""


@pytest.mark.slow
def test_no_write_is_lost_while_a_database_is_compacted_again_and_again(
    mapped_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duckdb_files, "PATIENCE", 120.0)  # the machine may be busy
    enough = mapped_db.with_name("enough")
    count = "SELECT count(*) FROM settings WHERE key LIKE 'write %'"
    with start([sys.executable, "-c", WRITE, mapped_db, enough], stdout=subprocess.PIPE) as process:
        compacted = written = 0
        while compacted < 5 or written < 25:
            assert process.poll() is None
            compact_database(mapped_db)
            compacted += 1
            with reading(mapped_db) as connection:
                [(written,)] = connection.execute(count).fetchall()
            time.sleep(0.05)  # a turn for the writer
        enough.touch()
        printed, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    with reading(mapped_db) as connection:
        assert connection.execute(count).fetchall() == [(int(printed),)]


@pytest.mark.slow
def test_killed_while_compacting(mapped_db: Path) -> None:
    """The old or the new database is there, whole, with what only the log of an earlier killed process had."""
    log = leave_log(mapped_db)
    before, kept = copy(mapped_db), copy(log)
    whole = copy(before)
    shutil.copyfile(log, whole.with_name(f"{whole.name}.wal"))
    with duckdb.connect(whole) as connection:
        assert connection.execute("SELECT value FROM settings WHERE key = 'a'").fetchall() == [("b",)]
    replaced = []
    with Jobs() as jobs:
        for point in range(1, 11):
            shutil.copyfile(before, mapped_db)
            shutil.copyfile(kept, log)
            inode = mapped_db.stat().st_ino
            assert jobs.run("compact", mapped_db, point) == signal.SIGKILL
            replaced.append(mapped_db.stat().st_ino != inode)
            assert differ(whole, mapped_db) is None
        for moment in (0.02, 0.05, 0.1, 0.15, 0.2):
            jobs.kill("compact", mapped_db, 0, after=moment)
            assert differ(whole, mapped_db) is None
    assert replaced == [False] * 6 + [True] * 4
    compact_database(mapped_db)
    assert differ(whole, mapped_db) is None and not log.exists()


def test_much_free_space_is_hinted_at(dropped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*arguments: str) -> str:
        done = CliRunner().invoke(main, ["--db", str(dropped_db), *arguments])
        assert done.exit_code == 0, done.output
        return done.output

    drop_embedding(dropped_db, name="starter")
    assert suggest_compacting(dropped_db) is None  # it is a small database
    free = measure_free(dropped_db)
    monkeypatch.setattr(rewriting, "_MUCH", free)
    monkeypatch.setattr(rewriting, "_MUCH_SHARE", 0.0)
    hint = f"{free / 1e6:.1f} MB of the file is unused; to return it to the disk, run: custext --db"
    assert hint in run("info")
    assert f'"free_bytes": {free}' in run("info", "--json")
    assert "MB before, " in run("compact")
    assert measure_free(dropped_db) < free
    assert "are free" not in run("info")
