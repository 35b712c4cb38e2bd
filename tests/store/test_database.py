"""Databases are located, created all or nothing, and refused if they are foreign or at another revision."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import duckdb
import pytest

from custext_sql import Sanitizer, register
from custext_sql.errors import DatabaseError
from custext_sql.store import duckdb_files
from custext_sql.store.database import default_path, locate, reading, writing
from custext_sql.store.database_files import new_database
from tests.processes import hold_open, start


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_database_is_the_one_named_or_that_of_the_environment_or_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUSTEXT_DB", str(tmp_path / "environment.duckdb"))
    assert locate(tmp_path / "named.duckdb") == tmp_path / "named.duckdb"
    assert locate() == tmp_path / "environment.duckdb"
    monkeypatch.delenv("CUSTEXT_DB")
    default_path().parent.mkdir(parents=True)
    default_path().touch()
    assert locate() == default_path()


def test_what_is_no_file_is_no_place_for_a_database(tmp_path: Path) -> None:
    for place, message in (
        (":memory:", "must be a file"),
        ("", "name of the database is empty"),
        (tmp_path, "expected a file, found a folder"),
        (tmp_path / "x.duckdb", r"database .* does not exist; create it with: custext --db .* load"),
    ):
        with pytest.raises(DatabaseError, match=message), reading(place):
            pass
    assert files_in(tmp_path) == []


def test_writing_makes_a_database_that_reading_opens(db_path: Path) -> None:
    with writing(db_path) as connection:
        connection.execute("INSERT INTO settings VALUES ('a', 'b')")
    with reading(db_path) as connection:
        assert connection.execute("SELECT * FROM settings").fetchall() == [("a", "b")]
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            connection.execute("DELETE FROM settings")
    with pytest.raises(DatabaseError, match="cannot read .*: DuckDB's Catalog error"), reading(db_path) as connection:
        connection.execute("FROM nothing")
    with pytest.raises(DatabaseError, match="cannot write .*; nothing was changed"), writing(db_path) as connection:
        connection.execute("DELETE FROM settings")
        connection.execute("INSERT INTO settings VALUES ('a', NULL)")
    with reading(db_path) as connection:
        assert connection.execute("SELECT * FROM settings").fetchall() == [("a", "b")]
    assert files_in(db_path.parent) == [db_path.name]


def test_a_failed_first_write_leaves_nothing(db_path: Path) -> None:
    for path in (db_path, db_path.parent / "a" / "b" / "x.duckdb"):
        with pytest.raises(KeyboardInterrupt), writing(path) as connection:
            connection.execute("INSERT INTO settings VALUES ('a', 'b')")
            raise KeyboardInterrupt
        assert files_in(db_path.parent) == []


def test_an_empty_file_or_database_is_filled_in_place(db_path: Path) -> None:
    duckdb.connect(db_path).close()
    with pytest.raises(DatabaseError, match="is empty; fill it with: custext --db .* load"), reading(db_path):
        pass
    with writing(db_path) as connection:  # a large write spills beside it
        assert connection.execute("SELECT current_setting('temp_directory')").fetchall() == [(f"{db_path}.tmp",)]
    with reading(db_path) as connection:
        assert connection.execute("SELECT count(*) FROM stopwords").fetchall() == [(179,)]


def test_a_database_that_appears_meanwhile_is_not_replaced(db_path: Path) -> None:
    with pytest.raises(DatabaseError, match="another process created .* in the meantime"), new_database(db_path):
        db_path.write_text("somebody else's")
    assert db_path.read_text() == "somebody else's"
    assert files_in(db_path.parent) == [db_path.name]


def test_names_that_no_file_can_have_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="cannot open the database .*: File name too long"), reading("x" * 300):
        pass
    with writing(tmp_path / ("x" * 250)):  # the name of its draft is not longer
        pass
    with pytest.raises(DatabaseError, match="not valid Unicode"), writing(os.fsdecode(b"caf\xe9.duckdb")):
        pass
    for name in ("a**[b].duckdb", "it's a folder %20/data base.duckdb"):
        with writing(tmp_path / name):
            pass
        with reading(tmp_path / name):
            pass
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseError, match="cannot create"), writing(tmp_path / "file" / "x.duckdb"):
        pass


@pytest.mark.parametrize("table", ["reviews (id INTEGER)", "alembic_version (version_num VARCHAR)"])
def test_a_database_of_something_else_is_refused_and_left_alone(db_path: Path, table: str) -> None:
    with duckdb.connect(db_path) as connection:
        connection.execute(f"CREATE TABLE {table}")
        if "version" in table:
            connection.execute("INSERT INTO alembic_version VALUES ('5f3a')")
    for opening in (reading, writing):
        with pytest.raises(DatabaseError, match="is not a custext database: it has tables"), opening(db_path):
            pass
    with duckdb.connect(db_path) as connection:
        assert len(connection.execute("SHOW TABLES").fetchall()) == 1


def test_a_short_use_by_another_process_is_waited_for(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_files, "PATIENCE", 120.0)  # the machine may be busy
    with hold_open(mapped_db, 0.5), reading(mapped_db) as connection:
        assert connection.execute("SELECT count(*) FROM mappings").fetchall() == [(1,)]


def test_a_database_that_this_process_has_open_is_shared(mapped_db: Path) -> None:
    with duckdb.connect(mapped_db) as own:
        Sanitizer.load(mapped_db)
        register(own, mapped_db)
        with reading(mapped_db) as connection:
            assert connection.execute("SELECT count(*) FROM mappings").fetchall() == [(1,)]
        limit = own.execute("SELECT current_setting('memory_limit')").fetchall()
        with writing(mapped_db) as connection:
            connection.execute("INSERT INTO settings VALUES ('a', 'b')")
        assert own.execute("SELECT value FROM settings WHERE key = 'a'").fetchall() == [("b",)]
        assert own.execute("SELECT current_setting('memory_limit')").fetchall() == limit


def test_making_or_opening_a_database_loads_neither_alembic_nor_sqlalchemy(mapped_db: Path) -> None:
    script = """
        import sys
        from custext_sql import load_mapping
        from custext_sql.store.database import writing
        load_mapping(sys.argv[1])
        for path in (sys.argv[1], sys.argv[1] + ".new"):
            with writing(path):
                pass
        print(sorted(module for module in ("alembic", "sqlalchemy", "spacy", "nltk") if module in sys.modules))
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), mapped_db], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


