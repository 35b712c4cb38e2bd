"""Corrections by a person: what a pending release counts as, and releases that are struck through but still count."""

import csv
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from custext_sql import Dataset, Sanitizer, connect, make_key, read_ledger, settle_release, strike_release
from custext_sql.cli import main
from custext_sql.errors import BudgetError, KeyFileError, SettingError
from custext_sql.ledger.entries import Entry
from custext_sql.ledger.ledger import unstrike_release
from tests.ledger_entries import complete_release, enter_release, list_releases, list_totals, peek_releases

REASON = "deleted on May 3, nobody had downloaded it"


def run(db: Path, *arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, ["--db", str(db), "ledger", *arguments], env=environment)


def enter(db: Path, dataset: str = "reviews", eps: float = 6, **settings: Any) -> Entry:
    return complete_release(db, enter_release(db, dataset, largest_row_eps=eps, **settings))


@pytest.mark.parametrize(("row_eps", "counted"), [(0, "0"), (0.1, "0.1")])
def test_a_release_of_an_unknown_amount_counts_as_the_person_says(
    mapped_db: Path, row_eps: float, counted: str
) -> None:
    pending = enter_release(mapped_db, "d")
    enter_release(mapped_db, "d", largest_row_eps=3)
    assert list_totals(mapped_db)[0].total_eps is None
    with pytest.raises(BudgetError, match="custext ledger settle ID"):
        enter_release(mapped_db, "d", largest_row_eps=1, budget_total=1000.0)
    settled = settle_release(mapped_db, release=pending.release_id, row_eps=row_eps)
    assert settled.largest_row_eps == Decimal(counted)
    assert list_totals(mapped_db)[0].total_eps == Decimal(counted) + 3
    with pytest.raises(BudgetError, match="more than --budget-total"):
        enter_release(mapped_db, "d", largest_row_eps=1, budget_total=float(counted) + 3.5)
    enter_release(mapped_db, "d", largest_row_eps=1, budget_total=float(counted) + 4)


def test_the_release_of_this_process_is_brought_up_to_date_first(mapped_db: Path) -> None:
    """Nobody needs to guess what this process knows."""
    with connect(mapped_db, dataset="d") as connection:
        connection.execute("SELECT custext_sanitize('alice bob', 1, false)").fetchall()
        [pending] = peek_releases(mapped_db)
        assert pending.state == "pending"
        with pytest.raises(SettingError, match="is not pending; it is complete"):
            settle_release(mapped_db, release=pending.release_id, row_eps=100)
    assert list_totals(mapped_db)[0].total_eps == 2


def test_a_release_that_was_settled_while_it_was_published_stays_settled(mapped_db: Path) -> None:
    release = Sanitizer.load(mapped_db).open_release(Dataset("d"))

    def publish() -> None:
        [pending] = peek_releases(mapped_db)
        settle_release(mapped_db, release=pending.release_id)

    release.publish(publish)
    assert [entry.state for entry in list_releases(mapped_db)] == ["settled"]


KILLED = """
import os, sys
from custext_sql import Dataset, Sanitizer
from custext_sql.text.columns import open_column
sanitizer = Sanitizer.load(sys.argv[1], key_file=sys.argv[2])
release = sanitizer.open_release(Dataset("d"))
sanitizer.sanitize_column(open_column(["alice bob"])[0], records=["1"], tally=release.tally)
release.publish(lambda: os.kill(os.getpid(), 9))
"""


@pytest.mark.slow
def test_a_keyed_release_of_a_killed_process_counts_by_record(mapped_db: Path, tmp_path: Path) -> None:
    """Its records were in the ledger before its output appeared."""
    make_key(tmp_path / "k", mapped_db, eps=0.5)
    subprocess.run([sys.executable, "-c", KILLED, str(mapped_db), str(tmp_path / "k")], check=False)
    [pending] = list_releases(mapped_db)
    assert (pending.state, pending.by_record, pending.largest_row_eps) == ("pending", True, Decimal(1))
    settle_release(mapped_db, release=pending.release_id)
    sanitizer = Sanitizer.load(mapped_db, key_file=tmp_path / "k")
    for text, spent in (("alice bob", 1), ("carol", Decimal("1.5"))):
        sanitizer.release([text], records=["1"], dataset="d")
        assert list_totals(mapped_db)[0].total_eps == spent


