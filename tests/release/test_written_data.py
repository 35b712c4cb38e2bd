"""custext sql --write changes the DuckDB file of --data, and no raw text gets into it unnoticed."""

import json
from pathlib import Path

import duckdb
import pytest

from custext_sql.sql.statements import read_statements
from custext_sql.store.ledger.table import list_releases
from tests.release.test_data_files import db, folder, run

__all__ = ["db", "folder"]  # fixtures

CREATE = "CREATE TABLE clean AS SELECT id, custext_sanitize(body, 1, true) AS body FROM reviews"


@pytest.fixture
def shop(folder: Path) -> Path:
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE reviews AS SELECT i AS id, 'alice bob' AS body FROM range(3) r(i)")
    return folder / "shop.duckdb"


def list_tables(shop: Path) -> list[str]:
    with duckdb.connect(shop, read_only=True) as connection:
        return [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        (CREATE, "CREATE"),
        ("INSERT INTO reviews SELECT 4, custext_sanitize('alice', 1, true)", "INSERT"),
        ("UPDATE reviews SET body = custext_sanitize(body, 1, true)", "UPDATE"),
        ("DELETE FROM reviews", "DELETE"),
        ("DROP TABLE reviews", "DROP"),
    ],
)
def test_without_it_the_file_is_open_for_reading_only(db: Path, shop: Path, statement: str, kind: str) -> None:
    refused = run("sql", statement, "--data", shop)
    expected = f"{kind}: the --data file is open read-only; to change it, add --write"
    assert refused.output == f"Error: {expected}\n"
    assert list_tables(shop) == ["reviews"] and list_releases(db) == []
    assert run("sql", statement, "--data", shop, "--write").exit_code == 0


def test_a_table_that_is_created_is_a_release(db: Path, shop: Path) -> None:
    done = run("sql", CREATE, "--data", shop, "--write", "--dataset", "d")
    assert done.exit_code == 0, done.output
    assert list_tables(shop) == ["clean", "reviews"]
    [release] = list_releases(db)
    assert (release.dataset, release.state, release.sampled, release.at_least) == ("d", "complete", 6, True)


RAW = [
    "CREATE TABLE raw AS SELECT * FROM reviews",
    "CREATE OR REPLACE TABLE raw AS FROM reviews",
    "INSERT INTO reviews VALUES (9, 'alice')",
    "UPDATE reviews SET body = 'bob'",
    "CREATE TYPE texts AS ENUM (SELECT DISTINCT body FROM reviews)",
    "CREATE TABLE more (id INT, body VARCHAR); COPY more FROM 'in.csv'",
    "CREATE TABLE raw AS FROM reviews -- custext_sanitize",
    "CREATE TABLE raw -- custext_sanitize\rAS FROM reviews; SELECT 1",
    "CREATE TABLE raw AS SELECT 'custext_sanitize', body FROM reviews",
    "CREATE TABLE raw AS PIVOT reviews ON id USING first(body); SELECT 1",
    "PRAGMA import_database('in')",
]


@pytest.mark.parametrize("statement", RAW)
def test_raw_rows_need_allow_raw(db: Path, shop: Path, folder: Path, statement: str) -> None:
    (folder / "in.csv").write_text("id,body\n1,alice\n")
    (folder / "in").mkdir()
    (folder / "in" / "schema.sql").write_text("CREATE TABLE raw AS FROM reviews;")
    (folder / "in" / "load.sql").touch()
    refused = run("sql", statement, "--data", shop, "--write", "--dataset", "d")
    assert refused.exit_code == 1 and "nothing was written: the query sanitizes nothing" in refused.output
    assert list_tables(shop) == ["reviews"] and list_releases(db) == []
    done = run("sql", statement, "--data", shop, "--write", "--dataset", "d", "--allow-raw")
    assert done.exit_code == 0, done.output
    assert [(release.draws, release.state) for release in list_releases(db)] == [("raw", "complete")]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (id INT, twice INT AS (2 * id))",
        "CREATE TEMP TABLE t AS FROM reviews",
        "CREATE OR REPLACE TEMPORARY TABLE t AS FROM reviews; SELECT 1",
        "CREATE VIEW v AS FROM reviews",
        "ALTER TABLE reviews RENAME TO others",
        "DROP TABLE reviews",
        "DELETE FROM reviews",
        "BEGIN; COMMIT",
        "FROM reviews",
    ],
)
def test_statements_that_store_no_rows_are_free(db: Path, shop: Path, statement: str) -> None:
    done = run("sql", statement, "--data", shop, "--write")
    assert done.exit_code == 0, done.output
    assert list_releases(db) == []


