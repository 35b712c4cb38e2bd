"""A query can only return rows: whatever would write is refused, and `--into` writes the rows in its place."""

import json
import os
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from custext_sql import Sanitizer
from custext_sql.errors import CusTextError
from custext_sql.files.query_releases import ReleasingQuery
from custext_sql.ledger.release import Release
from custext_sql.sql.nested_query import NestedQuery, open_for_query
from tests.files.test_data_files import db, folder, run
from tests.ledger_entries import list_releases, list_totals
from tests.processes import start, wait_for

__all__ = ["db", "folder"]  # fixtures

SELECT = "SELECT id, custext_sanitize(body, 1, true) AS body FROM reviews"


@pytest.fixture
def shop(folder: Path) -> Path:
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE reviews AS SELECT i AS id, 'alice bob' AS body FROM range(3) r(i)")
        connection.execute("CREATE SEQUENCE ids")
        connection.execute("CREATE VIEW turned AS FROM query('SELECT ' || random())")
    (folder / "in.csv").write_text("id,body\n1,alice\n")
    (folder / "in").mkdir()
    (folder / "in" / "schema.sql").write_text("CREATE TABLE raw AS FROM reviews;")
    (folder / "in" / "load.sql").touch()
    return folder / "shop.duckdb"


def list_tables(shop: Path) -> list[str]:
    with duckdb.connect(shop, read_only=True) as connection:
        return [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]


