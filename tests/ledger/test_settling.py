"""Releases that stayed pending: a person says what they count as, once, and the ledger keeps it."""

import json
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from custext_sql import Dataset, Sanitizer, connect, make_key, read_ledger, settle_release, strike_release
from custext_sql.cli import main
from custext_sql.errors import BudgetError, DatabaseError, SettingError
from custext_sql.ledger import places
from custext_sql.ledger.ledger import unstrike_release
from custext_sql.ledger.places import LedgerFile
from tests.ledger_entries import complete_release, enter_release, list_releases, list_totals, peek_releases
from tests.processes import hold_ledger

REASON = "deleted"


def run(db: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["--db", str(db), "ledger", *arguments])


def test_a_release_of_a_known_amount_counts_as_that(mapped_db: Path) -> None:
    pending = enter_release(mapped_db, "d", largest_row_eps="2.5")
    settled = settle_release(mapped_db, release=pending.release_id[:8].upper())
    assert (settled.state, settled.largest_row_eps) == ("settled", Decimal("2.5"))
    assert settled.completed_at is not None and settled.completed_at >= pending.started_at
    assert list_releases(mapped_db) == [settled]
    [total] = list_totals(mapped_db)
    assert (total.pending, total.total_eps) == (0, Decimal("2.5"))


@pytest.mark.parametrize(("row_eps", "counted"), [(0, "0"), (0.1, "0.1"), (250, "250"), (1e-3, "0.001")])
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


@pytest.mark.parametrize(
    ("release", "row_eps", "message"),
    [
        ("a1", None, "what release a1000000 spent is unknown; .* --row-eps NUMBER"),
        ("a1", -1, "row_eps"),
        ("a1", float("nan"), "row_eps"),
        ("a1", float("inf"), "row_eps"),
        ("a1", "3", "row_eps"),
        ("b1", 3.0, "release b1000000 spent 2 on a row and counts as that; leave out --row-eps"),
        ("c1", None, "release c1000000 is not pending; it is complete"),
        ("c1", 3.0, "release c1000000 is not pending; it is complete"),
        ("d1", 3.0, "release d1000000 is not pending; it is settled"),
        ("e", 3.0, "no release has an ID that starts with e"),
        ("", 3.0, "expected the ID of a release"),
        (5, 3.0, "release must be the ID of a release; found int"),
    ],
)
def test_mistakes_change_nothing(mapped_db: Path, release: Any, row_eps: Any, message: str) -> None:
    for start, amount in (("a1", None), ("b1", 2), ("c1", 2), ("d1", None)):
        entry = enter_release(mapped_db, "d", release_id=f"{start}{'0' * 30}", largest_row_eps=amount)
        if start == "c1":
            complete_release(mapped_db, entry)
        if start == "d1":
            settle_release(mapped_db, release="d1", row_eps=1)
    before = list_releases(mapped_db)
    with pytest.raises(SettingError, match=message):
        settle_release(mapped_db, release=release, row_eps=row_eps)
    assert list_releases(mapped_db) == before


def test_a_settled_release_can_be_struck_and_a_struck_one_settled(mapped_db: Path) -> None:
    pending = enter_release(mapped_db, "d")
    struck = strike_release(mapped_db, release=pending.release_id, reason=REASON)
    settled = settle_release(mapped_db, release=pending.release_id, row_eps=4)
    assert (settled.struck_at, settled.struck_reason) == (struck.struck_at, REASON)
    again = strike_release(mapped_db, release=pending.release_id, reason="otherwise")
    assert (again.state, again.largest_row_eps, again.struck_reason) == ("settled", Decimal(4), "otherwise")
    assert unstrike_release(mapped_db, release=pending.release_id).state == "settled"
    assert (list_releases(mapped_db)[0].struck_at, list_totals(mapped_db)[0].total_eps) == (None, Decimal(4))


def test_no_correction_makes_a_ledger(mapped_db: Path) -> None:
    corrections: list[Callable[[], object]] = [
        lambda: settle_release(mapped_db, release="a1"),
        lambda: strike_release(mapped_db, release="a1", reason=REASON),
        lambda: unstrike_release(mapped_db, release="a1"),
    ]
    for correct in corrections:
        with pytest.raises(SettingError, match="no release has an ID that starts with a1"):
            correct()
    assert not mapped_db.with_suffix(".ledger.sqlite").exists()


def test_a_correction_that_cannot_be_written_is_an_error(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_PATIENCE", 0.3)
    pending = enter_release(mapped_db, "d")
    with hold_ledger(mapped_db), pytest.raises(DatabaseError, match="cannot write the ledger .*: another process"):
        settle_release(mapped_db, release=pending.release_id, row_eps=4)
    assert list_releases(mapped_db) == [pending]


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


def test_the_command_settles(mapped_db: Path) -> None:
    known, unknown = enter_release(mapped_db, "d", largest_row_eps=2), enter_release(mapped_db, "d")
    done = run(mapped_db, "settle", known.release_id[:8])
    assert done.exit_code == 0 and done.output.endswith("; it counts as 2 on a row\n")
    assert done.output.startswith(f"settled release {known.release_id[:8]} of d, ")
    refused = run(mapped_db, "settle", unknown.release_id[:8])
    assert refused.exit_code == 1 and "--row-eps NUMBER" in refused.output
    assert run(mapped_db, "settle", unknown.release_id[:8], "--row-eps", "-1").exit_code != 0
    shown = json.loads(run(mapped_db, "settle", unknown.release_id[:8], "--row-eps", "0.25", "--json").output)
    assert (shown["state"], shown["largest_row_eps"]) == ("settled", 0.25)
    assert read_ledger(mapped_db, ledger=LedgerFile.locate(None, mapped_db).path).totals[0].total_eps == Decimal("2.25")
    assert run(mapped_db).output.count("settled") == 2