def test_a_statement_is_only_raw_where_the_file_is_writable() -> None:
    for statement in RAW[:5]:
        assert read_statements(statement).exports == (False,)
        assert read_statements(statement, writable=True).exports == (True,)
    assert read_statements("ATTACH 'x.duckdb'; DROP TABLE t", writable=True).exports == (False, True)


def test_a_pivot_is_what_its_first_word_says(db: Path, shop: Path, folder: Path) -> None:
    """DuckDB calls any statement with a PIVOT a MULTI statement, even if it writes."""
    refused = run("sql", "COPY (PIVOT reviews ON id USING first(body)) TO 'raw.csv'; SELECT 1", "--data", shop)
    assert "nothing was written" in refused.output and not (folder / "raw.csv").exists()
    sanitized = "(SELECT id, custext_sanitize(body, 1, true) AS body FROM reviews) ON id USING first(body)"
    for number, statement in enumerate(
        (f"CREATE TABLE made AS PIVOT {sanitized}", f"COPY (PIVOT {sanitized}) TO 'o.csv'")
    ):
        done = run("sql", statement, "--data", shop, "--write", "--dataset", "d")
        assert done.exit_code == 0, done.output
        assert [(release.draws, release.state) for release in list_releases(db)] == [("fresh", "complete")] * (
            number + 1
        )
    for reading in (f"PIVOT {sanitized}", f"WITH p AS (PIVOT {sanitized}) FROM p"):
        shown = run("sql", reading, "--data", shop, "--json")
        assert shown.exit_code == 0 and len(json.loads(shown.stdout)[0]) == 3, shown.output
    failing = f"CREATE TABLE more AS PIVOT {sanitized}; SELECT error('late')"
    assert run("sql", failing, "--data", shop, "--write", "--dataset", "late").exit_code == 1
    assert [release.state for release in list_releases(db) if release.dataset == "late"] == ["pending"]


def test_no_query_changes_a_custext_database(db: Path, shop: Path, folder: Path) -> None:
    run("sql", CREATE, "--data", shop, "--write")
    (folder / "link.duckdb").hardlink_to(db)
    (folder / "other.duckdb").write_bytes(db.read_bytes())
    for query, options in (
        ("DELETE FROM releases", ("--data", "link.duckdb", "--write", "--allow-raw")),
        ("DELETE FROM releases", ("--data", "other.duckdb", "--write", "--allow-raw")),
        (f"ATTACH '{db}' AS c (READ_WRITE); DELETE FROM c.releases", ("--data", shop, "--allow-raw")),
        ("ATTACH 'other.duckdb' AS c; DELETE FROM c.releases", ("--data", shop, "--write", "--allow-raw")),
    ):
        refused = run("sql", query, *options)
        assert "queries cannot change a custext database" in refused.output, refused.output
    assert len([release for release in list_releases(db) if release.draws == "fresh"]) == 1
    assert len(list_releases(folder / "other.duckdb")) == 1


def test_a_failure_after_writing_stays_in_the_ledger(db: Path, shop: Path) -> None:
    assert run("sql", f"{CREATE}; SELECT error('late')", "--data", shop, "--write", "--dataset", "d").exit_code == 1
    [release] = list_releases(db)
    assert (release.state, release.sampled) == ("pending", 6) and list_tables(shop) == ["clean", "reviews"]


def test_it_needs_a_file_that_is_not_the_custext_database(db: Path, shop: Path) -> None:
    assert "--write needs --data FILE" in run("sql", "SELECT 1", "--write").output
    assert "is the custext database, which queries cannot change" in run("sql", CREATE, "--data", db, "--write").output
    refused = run("sql", "CREATE TABLE custext.t AS SELECT 1")
    assert refused.output == "Error: CREATE: queries cannot change the custext database; it is open read-only\n"
    assert "nothing.duckdb does not exist" in run("sql", CREATE, "--data", "nothing.duckdb", "--write").output


def test_a_comment_ends_at_a_carriage_return_as_in_duckdb(db: Path, shop: Path) -> None:
    assert run("sql", "DELETE FROM reviews -- one\rWHERE id = 1", "--data", shop, "--write").exit_code == 0
    with duckdb.connect(shop, read_only=True) as connection:
        assert connection.execute("SELECT id FROM reviews ORDER BY id").fetchall() == [(0,), (2,)]
