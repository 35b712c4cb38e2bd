"""The commands verify and ledger settle; where the ledger is; and that without one, nothing comes out."""

import json
import os
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from custext_sql.cli import main
from tests.cli.test_commands import fail, run
from tests.ledger_entries import enter_release, list_releases, list_totals

TEXTS = "id,body\n1,alice met bob\n2,carol saw dave\n"


@pytest.fixture
def db(mapped_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a database; the working directory has texts in a file and in a table."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CUSTEXT_DB", str(mapped_db))
    Path("in.csv").write_text(TEXTS)
    Path("in.txt").write_text("alice met bob\n")
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE reviews AS FROM 'in.csv'")
    return mapped_db


def release(*more: str) -> Result:
    done = run("sanitize", "in.csv", "out.csv", "--column", "body", "--eps", "2", "--force", *more)
    assert done.exit_code == 0, done.output
    return done


def test_verify_shows_the_release_that_wrote_a_file(db: Path) -> None:
    release()
    release("--dataset", "other")
    Path("out.csv").rename("renamed.csv")
    entry = list_releases(db)[1]
    found = run("verify", "renamed.csv")
    assert (found.exit_code, found.stderr) == (0, "")
    first, *facts = found.stdout.splitlines()
    when = f"{entry.started_at:%Y-%m-%d %H:%M} UTC"
    assert first == f"renamed.csv: release {entry.release_id[:8]} of other, {when}, complete"
    assert facts[:4] == [
        "  sanitized  body",
        "  copied     id",
        "  draws      fresh, eps 2",
        f"  mapping    small-euclidean-k4 ({entry.fingerprint[:12]})",
    ]
    assert json.loads(run("verify", "renamed.csv", "--json").stdout) == [entry.to_dict()]


def test_verify_fails_if_no_release_wrote_these_bytes(db: Path) -> None:
    release()
    with Path("out.csv").open("a") as file:
        file.write(" ")
    found = run("verify", "out.csv")
    assert (found.exit_code, found.stdout) == (1, "")
    assert found.stderr == "out.csv: no release in the ledger wrote these bytes\n"
    as_json = run("verify", "out.csv", "--json")
    assert (as_json.exit_code, json.loads(as_json.stdout), as_json.stderr) == (1, [], "")
    assert fail("verify", "missing.csv") == "Error: cannot read missing.csv: No such file or directory"


def test_verify_says_that_a_raw_result_was_not_sanitized(db: Path) -> None:
    assert run("sql", "FROM 'in.csv'", "--output", "raw.csv", "--allow-raw").exit_code == 0
    found = run("verify", "raw.csv")
    assert found.exit_code == 0 and "nothing was sanitized" in found.stdout and "eps" not in found.stdout


def test_a_pending_release_is_settled_as_what_it_spent_or_as_what_is_said(db: Path) -> None:
    known, unknown = enter_release(db, "reviews", largest_row_eps=6), enter_release(db, "notes")
    settled = run("ledger", "settle", known.release_id[:8])
    assert settled.stdout.startswith(f"settled release {known.release_id[:8]} of reviews, ")
    assert settled.stdout.endswith("; it counts as 6 on a row\n")
    assert "is not pending; it is settled" in fail("ledger", "settle", known.release_id)
    refused = fail("ledger", "settle", unknown.release_id)
    assert "say the most that it may have spent" in refused and "--row-eps NUMBER" in refused
    settled = run("ledger", "settle", unknown.release_id, "--row-eps", "7.5", "--json")
    assert json.loads(settled.stdout) == list_releases(db)[1].to_dict()
    assert {total.total_eps for total in list_totals(db)} == {Decimal(6), Decimal("7.5")}


def test_the_ledger_that_is_named_is_the_one_that_is_used(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = db.with_name(f"{db.stem}.ledger.sqlite")
    done = run("--ledger", "mine.sqlite", "sanitize", "in.csv", "out.csv", "--column", "body")
    assert done.exit_code == 0
    assert Path("mine.sqlite").exists() and not beside.exists()
    assert "CUSTEXT_LEDGER" not in os.environ  # the option is for one command
    assert run("ledger").stdout == "No releases yet.\n"
    assert len(json.loads(run("--ledger", "mine.sqlite", "ledger", "--json").stdout)["releases"]) == 1
    assert run("verify", "out.csv").exit_code == 1
    assert run("--ledger", "mine.sqlite", "verify", "out.csv").exit_code == 0
    monkeypatch.setenv("CUSTEXT_LEDGER", "mine.sqlite")
    assert run("verify", "out.csv").exit_code == 0
    assert run("--ledger", str(beside), "verify", "out.csv").exit_code == 1  # the option comes before the variable
    assert os.environ["CUSTEXT_LEDGER"] == "mine.sqlite"
    release()
    assert len(list_releases()) == 2 and not beside.exists()


def test_hints_name_the_ledger_that_was_named_but_no_password(db: Path) -> None:
    hint = run("--ledger", "my ledger.sqlite", "ledger", "--dataset", "x").stdout
    assert hint == "No releases of x. To see all releases, run: custext --ledger 'my ledger.sqlite' ledger\n"
    failed = run("--db", str(db), "--ledger", "mine.sqlite", "ledger", "strike", "x", "--reason", "y").stderr
    assert f"run: custext --db {db} --ledger mine.sqlite ledger\n" in failed
    secret = "postgresql://me:secret@localhost/x"
    next_step = run("--ledger", secret, "map", "--embedding", "small", "--k", "2").stdout
    assert "Next: custext inspect WORD" in next_step and "secret" not in next_step


ROUTES = {
    "text": ["sanitize", "alice met bob"],
    "text as JSON": ["sanitize", "alice met bob", "--json"],
    "file": ["sanitize", "in.csv", "out.csv", "--column", "body"],
    "lines": ["sanitize", "in.txt", "out.txt"],
    "stream": ["sanitize", "-", "-"],
    "table": ["sanitize", "--data", "shop.duckdb", "--table", "reviews", "out", "--column", "body"],
    "query": ["sql", "SELECT custext_sanitize(body, 1, true) AS body FROM 'in.csv'"],
    "query as JSON": ["sql", "SELECT custext_sanitize(body, 1, true) AS body FROM 'in.csv'", "--json"],
    "query to file": ["sql", "SELECT custext_sanitize(body, 1, true) AS body FROM 'in.csv'", "--output", "out.csv"],
    "query to table": [
        *("sql", "SELECT custext_sanitize(body, 1, true) AS body FROM reviews", "--data", "shop.duckdb"),
        *("--into", "out"),
    ],
}


@pytest.mark.parametrize(
    ("route", "place"),
    [*((route, "none/x.sqlite") for route in ROUTES), ("file", "in.csv/x.sqlite"), ("text", "damaged.sqlite")],
)
def test_without_a_ledger_nothing_comes_out(db: Path, route: str, place: str) -> None:
    """A folder without permission to write would not stop root."""
    Path("damaged.sqlite").write_bytes(b"no database " * 1000)
    Path("damaged.sqlite").chmod(0o600)
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    failed = CliRunner().invoke(main, ["--ledger", place, *ROUTES[route]], input="alice met bob\n")
    assert (failed.exit_code, failed.stdout) == (1, "")
    [message] = failed.stderr.splitlines()
    assert f"the ledger {Path(place).absolute()}" in message
    assert ": --ledger" in message and message.endswith("CUSTEXT_LEDGER (in Python: ledger)")
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    assert list_releases(db) == []
