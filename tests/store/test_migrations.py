"""Migrations lead from every older revision to tables.py, in one transaction, and never change their meaning."""

import ast
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from custext_sql.errors import DatabaseError
from custext_sql.store import connections, rewritten_files
from custext_sql.store.database import reading, upgrade_database, writing
from custext_sql.store.schema import migrate, tables
from custext_sql.store.schema.distribution_macro import write_distribution_macro
from custext_sql.store.schema.revisions import REVISIONS
from tests.shipped_stopwords import STOPWORDS

NEXT = """
from alembic import op
import sqlalchemy as sa
revision, down_revision, branch_labels, depends_on = "9999", {head!r}, None, None

def upgrade():
    op.create_table("later", sa.Column("a", sa.Integer))
    op.execute("INSERT INTO settings (key, value) VALUES ('upgraded', 'yes')")
    {last}
"""


def schema(path: Path) -> list[tuple[Any, ...]]:
    """Return columns with types and comments, and constraints, as DuckDB reports them."""
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


def create_directly(folder: Path) -> Path:
    """An empty database with the tables of tables.py, made without migrations."""
    path = folder / "direct.duckdb"
    with duckdb.connect() as connection:  # in the same file format, which decides how views and macros are stored
        connection.execute(f"ATTACH '{path}' AS made (TYPE duckdb, STORAGE_VERSION 'v1.0.0')")
    engine = create_engine(f"duckdb:///{path}")
    tables.metadata.create_all(engine)
    engine.dispose()
    return path


def fetch(path: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(path, read_only=True) as connection:
        return connection.execute(query).fetchall()


def macro(path: Path) -> list[tuple[Any, ...]]:
    """Return the parameters and the body of custext_distribution, as DuckDB parsed them."""
    found = "FROM duckdb_functions() WHERE function_name = 'custext_distribution'"
    return fetch(path, f"SELECT function_type, parameters, macro_definition {found}")


def view(path: Path) -> list[tuple[Any, ...]]:
    """Return the definition of the view scores, as DuckDB parsed it."""
    return fetch(path, "SELECT sql FROM duckdb_views() WHERE view_name = 'scores'")


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A version of the package with one more migration, which succeeds; the value is the path of its script."""
    scripts = tmp_path / "migrations"
    shutil.copytree(migrate.find_scripts(), scripts)
    script = scripts / "versions" / "9999_later.py"
    script.write_text(NEXT.format(head=REVISIONS[-1], last="pass"))
    for module in (connections, rewritten_files, migrate):
        monkeypatch.setattr(module, "REVISIONS", (*REVISIONS, "9999"))
    monkeypatch.setattr(migrate, "find_scripts", lambda: scripts)
    return script


def test_migrating_from_empty_equals_tables(tmp_path: Path, db_path: Path) -> None:
    with writing(db_path):
        pass
    assert schema(db_path) == schema(create_directly(tmp_path))


def test_a_new_database_has_the_view_that_this_version_writes(tmp_path: Path, fresh_db: Path) -> None:
    assert view(fresh_db) == view(create_directly(tmp_path)) != []


def test_the_listed_revisions_are_those_of_the_scripts() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrate.find_scripts()))
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
        with (
            pytest.raises(DatabaseError, match=f"revision 9999, .*newer.* supports up to {REVISIONS[-1]}"),
            opening(mapped_db),
        ):
            pass
    with pytest.raises(DatabaseError, match="9999"):
        upgrade_database(mapped_db)


def test_columns_need_no_quoting(mapped_db: Path) -> None:
    with reading(mapped_db) as connection:
        for table in tables.metadata.sorted_tables:
            names = ", ".join(column.name for column in table.columns)
            connection.execute(f"SELECT {names} FROM {table.name}").fetchall()


def test_migrations_use_no_code_of_the_package() -> None:
    """The package changes between versions, but what a revision creates must not."""
    scripts = list((migrate.find_scripts() / "versions").glob("*.py"))
    assert len(scripts) >= len(REVISIONS)
    for script in scripts:
        imported: set[str] = set()
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add("custext_sql" if node.level else str(node.module).partition(".")[0])
        assert not imported & {"custext_sql", "spacy_plugin", "importlib"}, script.name


def test_a_new_database_has_the_shipped_stopwords(fresh_db: Path) -> None:
    rows = fetch(fresh_db, "SELECT language, word, source FROM stopwords ORDER BY ALL")
    assert rows == sorted(("english", word, "NLTK stopwords corpus, the list of 179 words") for word in STOPWORDS)


def test_a_new_database_has_the_macro_that_this_version_writes(fresh_db: Path, tmp_path: Path) -> None:
    direct = create_directly(tmp_path)
    with duckdb.connect(direct) as connection:
        connection.execute(write_distribution_macro())
    assert len(macro(direct)) == 1
    assert macro(fresh_db) == macro(direct)


def test_threads_make_databases_at_the_same_time(tmp_path: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        made = [pool.submit(migrate.upgrade, tmp_path / f"{number}.duckdb") for number in range(12)]
    assert [one.exception() for one in made] == [None] * 12
