"""`custext upgrade` keeps all data, whole or not at all, shown with a second revision that only tests have."""

import json
import signal
from pathlib import Path

import duckdb
import pytest

from custext_sql import sanitize_file
from custext_sql.errors import DatabaseError
from custext_sql.store.contents import load_mapping
from custext_sql.store.database import reading, writing
from custext_sql.store.rewriting import upgrade_database
from tests.cli.test_commands import run
from tests.killing import Jobs
from tests.ledger_entries import list_releases
from tests.store.test_migrations import fetch
from tests.store.test_rewriting import MINE, copy, differ

SECRET = b"what the migration deletes"


@pytest.fixture
def old_db(mapped_db: Path) -> Path:
    """A database of the first revision: a mapping, objects of the user, a row that is deleted; and its ledger."""
    source = mapped_db.with_name("texts.csv")
    source.write_text("id,body\n1,alice and bob\n")
    sanitize_file(source, source.with_name("out.csv"), columns="body", eps=1.0, database=mapped_db)
    for file in mapped_db.parent.glob("*.csv"):
        file.unlink()
    with duckdb.connect(mapped_db) as connection:
        connection.execute(MINE)
        connection.execute("CREATE INDEX mine ON groups (mapping)")
        connection.execute("INSERT INTO settings VALUES ('secret', ?)", [SECRET.decode()])
    return mapped_db


def test_an_older_database_is_refused_until_it_is_upgraded(old_db: Path, next_version: Path) -> None:
    before = old_db.read_bytes()
    for opening in (reading, writing):
        with pytest.raises(DatabaseError, match="revision 0001 and this version needs 0002"), opening(old_db):
            pass
    for command in (["info"], ["sanitize", "alice"], ["sql", "SELECT 1"], ["use", "small-euclidean-k4"]):
        result = run("--db", old_db, *command)
        assert result.exit_code == 1, command
        assert f"is at revision 0001 and this version needs 0002; run: custext --db {old_db} upgrade" in result.output
    assert run("--db", old_db, "ledger").exit_code == 0  # a database of its own
    assert old_db.read_bytes() == before
    done = run("--db", old_db, "upgrade").output
    assert done == "database: upgraded from 0001 to 0002\nledger: already at revision 0001\n"
    again = run("--db", old_db, "upgrade").output
    assert again == "database: already at revision 0002\nledger: already at revision 0001\n"
    same = {"before": "0002", "after": "0002"}
    assert json.loads(run("--db", old_db, "upgrade", "--json").output)["database"] == same
    assert run("--db", old_db, "info").exit_code == 0


def test_an_upgrade_changes_what_its_migration_changes_and_nothing_else(old_db: Path, next_version: Path) -> None:
    before = copy(old_db)
    assert SECRET in old_db.read_bytes()
    assert upgrade_database(old_db) == ("0001", "0002")
    assert SECRET not in old_db.read_bytes()  # not even in blocks that DuckDB freed: the whole file is written again
    with duckdb.connect(before) as connection:  # the migration by hand
        connection.execute("CREATE TABLE later (a INTEGER); DELETE FROM settings WHERE key = 'secret'")
        connection.execute("INSERT INTO settings VALUES ('upgraded', 'yes')")
        connection.execute("UPDATE alembic_version SET version_num = '0002'")
    assert differ(before, old_db) is None
    kept = [before.name, old_db.name, f"{old_db.stem}.ledger.sqlite"]
    assert sorted(path.name for path in old_db.parent.iterdir()) == sorted(kept)


def test_an_upgraded_database_sanitizes_and_enters_it_in_the_ledger(old_db: Path, next_version: Path) -> None:
    [released] = list_releases(old_db)
    upgrade_database(old_db)
    mapping = load_mapping(old_db)  # its fingerprint matches
    rows = fetch(old_db, "SELECT output, probability FROM custext_distribution('Bob', 1.0)")
    assert {output for output, _ in rows} == set(mapping.find_row("bob")[0])
    assert sum(probability for _, probability in rows) == pytest.approx(1.0)
    result = run("--db", old_db, "sanitize", "alice and bob", "--plus", "--dataset", "new")
    assert result.exit_code == 0, result.output
    earlier, new = list_releases(old_db)
    assert earlier == released
    assert (new.dataset, new.mapping, new.stopwords) == ("new", mapping.info.name, 1)


def test_an_upgrade_that_fails_half_way_changes_nothing(old_db: Path, next_version: Path) -> None:
    next_version.write_text(f"{next_version.read_text()}    raise RuntimeError('half way')\n")
    before = old_db.read_bytes()
    with pytest.raises(RuntimeError, match="half way"):
        upgrade_database(old_db)
    assert old_db.read_bytes() == before
    assert sorted(path.name for path in old_db.parent.iterdir()) == [old_db.name, f"{old_db.stem}.ledger.sqlite"]


@pytest.mark.slow
def test_killed_while_upgrading(old_db: Path, next_scripts: Path, next_version: Path) -> None:
    """The old or the new database is there, whole."""
    before = copy(old_db)
    after = copy(before)
    upgrade_database(after)
    upgraded = []
    with Jobs() as jobs:
        for point in range(1, 13):
            old_db.write_bytes(before.read_bytes())
            assert jobs.run("upgrade", old_db, next_scripts, point) == signal.SIGKILL
            upgraded.append(differ(before, old_db) is not None)
            assert differ(after if upgraded[-1] else before, old_db) is None
    assert upgraded == [False] * 8 + [True] * 4
    for path in old_db.parent.glob(".*"):  # what the killed processes left
        assert path.name.endswith(".draft")
    assert upgrade_database(old_db) == ("0002", "0002")
