"""The ledger's tables are those of its migrations; what is no ledger of this version is refused with the way out."""

import os
import re
import shlex
import shutil
import sqlite3
import stat
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Connection, NullPool, create_engine, inspect, text

from custext_sql import Sanitizer, read_ledger
from custext_sql.cli import main
from custext_sql.errors import DatabaseError, PrivacyWarning
from custext_sql.ledger import schema
from custext_sql.ledger.places import LedgerFile
from custext_sql.ledger.schema import insert_entry, read_entries
from custext_sql.store import migrating
from custext_sql.store import schema as database_schema
from custext_sql.store.database import warn_if_open
from tests.ledger_entries import enter_release, list_releases, make_release
from tests.postgres import make_database
from tests.store.test_permissions import open_folder

__all__ = ["open_folder"]  # a fixture

NEXT = """
from alembic import op
import sqlalchemy as sa
revision, down_revision, branch_labels, depends_on = "0002", "0001", None, None

def upgrade():
    op.add_column("custext_releases", sa.Column("later", sa.Integer))
    op.execute("UPDATE custext_releases SET later = 7")
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def write(place: LedgerFile) -> None:
    with place.writing() as connection:
        insert_entry(connection, make_release("d", largest_row_eps=1))


def read(place: LedgerFile) -> object:
    return read_ledger(ledger=place.path)


USES: tuple[Callable[[LedgerFile], object], ...] = (read, write, LedgerFile.upgrade)


@pytest.fixture
def place(db_path: Path) -> LedgerFile:
    """A ledger with one release."""
    enter_release(db_path, "d", largest_row_eps=1)
    return LedgerFile.locate(None, db_path)


def execute(path: Path, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements without the package, and return the rows of the last."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            rows = connection.execute(statement).fetchall()
    return rows


def describe(connection: Connection) -> dict[str, Any]:
    """Return all that the database says about its tables."""
    found = inspect(connection)
    return {
        table: {
            "columns": [{**column, "type": repr(column["type"])} for column in found.get_columns(table)],
            "keys": found.get_pk_constraint(table),
            "indexes": found.get_indexes(table),
            "unique": found.get_unique_constraints(table),
            "checks": found.get_check_constraints(table),
            "references": found.get_foreign_keys(table),
        }
        for table in found.get_table_names()
    }


@pytest.mark.parametrize("kind", ["SQLite", "PostgreSQL"])
def test_the_migrations_make_the_tables_of_the_schema(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    made = []
    for name in ("migrated", "created"):
        server = None if kind == "SQLite" else request.getfixturevalue("postgres")
        url = f"sqlite:///{tmp_path / name}" if server is None else make_database(server)
        with create_engine(url, poolclass=NullPool).connect() as connection, connection.begin():
            if name == "migrated":
                migrating.run_migrations(connection, "ledger", schema.REVISIONS[-1], schema.VERSION_TABLE)
            else:
                schema.create(connection)
            revision = connection.exec_driver_sql(f"SELECT version_num FROM {schema.VERSION_TABLE}").scalars().all()
            made.append((describe(connection), revision))
    assert made[0] == made[1]
    tables, revision = made[1]
    assert revision == [schema.REVISIONS[-1]]
    assert {name: [column["name"] for column in found["columns"]] for name, found in tables.items()} == {
        **{table.name: [column.name for column in table.columns] for table in schema.metadata.sorted_tables},
        schema.VERSION_TABLE: ["version_num"],
    }
    assert [index["column_names"] for index in tables["custext_records"]["indexes"]] == [["part"]]
    assert tables["custext_keyed"]["keys"]["constrained_columns"] == ["key_id", "dataset"]
    if kind == "PostgreSQL":
        assert {"UTC"} <= {column["comment"] for column in tables["custext_records"]["columns"]}


def test_an_entry_comes_back_as_it_was(db_path: Path) -> None:
    """Every type, with every digit."""
    lists: dict[str, Any] = {"parts": ["a", "ü"], "outputs": [{"name": "x", "sha256": "0"}]}
    counts: dict[str, Any] = {"row_count": 2**62, "mean_row_eps": 0.1 + 0.2, "by_record": True, "plus": None}
    entry = enter_release(db_path, "é\n'", largest_row_eps="123456789.000000000000000000001", **lists, **counts)
    with LedgerFile.locate(None, db_path).reading() as connection:
        assert connection is not None
        [row] = connection.execute(schema.releases.select()).mappings()
    assert dict(row) == {**vars(entry)}


@pytest.mark.parametrize("revision", ["0002", ""])
def test_a_ledger_of_a_newer_version_is_refused(place: LedgerFile, revision: str) -> None:
    assert place.path is not None
    execute(place.path, f"UPDATE {schema.VERSION_TABLE} SET version_num = '{revision}'")
    before = place.path.read_bytes()
    for use in USES:
        with pytest.raises(DatabaseError) as caught:
            use(place)
        assert str(caught.value) == (
            f"the ledger {place.path} was made by a newer version of custext-sql (revision {revision}); run: pip "
            "install --upgrade custext-sql"
        )
    assert place.path.read_bytes() == before


@pytest.fixture
def next_script(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The next version of the package, whose ledger has a second revision; the value is the path of its script."""
    scripts = tmp_path_factory.mktemp("next") / "migrations"
    shutil.copytree(database_schema.find_scripts(), scripts)
    (scripts / "ledger" / "0002_later.py").write_text(NEXT)
    monkeypatch.setattr(schema, "REVISIONS", ("0001", "0002"))
    monkeypatch.setattr(database_schema, "find_scripts", lambda: scripts)
    return scripts / "ledger" / "0002_later.py"


