"""Queries that sanitize are entered in the ledger, wherever their rows go; no raw text leaves unnoticed."""

import json
import os
import shutil
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from custext_sql import register
from custext_sql.sanitizing.sanitizer import Sanitizer
from custext_sql.sql.queries import open_data
from custext_sql.sql.single_draws import draws_each_row_once
from custext_sql.store.ledger.spending import add_up
from custext_sql.store.ledger.table import list_releases
from tests.processes import start, wait_for
from tests.release.test_data_files import db, folder, run

__all__ = ["db", "folder"]  # fixtures

CALL = "custext_sanitize(body, 1, true)"


@pytest.fixture
def shop(folder: Path) -> Path:
    (folder / "in.csv").write_text("id,body,title\n1,alice bob,carol\n2,dave,\n")
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE messages AS SELECT id, body FROM 'in.csv'")
        connection.execute("CREATE VIEW many AS SELECT body FROM messages, range(500)")
    (folder / "linked").mkdir()
    (folder / "linked" / "a.csv").write_text("id,body\n1,alice\n")
    (folder / "linked" / "b.csv").symlink_to("a.csv")
    return folder / "shop.duckdb"


@pytest.mark.slow
@pytest.mark.parametrize("with_data", [True, False])
@pytest.mark.parametrize("way", ["table", "json", "output", "copy", "created"])
def test_every_way_out_is_entered(db: Path, shop: Path, folder: Path, way: str, with_data: bool) -> None:
    source = "messages" if with_data else "'in.csv'"
    select = f"SELECT {CALL} AS body FROM {source}"
    arguments = {
        "table": [select],
        "json": [select, "--json"],
        "output": [select, "--output", "out.csv"],
        "copy": [f"COPY ({select}) TO 'out.csv'"],
        "created": [f"CREATE TEMP TABLE t AS {select}; FROM t"],
    }[way]
    done = run("sql", *arguments, *(("--data", shop) if with_data else ()), "--dataset", "d")
    assert done.exit_code == 0, done.output
    assert "3 words: 3 replaced" in done.stderr
    [release] = list_releases(db)
    assert (release.state, release.dataset, release.row_count, release.sampled) == ("complete", "d", 2, 3)
    assert (release.largest_row_eps, release.at_least) == (Decimal(2), way in ("copy", "created"))
    if way == "json":
        assert len(json.loads(done.stdout)) == 2


@pytest.mark.slow
def test_a_query_that_sanitizes_nothing_is_no_release(db: Path, shop: Path) -> None:
    for query in ("FROM messages", f"SELECT {CALL} FROM messages WHERE id > 9", "SELECT 'custext_sanitize' AS a"):
        assert run("sql", query, "--data", shop).exit_code == 0
        assert run("sql", query, "--data", shop, "--json").exit_code == 0
    assert (
        run("sql", f"SELECT {CALL} AS t FROM messages WHERE id > 9", "--data", shop, "--output", "o.csv").exit_code == 0
    )
    assert list_releases(db) == []


@pytest.mark.slow
@pytest.mark.parametrize("with_data", [True, False])
def test_a_statement_that_fails_after_it_wrote_is_entered(db: Path, shop: Path, folder: Path, with_data: bool) -> None:
    source = "messages" if with_data else "'in.csv'"
    query = f"COPY (SELECT {CALL} AS t FROM {source}) TO 'out.csv'; SELECT error('late') FROM {source}"
    failed = run("sql", query, *(("--data", shop) if with_data else ()), "--dataset", "d")
    assert failed.exit_code == 1 and (folder / "out.csv").exists()
    [release] = list_releases(db)
    assert (release.state, release.sampled, release.largest_row_eps) == ("pending", 3, Decimal(2))
    late = f"SELECT CASE WHEN id = 2 THEN error('late') ELSE {CALL} END AS t FROM messages"
    assert run("sql", late, "--data", shop, "--output", "two.csv").exit_code == 1
    assert run("sql", late, "--data", shop, "--json").exit_code == 1
    assert len(list_releases(db)) == 1 and not (folder / "two.csv").exists()


