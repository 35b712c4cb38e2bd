"""The migrations make the database that schema.py makes, and other revisions are refused with the way out."""

import ast
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any, get_type_hints

import duckdb
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from custext_sql.errors import DatabaseError
from custext_sql.ledger import schema
from custext_sql.mapping.mapping import MappingInfo
from custext_sql.store import migrating
from custext_sql.store import schema as database_schema
from custext_sql.store.database import reading, writing
from custext_sql.store.database_files import new_database
from custext_sql.store.embeddings import Embedding
from custext_sql.store.rewriting import compact_database, upgrade_database
from custext_sql.store.schema import REVISIONS

EVERYTHING = {  # what a database contains, as DuckDB reports it
    "columns": """
        SELECT table_name, column_name, column_index, data_type, is_nullable, column_default, comment
        FROM duckdb_columns() WHERE NOT internal
    """,
    "constraints": "SELECT table_name, constraint_type, constraint_text FROM duckdb_constraints()",
    "indexes": "SELECT table_name, index_name, sql FROM duckdb_indexes()",
    "views": "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal",
    "macros": "SELECT function_name, parameters, macro_definition FROM duckdb_functions() WHERE NOT internal",
    "stopwords": "SELECT language, word, source FROM stopwords",
    "revision": "FROM alembic_version",
}


def fetch(path: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(path, read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_the_migrations_make_the_database_that_the_tables_make(fresh_db: Path, tmp_path: Path) -> None:
    with new_database(tmp_path / "migrated.duckdb") as migrated:
        migrating.upgrade(migrated)
        for part, listed in EVERYTHING.items():
            expected = fetch(fresh_db, f"FROM ({listed}) ORDER BY ALL")
            assert fetch(migrated, f"FROM ({listed}) ORDER BY ALL") == expected, part
            assert expected or part == "indexes", "there is nothing to compare"


@pytest.mark.parametrize(("row", "table"), [(Embedding, "embeddings"), (MappingInfo, "mappings")])
def test_fields_of_a_row_are_the_columns_of_its_table(row: type[Any], table: str, fresh_db: Path) -> None:
    """So no list of columns is kept by hand."""
    query = f"SELECT column_name, data_type, is_nullable FROM duckdb_columns() WHERE table_name = '{table}'"
    types = {"VARCHAR": str, "INTEGER": int, "BIGINT": int, "BOOLEAN": bool, "TIMESTAMP": datetime}
    found = {name: types[kind] | None if nullable else types[kind] for name, kind, nullable in fetch(fresh_db, query)}
    assert found == get_type_hints(row) and list(found) == [field.name for field in fields(row)]


FOLDERS = [("versions", REVISIONS), ("ledger", schema.REVISIONS)]


@pytest.mark.parametrize(("folder", "revisions"), FOLDERS)
def test_the_listed_revisions_are_those_of_the_scripts(folder: str, revisions: tuple[str, ...]) -> None:
    config = Config()
    config.set_main_option("script_location", str(database_schema.find_scripts()))
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", str(database_schema.find_scripts() / folder))
    scripts = list(ScriptDirectory.from_config(config).walk_revisions())
    assert tuple(script.revision for script in reversed(scripts)) == revisions


@pytest.mark.parametrize(("folder", "revisions"), FOLDERS)
def test_migrations_use_no_code_of_the_package(folder: str, revisions: tuple[str, ...]) -> None:
    """The package changes between versions, but what a revision creates must not."""
    scripts = list((database_schema.find_scripts() / folder).glob("*.py"))
    assert len(scripts) == len(revisions)
    for script in scripts:
        imported: set[str] = set()
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add("custext_sql" if node.level else str(node.module).partition(".")[0])
        assert imported <= {"alembic", "sqlalchemy", "pathlib"}, script.name


SNAPSHOTS = {  # databases that this version cannot read, and how to make them of one that it can
    "a revision that this version does not have": "UPDATE alembic_version SET version_num = '0008'",
    "the first revision before scores were lists": "DROP VIEW scores; DROP TABLE score_rows",
}


@pytest.mark.parametrize("change", SNAPSHOTS.values(), ids=SNAPSHOTS)
def test_a_database_of_another_version_is_refused_with_both_ways_out(mapped_db: Path, change: str) -> None:
    with duckdb.connect(mapped_db) as connection:
        connection.execute(change)
    [(revision,)] = fetch(mapped_db, "FROM alembic_version")
    before = mapped_db.read_bytes()
    said = set()
    for opening in (reading, writing):
        with pytest.raises(DatabaseError) as caught, opening(mapped_db):
            pass
        said.add(str(caught.value))
    for rewrite in (upgrade_database, compact_database):
        with pytest.raises(DatabaseError) as caught:
            rewrite(mapped_db)
        said.add(str(caught.value))
    [message] = said
    assert message.startswith(f"{mapped_db} was made by another version of custext-sql (revision {revision})")
    assert "pip install --upgrade custext-sql" in message
    assert f"make a new one with: custext --db {mapped_db} load starter" in message
    assert mapped_db.read_bytes() == before


def test_threads_make_and_upgrade_databases_at_the_same_time(tmp_path: Path) -> None:
    def create(path: Path) -> None:
        with writing(path):
            pass

    with ThreadPoolExecutor(4) as pool:
        made = [
            pool.submit(call, tmp_path / f"{call.__name__}-{number}.duckdb")
            for number in range(3)
            for call in (create, migrating.upgrade)
        ]
    assert [one.exception() for one in made] == [None] * 6