def test_an_older_ledger_is_refused_until_it_is_upgraded(
    mapped_db: Path, next_script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUSTEXT_DB", str(mapped_db))
    with monkeypatch.context() as before:
        before.setattr(schema, "REVISIONS", ("0001",))
        release = enter_release(mapped_db, "d", largest_row_eps=1)
    place = LedgerFile.locate()
    for use in (read, write):
        with pytest.raises(DatabaseError, match="is at revision 0001 and this version needs 0002; run: ") as caught:
            use(place)
    assert place.path is not None
    refused = run("sanitize", "alice")
    assert refused.exit_code == 1 and refused.stdout == "" and str(caught.value) in refused.output
    program, *command = shlex.split(str(caught.value).partition("run: ")[2])
    done = run(*command)
    assert program == "custext" and done.exit_code == 0, done.output
    assert "ledger: upgraded from 0001 to 0002" in done.output
    assert execute(place.path, "SELECT release_id, later FROM custext_releases") == [(release.release_id, 7)]
    assert place.upgrade() == ("0002", "0002")
    assert list_releases(mapped_db) == [release]
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o600


def garble(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + bytes(reversed(content[4096:])))


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


SECRET = "hidden-81"


def test_a_server_with_other_defaults_keeps_budgets(postgres: str) -> None:
    """Each writer sees what was entered while it waited for the lock."""
    url = make_database(postgres)
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(
            text(f"ALTER DATABASE {engine.url.database} SET default_transaction_isolation = 'serializable'")
        )
    place = LedgerFile.locate(url)
    seen: list[int] = []

    def enter() -> None:
        with place.writing() as connection:
            seen.append(len(read_entries(connection)))
            insert_entry(connection, make_release("d"))

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(enter) for _ in range(12)]:
            done.result()
    assert seen == list(range(12))