def test_raw_texts_that_left_before_a_failure_are_entered(db: Path, shop: Path, folder: Path) -> None:
    copied = "COPY messages TO '{}'; SELECT {} FROM messages"
    assert run("sql", copied.format("x.csv", "error('x')"), "--data", shop, "--allow-raw").exit_code == 1
    assert (folder / "x.csv").exists()
    called = copied.format("called.csv", "custext_sanitize(error('x'), 1, true)")
    assert run("sql", called, "--data", shop).exit_code == 1
    assert (folder / "called.csv").exists()
    assert "nothing was written" in run("sql", copied.format("z.csv", "'custext_sanitize'"), "--data", shop).output
    assert run("sql", "COPY nothing TO 'y.csv'; SELECT 1", "--data", shop, "--allow-raw").exit_code == 1
    assert [(release.draws, release.state) for release in list_releases(db)] == [("raw", "pending")] * 2


def test_the_custext_database_as_data_keeps_nothing_from_the_ledger(db: Path, shop: Path, folder: Path) -> None:
    hidden = "query('SELECT custext_' || 'sanitize(body, 1, true) AS t FROM ''in.csv''')"
    queries = (
        f"COPY (SELECT {CALL} AS t FROM 'in.csv') TO 'x.csv'",
        f"PREPARE p AS COPY (FROM {hidden}) TO 'y.csv'; EXECUTE p",
    )
    for query in queries:
        for data in (("--data", db), ()):
            done = run("sql", query, *data, "--allow-raw", "--dataset", "d")
            assert done.exit_code == 0 and "not written" not in done.stderr, done.output
    assert [(release.sampled, release.draws) for release in list_releases(db)] == [(3, "fresh")] * 4


def test_what_a_query_hands_to_a_log_is_entered(db: Path, shop: Path, folder: Path) -> None:
    logging = "SET enable_logging = true; SET logging_storage = 'stdout'; "
    query = f"{logging} SELECT write_log({CALL}, log_type := 'x'), error('no') FROM messages"
    assert run("sql", query, "--data", shop, "--dataset", "d").exit_code == 1
    raw = f"{logging} SELECT write_log(body, log_type := 'x') FROM messages"
    assert "--allow-raw" in run("sql", raw, "--data", shop).output
    assert [(release.dataset, release.state) for release in list_releases(db)] == [("d", "pending")]


@pytest.mark.slow
def test_a_query_that_is_killed_while_it_writes_is_in_the_ledger(db: Path, shop: Path, folder: Path) -> None:
    query = f"COPY (SELECT {CALL} AS t FROM messages, range(100000000)) TO 'out.csv'"
    command = [sys.executable, "-m", "custext_sql", "sql", query, "--data", str(shop), "--dataset", "d"]
    with start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for(lambda: (folder / "out.csv").exists() or list(folder.glob("*out.csv*")))
        wait_for(lambda: list_releases(db))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    [release] = list_releases(db)
    assert (release.state, release.largest_row_eps) == ("pending", None)
    assert add_up([release])[0].total_eps is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM messages",
        "SELECT *, custext_epsilon(body, 1, true) AS spent FROM messages",
        "FROM messages -- custext_sanitize(body, 1, true)",
        f"SELECT body FROM (SELECT body, {CALL} AS t FROM messages)",
    ],
)
def test_raw_texts_are_not_written_unless_that_is_said(db: Path, shop: Path, folder: Path, query: str) -> None:
    output = ("--data", shop, "--output", "x.csv", "--dataset", "d")
    refused = run("sql", query, *output)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "nothing was written: the query sanitizes nothing" in refused.output and "--allow-raw" in refused.output
    assert not (folder / "x.csv").exists() and list_releases(db) == []
    assert run("sql", query, *output, "--allow-raw").exit_code == 0
    [release] = list_releases(db)
    assert (release.draws, release.state, release.characters_in_clear) == ("raw", "complete", None)
    assert run("ledger").output.rstrip().endswith("unprotected")
    (folder / "d.csv").write_text("id,body\n1,alice\n")
    after = run("sanitize", "d.csv", "e.csv", "--column", "body", "--dataset", "d", "--budget-total", "1000")
    assert "was released unprotected" in after.output


