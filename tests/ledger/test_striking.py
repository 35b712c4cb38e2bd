"""Releases that are struck through: a note with a reason, and they count as before."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from custext_sql import read_ledger, strike_release
from custext_sql.cli import main
from custext_sql.errors import BudgetError, KeyFileError, SettingError
from custext_sql.ledger.entries import Entry
from custext_sql.ledger.ledger import unstrike_release
from tests.ledger_entries import complete_release, enter_release

REASON = "deleted on May 3, nobody had downloaded it"


def run(db: Path, *arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, ["--db", str(db), "ledger", *arguments], env=environment)


def enter(db: Path, dataset: str = "reviews", eps: float = 6, **settings: Any) -> Entry:
    return complete_release(db, enter_release(db, dataset, largest_row_eps=eps, **settings))


def test_a_struck_release_has_a_reason_and_a_time_until_that_is_undone(mapped_db: Path) -> None:
    release, other = enter(mapped_db), enter(mapped_db)
    struck = strike_release(mapped_db, release=release.release_id[:10], reason=f"  {REASON}\n")
    assert (struck.release_id, struck.struck_reason) == (release.release_id, REASON)
    assert struck.struck_at is not None and struck.struck_at >= release.started_at
    again = strike_release(mapped_db, release=release.release_id.upper(), reason="otherwise")
    assert again.struck_reason == "otherwise"
    found = read_ledger(mapped_db).releases
    assert [one.struck_reason for one in found] == ["otherwise", None]
    assert unstrike_release(mapped_db, release=release.release_id) == release
    assert read_ledger(mapped_db).releases == [release, other]
    with pytest.raises(SettingError, match=f"release {release.release_id[:8]} is not struck through"):
        unstrike_release(mapped_db, release=release.release_id)


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


@pytest.mark.parametrize(
    "release, reason, message",
    [
        ("", REASON, "expected the ID of a release"),
        ("reviews", REASON, "expected the ID of a release, such as 1f3a9c02"),
        ("f" * 33, REASON, "expected the ID of a release"),
        ("9", REASON, "no release has an ID that starts with 9"),
        ("a", REASON, "2 releases have IDs that start with a; give more of it: a1000, a2000$"),
        ("a1", " \n", "reason of 1 to 500 characters: .*; found 0 characters"),
        ("a1", "x" * 501, "found 501 characters"),
        ("a1", None, "reason must be a text; found NoneType"),
        (1, REASON, "release must be the ID of a release; found int"),
    ],
)
def test_mistakes_change_nothing(mapped_db: Path, release: str, reason: str, message: str) -> None:
    before = [enter(mapped_db, release_id=f"{start}{'0' * 30}") for start in ("a1", "a2")]
    with pytest.raises(SettingError, match=message):
        strike_release(mapped_db, release=release, reason=reason)
    assert read_ledger(mapped_db).releases == before


def test_the_command_marks_what_is_struck_and_exports_it(mapped_db: Path, tmp_path: Path) -> None:
    release, other = enter(mapped_db), enter(mapped_db)
    short, kept = release.release_id[:8], other.release_id[:8]
    done = run(mapped_db, "strike", short, "--reason", f"{REASON}\x1b[1m")
    assert done.exit_code == 0 and done.output.startswith(f"struck through release {short} of reviews, ")
    shown = run(mapped_db).output
    assert f"\n~ {short} " in shown and f"\n  {kept} " in shown
    assert f"~ {short} struck through on " in shown and f", but still counts: {REASON}\\x1b[1m\n" in shown
    assert "reviews         2        0         12" in shown
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


def test_a_line_goes_through_what_is_struck_in_a_terminal(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = enter(mapped_db)
    strike_release(mapped_db, release=release.release_id, reason=REASON)
    assert "\x1b[9m" not in run(mapped_db).output
    assert f"\x1b[9m~ {release.release_id[:8]}" in run(mapped_db, FORCE_COLOR="1", TERM="xterm").output


def test_options_of_the_list_are_not_lost_before_a_subcommand(mapped_db: Path) -> None:
    done = run(mapped_db, "--json", "unstrike", "a1")
    assert done.exit_code == 2 and "Put the options after unstrike." in done.output
    assert run(mapped_db, "strike", "a1").exit_code == 2  # without a reason