def test_the_argument_goes_before_the_variable_and_the_variable_before_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, set_by_variable, db = (tmp_path / name for name in ("a.sqlite", "b.sqlite", "c.duckdb"))
    assert LedgerFile.locate(None, db).path == tmp_path / "c.ledger.sqlite"
    (tmp_path / "link.duckdb").symlink_to(db)
    assert LedgerFile.locate(None, tmp_path / "link.duckdb") == LedgerFile.locate(None, db)
    monkeypatch.setenv("CUSTEXT_LEDGER", str(set_by_variable))
    assert LedgerFile.locate(None, db).path == set_by_variable
    assert LedgerFile.locate(named, db).path == named
    monkeypatch.chdir(tmp_path)
    assert LedgerFile.locate("a.sqlite").path == LedgerFile.locate("sqlite:///a.sqlite").path == named


@pytest.mark.parametrize(
    "wrong", ["mysql://me@host/data", "postgresql+psycopg2://host/data", ":memory:", "sqlite://", "a\0b"]
)
def test_other_servers_and_paths_are_refused(mapped_db: Path, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    message = "the ledger must be the path of a SQLite file, or a URL such as postgresql://user@host/database"
    with pytest.raises(DatabaseError, match=message):
        Sanitizer.load(mapped_db, ledger=wrong)
    if "\0" not in wrong:
        monkeypatch.setenv("CUSTEXT_LEDGER", wrong)
        for use in (read_ledger, Sanitizer.load):
            with pytest.raises(DatabaseError, match=message):
                use(mapped_db)


OTHERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a text": (lambda path: path.write_text("id,body\n" * 1000), "file is not a database"),
    "a folder": (make_folder, "the file cannot be opened, or its folder cannot be written to"),
    "cut off": (lambda path: path.write_bytes(path.read_bytes()[:5000]), "malformed"),
    "garbled": (garble, "malformed"),
    "without its tables": (lambda path: execute(path, "DROP TABLE custext_releases"), "no such table"),
    "without a revision": (lambda path: execute(path, f"DELETE FROM {schema.VERSION_TABLE}"), "NoResultFound"),
}


@pytest.mark.parametrize("change, reason", OTHERS.values(), ids=OTHERS)
def test_what_is_no_ledger_is_refused(mapped_db: Path, change: Callable[[Path], object], reason: str) -> None:
    enter_release(mapped_db, "d", largest_row_eps=1)
    place = LedgerFile.locate(None, mapped_db)
    assert place.path is not None
    change(place.path)
    place.path.chmod(0o700)
    for use in USES[:2] if reason == "no such table" else USES:  # an upgrade looks at the revision alone
        with pytest.raises(DatabaseError) as caught:
            use(place)
        said = str(caught.value)
        assert re.match(rf"(cannot (read|write|upgrade) )?the ledger {re.escape(str(place.path))}:? ", said)
        assert reason in said or "is a folder" in said
        assert "name another ledger: --ledger PATH or URL" in said or "name the path of a SQLite file" in said
    done = run("--db", mapped_db, "sanitize", "alice")
    assert done.exit_code == 1 and done.stdout == "" and "Traceback" not in done.output