def read(shop: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(shop, read_only=True) as connection:
        return connection.execute(query).fetchall()


# The ways to write that a search of DuckDB's statements and functions found, on their own and hidden in a query.
STATEMENTS = [
    "COPY reviews TO 'x.csv'",
    "COPY reviews FROM 'in.csv'",
    "COPY FROM DATABASE shop TO memory",
    "EXPORT DATABASE 'x'",
    "IMPORT DATABASE 'in'",
    "PRAGMA copy_database('shop', 'memory')",
    "CREATE TABLE x AS FROM reviews",
    "CREATE TABLE x AS PIVOT reviews ON id USING first(body)",
    "CREATE TYPE x AS ENUM (SELECT DISTINCT body FROM reviews)",
    "CREATE PERSISTENT SECRET x (TYPE http)",
    "INSERT INTO reviews VALUES (9, 'alice')",
    "UPDATE reviews SET body = 'bob'",
    "DELETE FROM reviews",
    "MERGE INTO reviews USING (SELECT 1 AS id) s ON (reviews.id = s.id) WHEN MATCHED THEN DELETE",
    "DROP TABLE reviews",
    "ALTER TABLE reviews RENAME TO others",
    "ATTACH 'x.duckdb'",
    "PREPARE p AS COPY reviews TO 'x.csv'",
    "EXPLAIN ANALYZE COPY reviews TO 'x.csv'",
    "CALL enable_logging('QueryLog', storage = 'file', storage_path = 'x')",
    "SET enable_logging = true",
    "PRAGMA profiling_output = 'x'",
    "CHECKPOINT",
    "DETACH shop",
    "LOAD json",
]
HIDDEN = [
    "WITH i AS (COPY reviews TO 'x.csv') SELECT 1",
    "WITH i AS (INSERT INTO reviews VALUES (9, 'alice') RETURNING *) FROM i",
    "SELECT (WITH i AS (COPY reviews TO 'x.csv') SELECT 1)",
    "FROM query('COPY reviews TO ''x.csv''')",
    "FROM query('WITH i AS (COPY reviews TO ''x.csv'') SELECT 1')",
    "FROM enable_logging('QueryLog', storage = 'file', storage_path = 'x')",
    "FROM enable_profiling(save_location = 'x')",
    "FROM json_execute_serialized_sql(json_serialize_sql('WITH i AS (COPY (SELECT 42) TO ''x.csv'') SELECT 1'))",
    "FROM query('FROM json_execute' || '_serialized_sql(json_serialize_sql(''SELECT 1''))')",
    "SELECT (SELECT max(i) FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1 AS i')))",
    "SELECT nextval('shop.ids')",
    "WITH k AS (COPY reviews TO 'x.csv') PIVOT reviews ON id IN (0, 1) USING first(body)",
    "SELECT 1 FROM (PIVOT (FROM json_execute_serialized_sql(json_serialize_sql("
    "'WITH i AS (COPY (SELECT 42) TO ''x.csv'') SELECT 1 AS i, 2 AS j'))) ON i USING first(j))",
    "FROM query/**/(CASE WHEN left(current_query(), 1) = 'E' THEN 'SELECT 1' ELSE 'FROM json_execute_serialized_sql("
    "json_serialize_sql(''WITH i AS (COPY (SELECT 42) TO x.csv) SELECT 1''))' END)",
    """FROM "query_table"(CASE WHEN left(current_query(), 1) = 'E' THEN 'reviews' ELSE 'other' END)""",
    "FROM turned",
    "SELECT 1) ; COPY reviews TO 'x.csv'; SELECT * FROM (SELECT 1",
    "SELECT 1) UNION ALL SELECT * FROM (SELECT 2",
]


def test_a_query_that_writes_is_refused(db: Path, shop: Path, folder: Path) -> None:
    """Twice: by the program, and by the rule alone, which does not look at the name of the statement."""
    before, content, sanitizer = sorted(folder.rglob("*")), shop.read_bytes(), Sanitizer.load(db)
    nested = NestedQuery("SELECT 1")
    with open_for_query(Release(sanitizer, None), shop) as connection:
        for query in (*STATEMENTS, *HIDDEN):
            with pytest.raises(CusTextError):
                ReleasingQuery(query, sanitizer, str(shop), allow_raw=True).write(folder / "out.csv")
            if any(part in query for part in (") ; COPY", "UNION ALL", "PIVOT")):
                continue  # not one statement, as the parser says
            nested.text, nested.nested = query, f"SELECT * FROM (\n{query}\n)"
            with pytest.raises(CusTextError):
                nested.fetch_objects(connection)
    assert sorted(folder.rglob("*")) == before and shop.read_bytes() == content
    assert list_releases(db) == []


def test_what_to_do_instead_is_said(db: Path, shop: Path) -> None:
    for query, instead in (
        ("COPY reviews TO 'x.csv'", "expected a query, found COPY; write the rows of a query to a file with --output"),
        ("CREATE TABLE x AS FROM reviews", "found CREATE; write the rows of a query to a table with --into TABLE"),
        (
            "CREATE TABLE x AS PIVOT reviews ON id USING first(body)",
            "Error: a PIVOT needs a list of values: PIVOT ... ON column IN",
        ),
        ("ATTACH 'x.duckdb'", "found ATTACH; attach a database with --attach NAME=FILE"),
        ("SET threads = 1", "expected a query, found SET; use custext_sql.connect() in Python"),
        ("WITH i AS (COPY reviews TO 'x.csv') SELECT 1", "its WITH clause writes; to write its rows, use --output"),
        ("FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))", "runs SQL of its own, which may write"),
    ):
        assert instead in run("sql", query, "--data", shop).output


def test_a_pivot_with_a_list_of_values_is_one_query(db: Path, shop: Path) -> None:
    pivot = "PIVOT (SELECT id, custext_sanitize(body, 0, true) AS body FROM reviews) ON id IN (0, 1) USING first(body)"
    for query in (pivot, f"WITH p AS ({pivot}) FROM p"):
        shown = run("sql", query, "--data", shop, "--json")
        assert shown.exit_code == 0 and set(json.loads(shown.stdout)[0]) == {"0", "1"}, shown.output
    assert run("sql", pivot, "--data", shop, "--into", "pivoted").exit_code == 0
    assert len(read(shop, "FROM pivoted")) == 1


def test_views_that_are_not_used_do_not_matter(db: Path, shop: Path) -> None:
    assert run("sql", SELECT, "--data", shop).exit_code == 0
    with duckdb.connect(shop) as connection:
        connection.execute('CREATE VIEW "Outer view" AS FROM turned')
    refused = run("sql", 'SELECT * FROM "Outer view"', "--data", shop)
    assert "query() and query_table() turn values into SQL" in refused.output


def test_the_values_of_an_enum_stay_behind(db: Path, shop: Path, folder: Path) -> None:
    with duckdb.connect(shop) as connection:
        connection.execute("CREATE TABLE moods AS SELECT 1 AS id, ['a']::ENUM('a', 'secret')[] AS mood")
    query = "SELECT *, custext_sanitize('alice', 0, true) AS t FROM moods WHERE id > 1"
    assert run("sql", query, "--data", shop, "--into", "few").exit_code == 0
    assert [row[1] for row in read(shop, "DESCRIBE few")] == ["INTEGER", "VARCHAR[]", "VARCHAR"]


def test_odd_queries_get_plain_errors(db: Path, shop: Path, folder: Path) -> None:
    (folder / "custext.duckdb").write_bytes(shop.read_bytes())
    assert run("sql", "SELECT count(*) FROM reviews", "--data", "custext.duckdb").exit_code == 0
    for query, options, said in (
        ("SELECT \udcff", (), "the query is not valid UTF-8"),
        ("SELECT (repeat('[', 3000) || repeat(']', 3000))::JSON AS x", ("--json",), "nested too deeply for JSON"),
        ("SELECT 1", ("--data", "."), ". is not a file; --data needs a DuckDB file"),
        ("SELECT 1", ("--data", shop, "--attach", "SHOP=custext.duckdb"), "the name is taken; choose another"),
        ("SELECT 1", ("--attach", "memory=custext.duckdb"), "the name is taken; choose another"),
        ("SELECT 1", ("--data", shop, "--attach", f"x={shop}"), "is attached already; name each file once"),
        ("FROM 'https://example.org/x.csv'", (), "the query needs DuckDB's httpfs extension; in Python"),
        ("FROM read_xlsx('x.xlsx')", (), "the query needs DuckDB's excel extension; in Python"),
    ):
        failed = run("sql", query, *options)
        assert failed.exit_code == 1 and said in failed.output, failed.output
    assert json.loads(run("sql", "SELECT 'abc' AS row, 2 AS b", "--json").stdout) == [{"row": "abc", "b": 2}]


def test_the_settings_of_a_query_are_locked(db: Path, shop: Path) -> None:
    with open_for_query(Release(Sanitizer.load(db), None), shop) as connection:
        for setting in ("SET threads = 1", "PRAGMA enable_profiling", "SET autoload_known_extensions = true"):
            with pytest.raises(duckdb.Error, match="locked"):
                connection.execute(setting)
        [modes] = connection.execute("SELECT list(readonly) FROM duckdb_databases() WHERE path IS NOT NULL").fetchall()
    assert modes == ([True],)


@pytest.mark.parametrize("name", ["main.clean", '"it\'s ""new"""'])
def test_rows_go_into_a_new_table(db: Path, shop: Path, name: str) -> None:
    done = run("sql", f"{SELECT};", "--data", shop, "--into", name, "--dataset", "d")
    assert (done.exit_code, done.stdout) == (0, f"{shop}, table {name}: 3 rows\n"), done.output
    assert read(shop, f"SELECT count(*), count(DISTINCT id) FROM {name}") == [(3, 3)]
    [release] = list_releases(db)
    assert (release.dataset, release.state, release.replaced, release.at_least) == ("d", "complete", 6, True)
    assert [path.name for path in shop.parent.iterdir() if "draft" in path.name] == []


def test_every_type_survives(db: Path, shop: Path) -> None:
    query = (
        "SELECT custext_sanitize('alice', 1, true) AS t, 'a'::ENUM('a', 'b') AS e, 1::HUGEINT AS h, [1, NULL] AS l, "
        "{'x': DATE '2020-01-01'} AS s, MAP {1: 'a'} AS m, union_value(n := 1) AS u, INTERVAL 1 DAY AS i, 1.50 AS d"
    )
    assert run("sql", query, "--data", shop, "--into", "types").exit_code == 0
    [(_, *values)] = read(shop, "FROM types")
    with duckdb.connect() as connection:
        [(_, *expected)] = connection.execute(query.replace("custext_sanitize('alice', 1, true)", "1")).fetchall()
    assert values == expected
    kinds = [row[1] for row in read(shop, "DESCRIBE types")]
    assert kinds[1:4] == ["VARCHAR", "HUGEINT", "INTEGER[]"]  # the type of an ENUM would list values of other rows


def test_an_existing_table_is_kept_unless_it_is_said(db: Path, shop: Path) -> None:
    into = ("--data", shop, "--into", "clean")
    assert run("sql", SELECT, *into).exit_code == 0
    refused = run("sql", SELECT, *into)
    assert "table clean already exists; to overwrite it, use --force" in refused.output
    assert run("sql", f"{SELECT} WHERE id = 1", *into, "--force").exit_code == 0
    assert read(shop, "SELECT id FROM clean") == [(1,)]
    appended = run("sql", "SELECT body, id FROM (" + SELECT + ")", *into, "--append")
    assert appended.stdout == f"{shop}, table clean: 3 rows added\n"
    assert read(shop, "SELECT id FROM clean ORDER BY rowid") == [(1,), (0,), (1,), (2,)]
    other = run("sql", "SELECT custext_sanitize(body, 1, true) AS body FROM reviews", *into, "--append")
    assert "table clean has other columns than the rows to append: id, body; found body" in other.output
    missing = run("sql", SELECT, "--data", shop, "--into", "missing", "--append")
    assert "table missing does not exist; to create it, leave out --append" in missing.output
    assert "table turned is a view" in run("sql", SELECT, "--data", shop, "--into", "turned", "--append").output
    typed = run("sql", "SELECT custext_sanitize('alice', 1, true) AS id, '' AS body", *into, "--append")
    assert typed.exit_code == 1 and "expected INT64" in typed.output
    assert len(read(shop, "FROM clean")) == 4
    assert len(list_releases(db)) == 3  # what was not written is no release


@pytest.mark.parametrize("query", ["FROM reviews WHERE id > 9", f"{SELECT} WHERE id > 9"])
def test_a_result_without_rows_is_an_empty_output(db: Path, shop: Path, folder: Path, query: str) -> None:
    assert run("sql", query, "--data", shop, "--into", "nothing").exit_code == 0
    assert run("sql", query, "--data", shop, "--output", "nothing.csv").exit_code == 0
    assert read(shop, "FROM nothing") == [] and (folder / "nothing.csv").read_text() == "id,body\n"
    for release in list_releases(db):  # as of any output, there is an entry, which spends nothing
        assert (release.state, release.draws, release.row_count) == ("complete", "fresh", 0)
        assert (release.largest_row_eps, release.at_least) == (Decimal(0), False)
    [total] = list_totals(db)
    assert (total.releases, total.total_eps, total.at_least, total.raw) == (2, Decimal(0), False, False)


def test_no_query_changes_a_custext_database(db: Path, shop: Path, folder: Path) -> None:
    assert run("sql", SELECT, "--data", shop).exit_code == 0
    before = db.read_bytes()
    (folder / "link.duckdb").hardlink_to(db)
    (folder / "other.duckdb").write_bytes(db.read_bytes())
    for target in (db, "link.duckdb", "other.duckdb"):
        refused = run("sql", "SELECT custext_sanitize('alice', 1, true) AS t", "--data", target, "--into", "x")
        assert "queries cannot change a custext database" in refused.output, refused.output
    assert len(list_releases(db)) == 1 and list_releases(folder / "other.duckdb") == []
    assert (folder / "other.duckdb").read_bytes() == db.read_bytes() == before


def test_it_needs_a_file(db: Path, shop: Path, folder: Path) -> None:
    assert "--into needs --data FILE" in run("sql", SELECT, "--into", "t").output
    assert "not both" in run("sql", SELECT, "--data", shop, "--into", "t", "--output", "t.csv").output
    assert "--append needs --into" in run("sql", SELECT, "--data", shop, "--append").output
    assert "--append or --force" in run("sql", SELECT, "--data", shop, "--into", "t", "--append", "--force").output
    assert "no.duckdb does not exist" in run("sql", SELECT, "--data", "no.duckdb", "--into", "t").output
    assert "in.csv is not a DuckDB file" in run("sql", SELECT, "--data", "in.csv", "--into", "t").output
    assert "schema 'no' does not exist" in run("sql", SELECT, "--data", shop, "--into", "no.t").output


def test_other_databases_are_attached_for_reading(db: Path, shop: Path, folder: Path) -> None:
    with duckdb.connect("more.duckdb") as connection:
        connection.execute("CREATE TABLE names AS SELECT 1 AS id, 'carol' AS name")
    query = 'SELECT id, custext_sanitize(body, 1, true) AS body FROM reviews JOIN "my names".names USING (id)'
    attached = ("--data", shop, "--attach", "my names=more.duckdb")
    done = run("sql", query, *attached, "--json")
    assert [row["id"] for row in json.loads(done.stdout)] == [1]
    assert run("sql", query, *attached, "--attach", "csv=in.csv").exit_code == 1
    for wrong in ("more.duckdb", "=more.duckdb", "a="):
        assert "expected NAME=FILE" in run("sql", query, "--attach", wrong).output
    twice = run("sql", query, "--attach", "a=more.duckdb", "--attach", "A=shop.duckdb")
    assert "each file needs a name of its own" in twice.output
    assert "nothing.duckdb does not exist" in run("sql", query, "--attach", "a=nothing.duckdb").output


@pytest.mark.slow
def test_a_killed_query_leaves_no_table(db: Path, shop: Path, folder: Path) -> None:
    query = "SELECT custext_sanitize(body, 1, true) AS t FROM reviews, range(100000000)"
    command = [sys.executable, "-m", "custext_sql", "sql", query, "--data", str(shop), "--into", "clean"]
    with start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for(lambda: list(folder.glob(".shop.duckdb*/draft.duckdb")))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert list_tables(shop) == ["reviews"] and list_releases(db) == []