@pytest.mark.slow
def test_two_processes_that_both_make_the_default_database_agree(own_home: Path, tmp_path: Path) -> None:
    """Each has begun to make it before either ends. Here it has 500 words instead of 100,000."""
    script = """
        import os, sys, time
        from pathlib import Path
        from custext_sql import build_mapping, load_embeddings, load_mapping
        from custext_sql.store import building

        def load_few(path):
            begun = Path(sys.argv[1])
            (begun / str(os.getpid())).touch()
            while len(list(begun.iterdir())) < 2:
                time.sleep(0.01)
            load_embeddings(path, "starter", name="starter", limit=500)
            build_mapping(path, embedding="starter", k=20)

        building.load_starter = load_few
        print(load_mapping().info.fingerprint)
    """
    (tmp_path / "begun").mkdir()
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "begun")]
    with (
        start(command, stdout=subprocess.PIPE, text=True) as one,
        start(command, stdout=subprocess.PIPE, text=True) as two,
    ):
        printed = {process.communicate()[0] for process in (one, two)}
    assert len(printed) == 1
    assert printed != {""}
    assert files_in(default_path().parent) == ["custext.duckdb"]


def test_an_error_in_a_new_database_names_its_place_not_the_draft(tmp_path: Path) -> None:
    path = tmp_path / "new.duckdb"
    with pytest.raises(DatabaseError) as caught, new_database(path) as unfinished:
        raise DatabaseError(f"cannot write {unfinished}: the disk is full")
    assert str(caught.value) == f"cannot write {path}: the disk is full"
    assert list(tmp_path.iterdir()) == []
