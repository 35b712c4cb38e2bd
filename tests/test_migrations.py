"""Migrations lead to tables.py, in one transaction, from older versions only."""

import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from custext_sql import database, migrate, tables
from custext_sql.database import reading, upgrade_database, writing
from custext_sql.errors import DatabaseError
from custext_sql.revisions import REVISIONS

NEXT = """
from alembic import op
import sqlalchemy as sa
revision, down_revision, branch_labels, depends_on = "9999", {head!r}, None, None

def upgrade():
    op.create_table("later", sa.Column("a", sa.Integer))
    op.execute("INSERT INTO settings VALUES ('upgraded', 'yes')")
    {last}
"""


def schema(path: Path) -> list[tuple[Any, ...]]:
    """Columns with types and comments, and constraints, as DuckDB reports them."""
    with duckdb.connect(path, read_only=True) as connection:
        columns = connection.execute(
            """
            SELECT table_name, column_name, column_index, data_type, is_nullable, column_default, comment
            FROM duckdb_columns() WHERE NOT internal AND table_name <> 'alembic_version' ORDER BY ALL
            """
        ).fetchall()
        constraints = connection.execute(
            """
            SELECT table_name, constraint_type, constraint_text
            FROM duckdb_constraints() WHERE table_name <> 'alembic_version' ORDER BY ALL
            """
        ).fetchall()
    return columns + constraints


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A version of the package that has one more migration, which succeeds; returns its script."""
    scripts = tmp_path / "migrations"
    shutil.copytree(str(files("custext_sql.migrations")), scripts)
    script = scripts / "versions" / "9999_later.py"
    script.write_text(NEXT.format(head=REVISIONS[-1], last="pass"))
    for module in (database, migrate):
        monkeypatch.setattr(module, "REVISIONS", (*REVISIONS, "9999"))
    monkeypatch.setattr(migrate, "files", lambda package: scripts)
    return script


def test_migrating_from_empty_equals_tables(tmp_path: Path, db_path: Path) -> None:
    with writing(db_path):
        pass
    direct = tmp_path / "direct.duckdb"
    engine = create_engine(f"duckdb:///{direct}")
    tables.metadata.create_all(engine)
    engine.dispose()
    assert schema(db_path) == schema(direct)


def test_the_listed_revisions_are_those_of_the_scripts() -> None:
    config = Config()
    config.set_main_option("script_location", str(files("custext_sql.migrations")))
    scripts = list(ScriptDirectory.from_config(config).walk_revisions())
    assert tuple(script.revision for script in reversed(scripts)) == REVISIONS


def test_an_older_database_names_the_command_that_upgrades_it(mapped_db: Path, next_version: Path) -> None:
    for opening in (reading, writing):
        with (
            pytest.raises(
                DatabaseError, match=f"revision {REVISIONS[-1]} and this version needs 9999; run: .* upgrade"
            ),
            opening(mapped_db),
        ):
            pass


def test_upgrading_keeps_what_is_there(mapped_db: Path, next_version: Path) -> None:
    assert upgrade_database(mapped_db) == (REVISIONS[-1], "9999")
    with reading(mapped_db) as connection:
        assert connection.execute("SELECT count(*) FROM groups").fetchall() == [(16,)]
        assert connection.execute("SELECT value FROM settings WHERE key = 'upgraded'").fetchall() == [("yes",)]
    assert upgrade_database(mapped_db) == ("9999", "9999")


def test_an_upgrade_that_fails_half_way_changes_nothing(mapped_db: Path, next_version: Path) -> None:
    next_version.write_text(NEXT.format(head=REVISIONS[-1], last="raise RuntimeError('half way')"))
    before = schema(mapped_db)
    with pytest.raises(RuntimeError, match="half way"):
        upgrade_database(mapped_db)
    assert schema(mapped_db) == before
    with duckdb.connect(mapped_db) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(REVISIONS[-1],)]
        assert connection.execute("SELECT * FROM settings WHERE key = 'upgraded'").fetchall() == []


def test_a_newer_database_is_refused_with_both_revisions(mapped_db: Path) -> None:
    with duckdb.connect(mapped_db) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    for opening in (reading, writing):
        with pytest.raises(DatabaseError, match=f"revision 9999, .*newer.* knows {REVISIONS[-1]}"), opening(mapped_db):
            pass
    with pytest.raises(DatabaseError, match="9999"):
        upgrade_database(mapped_db)


def test_columns_need_no_quoting(mapped_db: Path) -> None:
    with reading(mapped_db) as connection:
        for table in tables.metadata.sorted_tables:
            names = ", ".join(column.name for column in table.columns)
            connection.execute(f"SELECT {names} FROM {table.name}").fetchall()
