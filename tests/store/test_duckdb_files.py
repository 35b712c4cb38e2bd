"""This process never loses a lock on a database that it has open; tested with real processes."""

import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pytest

from custext_sql import Sanitizer, build_mapping, connect, list_mappings, load_mapping, register
from custext_sql.errors import DatabaseError
from custext_sql.store import duckdb_files
from custext_sql.store.database import reading, writing
from custext_sql.store.duckdb_files import is_open_here
from tests.ledger_entries import list_releases
from tests.processes import can_write


def sanitize_elsewhere(database: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Make a release in another process, which reads the database and writes to its ledger."""
    (folder / "in.csv").write_text("id,body\n1,alice bob\n")
    script = (
        "from custext_sql.store import duckdb_files; duckdb_files.PATIENCE = 0.5; "
        "from custext_sql.cli import main; main()"
    )
    command = [sys.executable, "-c", script, "--db", database, "sanitize", "in.csv", "out.csv", "--column", "body"]
    return subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_writer_that_loads_and_builds_keeps_others_out(mapped_db: Path, tmp_path: Path) -> None:
    """This once corrupted a database: one process has it open and reads it, another writes to it, the first builds."""
    with duckdb.connect(mapped_db) as own:
        Sanitizer.load(mapped_db)
        refused = sanitize_elsewhere(mapped_db, tmp_path)
        assert refused.returncode == 1 and "is in use by another process" in refused.stderr
        build_mapping(mapped_db, embedding="small", k=5)
        own.execute("INSERT INTO settings VALUES ('a', repeat('x', 1000000))")
    assert {load_mapping(mapped_db, f"small-euclidean-k{k}").info.k for k in (4, 5)} == {4, 5}
    assert list_releases(mapped_db) == []
    assert sanitize_elsewhere(mapped_db, tmp_path).returncode == 0
    assert len(list_releases(mapped_db)) == 1


def test_registering_on_the_database_itself_admits_no_second_writer(mapped_db: Path) -> None:
    with duckdb.connect(mapped_db) as own:
        assert not can_write(mapped_db)
        register(own, mapped_db)
        assert not can_write(mapped_db)
    assert can_write(mapped_db)


@pytest.mark.slow
@pytest.mark.parametrize("read_only", [True, False])
def test_what_is_loaded_while_a_connection_is_open_is_read_through_it(mapped_db: Path, read_only: bool) -> None:
    with duckdb.connect(mapped_db, read_only=read_only) as own:
        Sanitizer.load(mapped_db)
        register(own, mapped_db)
        assert not can_write(mapped_db)
    with connect(mapped_db) as connection:
        assert is_open_here(mapped_db)
        Sanitizer.load(mapped_db)
        register(connection, mapped_db)
        assert list_releases(mapped_db) == []
        assert not can_write(mapped_db)
        with pytest.raises(DatabaseError, match="this process has it attached to another connection; close that first"):
            build_mapping(mapped_db, embedding="small", k=5)
        assert not can_write(mapped_db)
    assert can_write(mapped_db)
    build_mapping(mapped_db, embedding="small", k=5)


def test_several_connections_do_not_unlock_the_database_for_each_other(mapped_db: Path) -> None:
    with connect(mapped_db) as first:
        with connect(mapped_db, policy="paper") as second:
            query = "SELECT count(*), sum(score) FROM scores"
            assert first.execute(query).fetchall() == second.execute(query).fetchall()
            assert len(second.execute("FROM custext_distribution('alice', 1)").fetchall()) == 4
            assert second.execute("SELECT count(*) FROM custext.vectors").fetchall() == [(16,)]
        assert not can_write(mapped_db)
        assert first.execute("SELECT count(*) FROM custext.groups").fetchall() == [(16,)]
    assert can_write(mapped_db)


@pytest.mark.slow
@pytest.mark.parametrize("attach", ["AS mine", "AS mine (READ_ONLY)", "", "(READ_ONLY)"])
def test_a_database_that_somebody_attached_is_read_through_that_connection(mapped_db: Path, attach: str) -> None:
    """If the connection is unknown, it is refused. The file stays locked in any case."""
    with duckdb.connect() as own:
        own.execute(f"ATTACH '{mapped_db}' {attach}")
        for call in (lambda: Sanitizer.load(mapped_db), lambda: build_mapping(mapped_db, embedding="small", k=5)):
            with pytest.raises(DatabaseError, match="this process already has it open in another connection"):
                call()
            assert not can_write(mapped_db)
        register(own, mapped_db)
        assert own.execute("SELECT custext_epsilon('alice bob', 2, false)").fetchall() == [(4.0,)]
        Sanitizer.load(mapped_db)
        with connect(mapped_db) as other:
            assert other.execute("SELECT count(*) FROM groups").fetchall() == [(16,)]
        assert not can_write(mapped_db)
    Sanitizer.load(mapped_db)
    assert can_write(mapped_db)


@pytest.mark.parametrize("opening", [reading, writing])
def test_a_file_is_shared_under_any_of_its_names(
    mapped_db: Path, monkeypatch: pytest.MonkeyPatch, opening: Callable[[Path], AbstractContextManager[object]]
) -> None:
    monkeypatch.chdir(mapped_db.parent)
    link, relative = Path("link.duckdb"), Path(mapped_db.name)
    link.symlink_to(mapped_db)
    for first, second in ((link, link), (link, relative), (relative, link), (relative, mapped_db)):
        with opening(first), reading(second) as connection:
            assert connection.execute("SELECT count(*) FROM mappings").fetchall() == [(1,)]


@pytest.mark.parametrize("attach", [False, True])
def test_a_hard_link_is_the_same_file(mapped_db: Path, tmp_path: Path, attach: bool) -> None:
    """DuckDB identifies files by their names, and would open this one a second time."""
    link = tmp_path / "link.duckdb"
    link.hardlink_to(mapped_db)
    with duckdb.connect() if attach else duckdb.connect(mapped_db) as own:
        if attach:
            own.execute(f"ATTACH '{mapped_db}' AS mine")
            with pytest.raises(DatabaseError, match="this process already has it open"):
                Sanitizer.load(link)
        else:
            Sanitizer.load(link)
            build_mapping(link, embedding="small", k=5)
        assert not can_write(mapped_db)
    assert can_write(mapped_db)


def test_a_connection_with_settings_of_its_own_is_read_through(mapped_db: Path) -> None:
    with duckdb.connect(mapped_db, config={"threads": 1}) as own:
        with pytest.raises(DatabaseError, match="this process already has it open"):
            Sanitizer.load(mapped_db)
        register(own, mapped_db)
        Sanitizer.load(mapped_db)
        assert own.execute("SELECT custext_epsilon('alice', 2, false)").fetchall() == [(2.0,)]
        assert not can_write(mapped_db)


def test_a_fork_does_not_write_to_what_its_parent_has_open(mapped_db: Path) -> None:
    """The write would seem to succeed, and the parent's next checkpoint would undo it."""
    script = """
        import duckdb, os, sys
        from custext_sql import CusTextError, build_mapping
        own = duckdb.connect(sys.argv[1])
        child = os.fork()
        if not child:
            try:
                build_mapping(sys.argv[1], embedding="small", k=5)
            except CusTextError as error:
                os._exit(3 if "was forked from one that has it open" in str(error) else 1)
            os._exit(0)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), mapped_db], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr


@pytest.mark.slow
def test_a_write_waits_until_this_process_has_read(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would get the read-only instance of the reader, in which every statement that writes fails."""
    monkeypatch.setattr(duckdb_files, "PATIENCE", 120.0)
    with ThreadPoolExecutor(1) as pool:
        with reading(mapped_db):
            written = pool.submit(build_mapping, mapped_db, embedding="small", k=5)
            time.sleep(0.5)
            assert not written.done()
        written.result()
    assert len(list_mappings(mapped_db)[0]) == 2
    monkeypatch.setattr(duckdb_files, "PATIENCE", 0.2)
    with reading(mapped_db), pytest.raises(DatabaseError, match="is being read by this process; close what reads it"):
        build_mapping(mapped_db, embedding="small", k=3)


def test_a_detached_or_lost_connection_is_not_asked(mapped_db: Path) -> None:
    connection = connect(mapped_db)
    connection.execute("USE memory; DETACH custext")
    Sanitizer.load(mapped_db)
    del connection
    build_mapping(mapped_db, embedding="small", k=5)


def test_fifty_threads_read_one_database(mapped_db: Path) -> None:
    with ThreadPoolExecutor(50) as pool:
        mappings = pool.map(lambda _: load_mapping(mapped_db).info, range(50))
        assert set(mappings) == {load_mapping(mapped_db).info}
