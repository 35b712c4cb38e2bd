"""The commands verify, ledger settle and upgrade; where the ledger is; and that without one, nothing comes out."""

import json
import os
import shutil
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from custext_sql.cli import main
from custext_sql.ledger import schema
from custext_sql.ledger.entries import SETTLED
from custext_sql.store import migrating
from custext_sql.store.schema import REVISIONS
from tests.cli.test_commands import run
from tests.ledger_entries import enter_release, list_releases, list_totals

TEXTS = "id,body\n1,alice met bob\n2,carol saw dave\n"
SECOND_SCRIPT = """
from alembic import op
revision, down_revision, branch_labels, depends_on = "0002", "0001", None, None

def upgrade():
    op.execute("CREATE TABLE custext_later (a INTEGER)")
"""


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


def test_verify_prints_the_release_as_json(db: Path) -> None:
    release()
    found = run("verify", "out.csv", "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout) == [entry.to_dict() for entry in list_releases(db)]


def test_verify_fails_if_no_release_wrote_these_bytes(db: Path) -> None:
    release()
    with Path("out.csv").open("a") as file:
        file.write(" ")
    for name in ("out.csv", "in.csv"):
        found = run("verify", name)
        assert (found.exit_code, found.stdout) == (1, "")
        assert found.stderr == f"{name}: no release in the ledger wrote these bytes\n"
        as_json = run("verify", name, "--json")
        assert (as_json.exit_code, json.loads(as_json.stdout), as_json.stderr) == (1, [], "")
    missing = run("verify", "missing.csv")
    assert (missing.exit_code, missing.stderr) == (1, "Error: cannot read missing.csv: No such file or directory\n")


def test_verify_says_that_a_raw_result_was_not_sanitized(db: Path) -> None:
    assert run("sql", "FROM 'in.csv'", "--output", "raw.csv", "--allow-raw").exit_code == 0
    found = run("verify", "raw.csv")
    assert found.exit_code == 0 and "nothing was sanitized" in found.stdout and "eps" not in found.stdout


def test_a_pending_release_that_knows_what_it_spent_is_settled_as_that(db: Path) -> None:
    pending = enter_release(db, "reviews", largest_row_eps=6)
    settled = run("ledger", "settle", pending.release_id[:8])
    assert (settled.exit_code, settled.stderr) == (0, "")
    assert settled.stdout.startswith(f"settled release {pending.release_id[:8]} of reviews, ")
    assert settled.stdout.endswith("; it counts as 6 on a row\n")
    [found] = list_releases(db)
    assert (found.state, found.largest_row_eps) == (SETTLED, Decimal(6))
    again = run("ledger", "settle", pending.release_id)
    assert (again.exit_code, again.stdout) == (1, "") and "is not pending; it is settled" in again.stderr


def test_a_pending_release_that_does_not_know_is_settled_as_what_is_said(db: Path) -> None:
    pending = enter_release(db, "reviews")
    assert list_totals(db)[0].total_eps is None
    refused = run("ledger", "settle", pending.release_id)
    assert refused.exit_code == 1 and "say the most that it may have spent" in refused.stderr
    assert "--row-eps NUMBER" in refused.stderr
    assert list_releases(db) == [pending]
    settled = run("ledger", "settle", pending.release_id, "--row-eps", "7.5", "--json")
    assert settled.exit_code == 0
    assert json.loads(settled.stdout) == list_releases(db)[0].to_dict()
    [total] = list_totals(db)
    assert (total.total_eps, total.pending) == (Decimal("7.5"), 0)


def test_a_release_of_which_nothing_came_out_is_settled_as_0(db: Path) -> None:
    pending = enter_release(db, "reviews")
    assert run("ledger", "settle", pending.release_id, "--row-eps", "0").stdout.endswith("; it counts as 0 on a row\n")
    assert list_totals(db)[0].total_eps == 0


@pytest.mark.parametrize(
    "row_eps, message", [("5", "spent 6 on a row and counts as that; leave out --row-eps"), ("-1", "at least 0")]
)
def test_what_is_known_cannot_be_settled_otherwise(db: Path, row_eps: str, message: str) -> None:
    pending = enter_release(db, "reviews", largest_row_eps=6)
    refused = run("ledger", "settle", pending.release_id, "--row-eps", row_eps)
    assert refused.exit_code == 1 and message in refused.stderr
    assert list_releases(db) == [pending]


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


@pytest.mark.parametrize("ledger", ["in a file", "in no folder", "damaged"])
@pytest.mark.parametrize("route", ROUTES)
def test_without_a_ledger_nothing_comes_out(db: Path, route: str, ledger: str) -> None:
    """A folder without permission to write would not stop root."""
    damaged = Path("damaged.sqlite")
    damaged.write_bytes(b"no database " * 1000)
    damaged.chmod(0o600)
    place = {"in a file": "in.csv/x.sqlite", "in no folder": "none/x.sqlite", "damaged": str(damaged)}[ledger]
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    arguments = ["--ledger", place, *ROUTES[route]]
    failed = CliRunner().invoke(main, arguments, input="alice met bob\n")
    assert (failed.exit_code, failed.stdout) == (1, "")
    [message] = failed.stderr.splitlines()
    assert f"the ledger {Path(place).absolute()}" in message
    assert ": --ledger" in message and message.endswith("CUSTEXT_LEDGER (in Python: ledger)")
    after = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert after == before
    assert list_releases(db) == []


def test_upgrade_upgrades_the_ledger_too(
    db: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    release()
    scripts = tmp_path_factory.mktemp("next") / "migrations"
    shutil.copytree(migrating.find_scripts(), scripts)
    (scripts / "ledger" / "0002_later.py").write_text(SECOND_SCRIPT)
    monkeypatch.setattr(migrating, "find_scripts", lambda: scripts)
    monkeypatch.setattr(schema, "REVISIONS", ("0001", "0002"))
    refused = run("sanitize", "in.csv", "again.csv", "--column", "body")
    assert (refused.exit_code, refused.stdout, Path("again.csv").exists()) == (1, "", False)
    assert "is at revision 0001 and this version needs 0002; run: custext" in refused.stderr
    same = {"before": REVISIONS[-1], "after": REVISIONS[-1]}
    first, second = (json.loads(run("upgrade", "--json").stdout) for _ in range(2))
    assert first == {"database": same, "ledger": {"before": "0001", "after": "0002"}}
    assert second == {"database": same, "ledger": {"before": "0002", "after": "0002"}}
    release()
    assert len(list_releases(db)) == 2
