"""Queries that sanitize are entered in the ledger, wherever their rows go; no raw text leaves unnoticed."""

import json
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from custext_sql import register
from tests.files.test_data_files import db, folder, run
from tests.ledger_entries import list_releases, list_totals

__all__ = ["db", "folder"]  # fixtures

CALL = "custext_sanitize(body, 1, true)"


@pytest.fixture
def shop(folder: Path) -> Path:
    (folder / "in.csv").write_text("id,body,title\n1,alice bob,carol\n2,dave,\n")
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE messages AS SELECT id, body FROM 'in.csv'")
    return folder / "shop.duckdb"


def test_a_query_that_sanitizes_nothing_is_no_release(db: Path, shop: Path) -> None:
    for query in ("FROM messages", f"SELECT {CALL} FROM messages WHERE id > 9", "SELECT 'custext_sanitize' AS a"):
        assert run("sql", query, "--data", shop, "--json").exit_code == 0
    assert list_releases(db) == []


def test_raw_texts_are_not_written_unless_that_is_said(db: Path, shop: Path, folder: Path) -> None:
    output = ("--data", shop, "--output", "x.csv", "--dataset", "d")
    for query in (
        "SELECT *, custext_epsilon(body, 1, true) AS spent FROM messages",
        "FROM messages -- custext_sanitize(body, 1, true)",
        f"SELECT body FROM (SELECT body, {CALL} AS t FROM messages)",
    ):
        refused = run("sql", query, *output)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert "nothing was written: the query sanitizes nothing" in refused.output and "--allow-raw" in refused.output
    assert "nothing was written" in run("sql", query, "--data", shop, "--into", "x").output
    assert not (folder / "x.csv").exists() and list_releases(db) == []
    done = run("sql", query, *output, "--allow-raw")
    assert "nothing was sanitized; the rows are entered as unprotected" in done.stderr
    [release] = list_releases(db)
    assert (release.draws, release.state, release.characters_in_clear) == ("raw", "complete", None)
    assert run("ledger").output.rstrip().endswith("unprotected")
    after = run("sanitize", "in.csv", "e.csv", "--column", "body", "--dataset", "d", "--budget-total", "1000")
    assert "was released unprotected" in after.output


def test_a_query_that_fails_is_no_release(db: Path, shop: Path, folder: Path) -> None:
    late = f"SELECT CASE WHEN id = 2 THEN error('late') ELSE {CALL} END AS t FROM messages"
    for options in (("--output", "two.csv"), ("--json",), ("--into", "two")):
        assert run("sql", late, "--data", shop, *options).exit_code == 1
    assert list_releases(db) == [] and not (folder / "two.csv").exists()


def test_a_view_that_sanitizes_is_known(db: Path, shop: Path, folder: Path) -> None:
    with duckdb.connect(shop) as connection:
        register(connection, db)
        connection.execute(f"CREATE VIEW clean AS SELECT {CALL} AS body FROM messages")
    assert run("sql", "FROM clean", "--data", shop, "--into", "made").exit_code == 0
    assert run("sql", "FROM clean", "--data", shop, "--output", "y.csv").exit_code == 0
    assert [(release.replaced, release.draws) for release in list_releases(db)] == [(3, "fresh")] * 2


def test_what_fans_out_has_spent_at_least_so_much(db: Path, shop: Path, folder: Path) -> None:
    query = f"SELECT {CALL} AS body FROM messages, range(500)"
    assert run("sql", query, "--data", shop, "--output", "x.csv", "--dataset", "d").exit_code == 0
    [total] = list_totals(db)
    assert (total.total_eps, total.at_least) == (Decimal(2), True)
    assert run("ledger").output.rstrip().endswith("at least 2")
    assert json.loads(run("ledger", "--json").stdout)["totals"][0]["at_least"] is True
    refused = run("sanitize", "in.csv", "out.csv", "--column", "body", "--dataset", "d", "--budget-total", "1000")
    assert "no budget can be kept; they have spent at least 2;" in refused.output
    assert not (folder / "out.csv").exists()
    assert run("sql", query.replace("1, true", "0, true"), "--data", shop).exit_code == 0
    assert (list_releases(db)[-1].largest_row_eps, list_releases(db)[-1].at_least) == (Decimal(0), False)


def test_a_query_that_does_not_use_its_key_counts_as_fresh(db: Path, shop: Path, folder: Path) -> None:
    assert run("keygen", "k").exit_code == 0
    select = f"SELECT {CALL} AS one, custext_sanitize_keyed(body, 'body:' || id) AS two FROM messages"
    for number in range(2):
        options = ("--data", shop, "--key-file", "k", "--dataset", "d", "--output", f"{number}.csv")
        done = run("sql", select, *options)
        assert "custext_sanitize does not use the key; custext_sanitize_keyed does" in done.stderr
    assert [(release.draws, release.key_id, release.by_record) for release in list_releases(db)] == [
        ("fresh", None, False)
    ] * 2
    assert [total.total_eps for total in list_totals(db)] == [Decimal(2 + 2)]