def test_the_amount_that_a_person_says_is_beside_what_the_key_spent(mapped_db: Path, tmp_path: Path) -> None:
    """Nobody knows for which records a killed connection drew, so nothing is subtracted."""
    make_key(tmp_path / "k", mapped_db, eps=0.5)
    sanitizer = Sanitizer.load(mapped_db, key_file=tmp_path / "k")
    sanitizer.release(["alice"], records=["1"], dataset="d")
    key_id = list_releases(mapped_db)[0].key_id
    pending = enter_release(mapped_db, "d", key_id=key_id, fingerprint=sanitizer.mapping.info.fingerprint)
    settle_release(mapped_db, release=pending.release_id, row_eps=3)
    assert list_totals(mapped_db)[0].total_eps == Decimal("3.5")


def test_a_struck_release_counts_like_any_other(mapped_db: Path) -> None:
    """In totals, in budgets, for second mappings and for keys."""
    enter(mapped_db, eps=6, key_id="k", fingerprint="f", mapping="m")
    before = read_ledger(mapped_db).totals
    for release in read_ledger(mapped_db).releases:
        strike_release(mapped_db, release=release.release_id, reason=REASON)
    assert read_ledger(mapped_db).totals == before
    with pytest.raises(BudgetError, match="total eps of 12, more than"):
        enter_release(mapped_db, "reviews", budget_total=11.0, largest_row_eps=6)
    with pytest.raises(BudgetError, match="was released before under mapping m"):
        enter_release(mapped_db, "reviews", fingerprint="g", mapping="n")
    with pytest.raises(KeyFileError, match="key k was used before for reviews"):
        enter_release(mapped_db, "letters", key_id="k")


def test_a_release_that_was_struck_while_it_ran_stays_struck(mapped_db: Path) -> None:
    release = enter_release(mapped_db, "reviews")
    strike_release(mapped_db, release=release.release_id, reason=REASON)
    complete_release(mapped_db, release)
    [found] = read_ledger(mapped_db).releases
    assert (found.state, found.struck_reason) == ("complete", REASON)


def test_the_command_marks_what_is_struck_and_exports_it(mapped_db: Path, tmp_path: Path) -> None:
    release, other = enter(mapped_db), enter(mapped_db)
    short, kept = release.release_id[:8], other.release_id[:8]
    done = run(mapped_db, "strike", short, "--reason", f"{REASON}\x1b[1m")
    assert done.exit_code == 0 and done.output.startswith(f"struck through release {short} of reviews, ")
    shown = run(mapped_db).output
    assert f"\n~ {short} " in shown and f"\n  {kept} " in shown
    assert f"~ {short} struck through on " in shown and f", but still counts: {REASON}\\x1b[1m\n" in shown
    assert "reviews         2        0         12" in shown and "\x1b[9m" not in shown
    assert f"\x1b[9m~ {short}" in run(mapped_db, FORCE_COLOR="1", TERM="xterm").output  # a line goes through it
    for name in ("a.json", "a.csv"):
        assert run(mapped_db, "--export", str(tmp_path / name)).exit_code == 0
    exported = json.loads((tmp_path / "a.json").read_text())
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    listed = json.loads(run(mapped_db, "--json").output)["releases"]
    for first, second in (exported, rows, listed):
        assert first["struck_reason"].startswith(REASON) and first["struck_at"][:4].isdecimal()
        assert not second["struck_reason"] and not second["struck_at"]
    assert run(mapped_db, "unstrike", short, "--json").exit_code == 0
    assert "struck" not in run(mapped_db).output and "~" not in run(mapped_db).output