@pytest.mark.slow
def test_raw_texts_are_not_copied_unless_that_is_said(db: Path, shop: Path, folder: Path) -> None:
    for number, query in enumerate(
        (
            "COPY messages TO 'x.csv'",
            "EXPORT DATABASE 'whole'",
            "SET threads = 1; COPY (FROM messages) TO 'x.csv'",
            "EXPLAIN ANALYZE COPY messages TO 'x.csv'",
            "ATTACH 'x.csv' AS other (READ_WRITE, TYPE duckdb); COPY FROM DATABASE shop TO other",
            "ATTACH 'x.csv' AS other (READ_WRITE, TYPE duckdb); CREATE TABLE other.t AS FROM messages",
            "COPY\"messages\"TO'x.csv'",
            "PREPARE p AS COPY (FROM messages) TO 'x.csv'; EXECUTE p",
            "EXPLAIN (ANALYZE) COPY messages TO 'x.csv'",
            "ATTACH'x.csv'AS o (READ_WRITE, TYPE duckdb); CREATE TABLE o.t AS FROM messages",
            "ATTACH 'x.csv' AS o (READ_WRITE, TYPE duckdb); EXPLAIN ANALYZE CREATE TABLE o.t AS FROM messages",
        )
    ):
        refused = run("sql", query, "--data", shop)
        assert refused.exit_code == 1 and "--allow-raw" in refused.output
        assert not (folder / "x.csv").exists() and not (folder / "whole").exists()
        assert len(list_releases(db)) == number
        assert run("sql", query, "--data", shop, "--allow-raw").exit_code == 0
        assert list_releases(db)[-1].draws == "raw"
        (folder / "x.csv").unlink(missing_ok=True)
        shutil.rmtree(folder / "whole", ignore_errors=True)
    loaded = "CREATE TABLE t (id INT, body VARCHAR, title VARCHAR); COPY t FROM 'in.csv'; FROM t"
    assert run("sql", loaded).exit_code == 0  # this only reads texts in
    late = f"COPY messages TO 'x.csv'; SELECT {CALL} AS t FROM messages"
    done = run("sql", late, "--data", shop)
    assert "wrote texts that no custext function sanitized" in done.stderr and "3 replaced" in done.stderr
    assert list_releases(db)[-1].draws == "raw"
    early = f"CREATE TEMP TABLE t AS SELECT {CALL} AS t FROM messages; COPY t TO 'x.csv'; FROM t"
    assert "passed through no" not in run("sql", early, "--data", shop).stderr
    assert list_releases(db)[-1].draws == "fresh"
    hidden = f"COPY (SELECT body FROM (SELECT body, {CALL} AS t FROM messages)) TO 'x.csv'"
    done = run("sql", hidden, "--data", shop)
    assert "wrote texts that no custext function sanitized" in done.stderr
    assert list_releases(db)[-1].draws == "raw"


def test_a_view_that_sanitizes_is_known(db: Path, shop: Path, folder: Path) -> None:
    with duckdb.connect(shop) as connection:
        register(connection, db)
        connection.execute(f"CREATE VIEW clean AS SELECT {CALL} AS body FROM messages")
    assert run("sql", "COPY clean TO 'x.csv'", "--data", shop).exit_code == 0
    assert run("sql", "FROM clean", "--data", shop, "--output", "y.csv").exit_code == 0
    assert [(release.sampled, release.draws) for release in list_releases(db)] == [(3, "fresh")] * 2


def test_what_fans_out_has_spent_at_least_so_much(db: Path, shop: Path, folder: Path) -> None:
    query = f"SELECT {CALL} AS body FROM messages, range(500)"
    assert run("sql", query, "--data", shop, "--output", "x.csv", "--dataset", "d").exit_code == 0
    [total] = add_up(list_releases(db))
    assert (total.total_eps, total.at_least) == (Decimal(2), True)
    assert run("ledger").output.rstrip().endswith("at least 2")
    assert json.loads(run("ledger", "--json").stdout)["totals"][0]["at_least"] is True
    refused = run("sanitize", "in.csv", "out.csv", "--column", "body", "--dataset", "d", "--budget-total", "1000")
    assert "no budget can be kept; they have spent at least 2;" in refused.output
    assert not (folder / "out.csv").exists()