def test_a_database_of_another_program_is_not_written_but_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    path, empty = tmp_path / "bookmarks.sqlite", tmp_path / "a.sqlite"
    execute(path, "CREATE TABLE bookmarks (url)", "INSERT INTO bookmarks VALUES ('a')")
    path.chmod(0o600)
    for use in USES:
        with pytest.raises(DatabaseError, match=f"{path} has tables of another program; name another ledger: --ledger"):
            use(LedgerFile.locate(path))
    assert execute(path, "SELECT name FROM sqlite_master") == [("bookmarks",)]
    empty.touch(mode=0o600)
    assert read_ledger(ledger=empty).releases == []
    write(LedgerFile.locate(empty))
    assert len(read_ledger(ledger=empty).releases) == 1


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hidden-81@127.0.0.1:1/data",
        "postgresql+psycopg://127.0.0.1:1/data?user=me&sslpassword=hidden-81&password=hidden-81",
        "postgresql://me:hidden-81@127.0.0.1:port/data",
        "postgresql://me:x@hidden-81@127.0.0.1:1/data",
        "postgresql:/me:hidden-81@127.0.0.1/data",
        "postgresql://me@127.0.0.1:1/data?PASSWORD=hidden-81",
        "mysql://me:hidden-81@127.0.0.1/data",
    ],
)
def test_the_password_of_a_url_is_never_shown(mapped_db: Path, url: str) -> None:
    pytest.importorskip("psycopg")
    said: list[str] = []

    def show() -> None:
        place = LedgerFile.locate(url)
        said.append(f"{place} {place!r} {Sanitizer.load(mapped_db, ledger=url)!r}")
        place.upgrade()

    uses: list[Callable[[], object]] = [show, lambda: read_ledger(mapped_db, ledger=url)]
    uses.append(lambda: Sanitizer.load(mapped_db, ledger=url).release(["alice"], dataset="d"))
    for use in uses:
        with pytest.raises(DatabaseError) as caught:
            use()
        said += traceback.TracebackException.from_exception(caught.value).format_exception_only()
    for command in (["ledger"], ["sanitize", "alice"], ["ledger", "settle", "a1"], ["upgrade"]):
        done = run("--db", mapped_db, "--ledger", url, *command)
        assert done.exit_code == 1 and "Traceback" not in done.output, done.output
        said.append(done.output)
    assert "hidden-81" not in "".join(said)


def test_an_upgrade_that_fails_half_way_changes_nothing(place: LedgerFile, next_script: Path, tmp_path: Path) -> None:
    assert place.path is not None
    for line, error in (("raise RuntimeError('half way')", RuntimeError), ("op.execute('not SQL')", DatabaseError)):
        next_script.write_text(f"{NEXT}    {line}\n")
        with pytest.raises(error, match="half way|cannot upgrade the ledger .*syntax error"):
            place.upgrade()
        columns = execute(place.path, "SELECT name FROM pragma_table_info('custext_releases')")
        assert ("later",) not in columns and ("state",) in columns
        assert execute(place.path, f"SELECT * FROM {schema.VERSION_TABLE}") == [("0001",)]
    assert LedgerFile.locate(tmp_path / "none.sqlite").upgrade() == ("0002", "0002")
    assert not (tmp_path / "none.sqlite").exists()


@pytest.mark.parametrize("name", ["a%20b#", "é", "a?mode=memory&x=1"])
def test_the_ledger_is_where_its_path_says(tmp_path: Path, name: str, mapped_template: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    db, elsewhere = folder / "my.data.duckdb", folder / f"{name}.sqlite"
    enter_release(db, "d")
    Sanitizer.load(mapped_template, ledger=f"sqlite:///{elsewhere}").release(["alice"], dataset="e")
    assert {path.name for path in folder.iterdir()} == {"my.data.ledger.sqlite", elsewhere.name}
    assert list(tmp_path.iterdir()) == [folder]
    assert [release.dataset for release in (*list_releases(db), *read_ledger(ledger=elsewhere).releases)] == ["d", "e"]


def test_the_ledger_and_its_logs_are_private(open_folder: Path) -> None:
    """Even if new files are open to everybody unless somebody says otherwise; those that others can read are told."""
    (link := open_folder / "link.sqlite").symlink_to(open_folder / "it's.sqlite")
    before = os.umask(0)
    try:
        write(place := LedgerFile.locate(link))
        file = link.resolve()
        with place.reading(), place.writing() as connection:
            insert_entry(connection, make_release("d"))
            made = [file.with_name(file.name + ending) for ending in ("", "-wal", "-shm")]
            assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o600] * 3
    finally:
        os.umask(before)
    assert sorted(open_folder.iterdir()) == [file, link]  # nothing is left beside it
    file.chmod(0o640)
    warn_if_open.cache_clear()  # as in a new process
    with pytest.warns(PrivacyWarning, match=r"is open to other users \(mode 0640\).*; run: chmod 600 ") as said:
        read_ledger(ledger=file)
    assert len(said) == 1 and said[0].filename == __file__
    write(LedgerFile.locate(file))