def test_options_of_the_list_are_not_lost_before_a_subcommand(mapped_db: Path) -> None:
    done = run(mapped_db, "--json", "unstrike", "a1")
    assert done.exit_code == 2 and "Put the options after unstrike." in done.output
    assert run(mapped_db, "strike", "a1").exit_code == 2  # without a reason


def test_what_cannot_be_settled_or_struck_stays_as_it_was(mapped_db: Path) -> None:
    for start, amount in (("a1", None), ("a2", 2), ("c1", 2), ("d1", None)):
        entry = enter_release(mapped_db, "d", release_id=f"{start}{'0' * 30}", largest_row_eps=amount)
        if start == "c1":
            complete_release(mapped_db, entry)
        if start == "d1":
            settle_release(mapped_db, release="d1", row_eps=1)
    before = list_releases(mapped_db)
    unsettled: list[tuple[Any, Any, str]] = [
        ("a1", None, "what release a1000000 spent is unknown; .* --row-eps NUMBER"),
        *(("a1", wrong, "row_eps") for wrong in (-1, float("nan"), float("inf"), "3")),
        ("a2", 3.0, "release a2000000 spent 2 on a row and counts as that; leave out --row-eps"),
        *(("c1", amount, "release c1000000 is not pending; it is complete") for amount in (None, 3.0)),
        ("d1", 3.0, "release d1000000 is not pending; it is settled"),
    ]
    unstruck: list[tuple[Any, Any, str]] = [
        *((wrong, REASON, "expected the ID of a release, such as 1f3a9c02") for wrong in ("", "reviews", "f" * 33)),
        ("9", REASON, "no release has an ID that starts with 9"),
        ("a", REASON, "2 releases have IDs that start with a; give more of it: a1000, a2000$"),
        ("a1", " \n", "reason of 1 to 500 characters: .*; found 0 characters"),
        ("a1", "x" * 501, "found 501 characters"),
        ("a1", None, "reason must be a text; found NoneType"),
        (1, REASON, "release must be the ID of a release; found int"),
    ]
    for release, row_eps, message in unsettled:
        with pytest.raises(SettingError, match=message):
            settle_release(mapped_db, release=release, row_eps=row_eps)
    for release, reason, message in unstruck:
        with pytest.raises(SettingError, match=message):
            strike_release(mapped_db, release=release, reason=reason)
    assert list_releases(mapped_db) == before


def test_no_correction_makes_a_ledger(mapped_db: Path) -> None:
    for correct in (settle_release, unstrike_release):
        with pytest.raises(SettingError, match="no release has an ID that starts with a1"):
            correct(mapped_db, release="a1")
    assert not mapped_db.with_suffix(".ledger.sqlite").exists()


def test_a_struck_release_has_a_reason_and_a_time_until_that_is_undone(mapped_db: Path) -> None:
    """Also if it is settled meanwhile."""
    release, other = enter_release(mapped_db, "d"), enter(mapped_db)
    struck = strike_release(mapped_db, release=release.release_id[:10], reason=f"  {REASON}\n")
    assert (struck.release_id, struck.struck_reason) == (release.release_id, REASON)
    assert struck.struck_at is not None and struck.struck_at >= release.started_at
    settled = settle_release(mapped_db, release=release.release_id, row_eps=4)
    assert (settled.state, settled.struck_at, settled.struck_reason) == ("settled", struck.struck_at, REASON)
    again = strike_release(mapped_db, release=release.release_id.upper(), reason="otherwise")
    assert read_ledger(mapped_db).releases == [again, other] and again.struck_reason == "otherwise"
    undone = unstrike_release(mapped_db, release=release.release_id)
    assert (undone.state, undone.largest_row_eps, undone.struck_at) == ("settled", Decimal(4), None)
    assert read_ledger(mapped_db).releases == [undone, other]
    with pytest.raises(SettingError, match=f"release {release.release_id[:8]} is not struck through"):
        unstrike_release(mapped_db, release=release.release_id)