ONCE = [
    f"SELECT {CALL} FROM messages",
    f"SELECT id, {CALL} AS clean FROM messages WHERE id > 0 ORDER BY id LIMIT 5",
    f"SELECT * REPLACE ({CALL} AS body) FROM messages",
    f"SELECT {CALL} FROM 'in.csv'",
    f"SELECT {CALL} FROM 'i*.csv'",
    f"SELECT upper(title), {CALL} AS clean FROM 'in.csv' ORDER BY id;",
]
PERHAPS_MORE = [
    f"SELECT {CALL} FROM messages, range(500)",
    f"SELECT {CALL} FROM many",
    f"SELECT {CALL}, {CALL} FROM messages",
    f"SELECT {CALL}, custext_sanitize(title, 1, true) FROM 'in.csv'",
    f"SELECT {CALL} AS clean, clean || '!' FROM messages",
    f"SELECT {CALL} AS clean FROM messages WHERE clean <> ''",
    f"SELECT list_transform(range(500), lambda x: {CALL}) FROM messages",
    "SELECT custext_sanitize(COLUMNS('body|title'), 1, true) FROM 'in.csv'",
    f"SELECT {CALL}, unnest([1, 2]) FROM messages",
    f"SELECT {CALL} FROM read_csv(['in.csv', 'in.csv'])",
    f"SELECT {CALL} FROM messages UNION ALL SELECT {CALL} FROM messages",
    f"SELECT (SELECT {CALL} FROM messages LIMIT 1) FROM messages",
    f"WITH m AS (FROM messages) SELECT {CALL} FROM m",
    f"SELECT custext_sanitize({CALL}, 1, true) FROM messages",
    f"SELECT {CALL} FROM messages a JOIN messages b USING (id, body)",
    f"CREATE TEMP TABLE t AS FROM many; SELECT {CALL} FROM t",
    f"SELECT * FROM query('SELECT {CALL} FROM messages, range(9)')",
    f"SELECT {CALL} FROM (FROM messages, range(3))",
    f"SELECT {CALL} FROM messages POSITIONAL JOIN messages",
    f"FROM (SELECT {CALL} AS c FROM messages) SELECT c, c",
    f"SELECT COLUMNS(*) || {CALL} FROM messages",
    f"SELECT concat({CALL}, COLUMNS(['id', 'title'])) FROM 'in.csv'",
    f"SELECT unnest(regexp_extract({CALL}, '((.*))', ['a', 'b'])) FROM messages",
    f"SELECT {CALL}, unnest({{'a': 1}}) FROM messages",
    f"SELECT split_part({CALL}, ' ', 1) FROM messages",
    f"SELECT nullif({CALL}, 'x') FROM messages",
    f"SELECT id FROM messages WHERE concat(COLUMNS(*), {CALL}) > '0'",
    f"SELECT id FROM messages WHERE {CALL} > '0'",
    f"SELECT clean, {CALL} FROM generated",
    f"SELECT {CALL} FROM 'linked/*.csv'",
]


@pytest.mark.slow
@pytest.mark.parametrize(("query", "once"), [*((one, True) for one in ONCE), *((one, False) for one in PERHAPS_MORE)])
def test_queries_that_draw_a_row_once_are_told_from_others(db: Path, shop: Path, query: str, once: bool) -> None:
    if "generated" in query:
        with duckdb.connect(shop) as connection:
            register(connection, db)
            connection.execute(f"CREATE TABLE generated (body VARCHAR, clean VARCHAR GENERATED ALWAYS AS ({CALL}))")
    with open_data(Sanitizer.load(db), db, shop) as connection:
        assert draws_each_row_once(connection, query) == once


def test_a_macro_may_hide_a_second_draw(db: Path, shop: Path) -> None:
    with duckdb.connect(shop) as connection:
        register(connection, db)
        connection.execute("CREATE MACRO again(t) AS custext_sanitize(t, 1, true)")
    with open_data(Sanitizer.load(db), db, shop) as connection:
        assert not draws_each_row_once(connection, f"SELECT {CALL}, again(body) FROM messages")


@pytest.mark.slow
def test_queries_by_a_key_count_once_if_they_are_equal(db: Path, shop: Path, folder: Path) -> None:
    assert run("keygen", "k").exit_code == 0
    keyed = "SELECT custext_sanitize_keyed(body, 'body:' || id) AS body FROM messages"
    options = ("--data", shop, "--key-file", "k", "--dataset", "d")
    for number, query in enumerate([keyed, f"{keyed} ORDER BY id DESC", f"{keyed} WHERE id = 1"]):
        assert run("sql", query, *options, "--output", f"{number}.csv").exit_code == 0
    same = ("--column", "body", "--key-file", "k", "--record-column", "id", "--dataset", "d")
    assert run("sanitize", "--data", shop, "--table", "messages", "new", *same).exit_code == 0
    sums = [release.keyed_sum for release in list_releases(db)]
    assert sums[0] == sums[1] == sums[3] != sums[2] and None not in sums
    [total] = add_up(list_releases(db))
    assert total.total_eps == Decimal(2 + 2)
