"""Releases without a defined end: what they count, and what the ledger shows."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from custext_sql import CusTextError, Dataset, Sanitizer, make_key, read_ledger, settle_release
from custext_sql.errors import SettingError
from custext_sql.ledger.release import Release, check_running, settle_all
from custext_sql.text.columns import open_column
from tests.ledger_entries import peek_releases


def draw(
    release: Release[Sanitizer], texts: list[str], eps: float | None = None, records: list[str] | None = None
) -> None:
    with release.drawing() as tally:
        release.sanitizer.sanitize_column(open_column(texts)[0], eps, records=records, tally=tally)


def open_running(sanitizer: Sanitizer, dataset: str | Dataset = "notes", **known: Any) -> Release[Sanitizer]:
    release = sanitizer.open_release(check_running(dataset), at_least=True, runs=True, **known)
    release.check()
    return release


def test_a_release_without_a_dataset_only_counts(mapped_db: Path) -> None:
    release = Sanitizer.load(mapped_db, eps=0.5).open_release(None, runs=True)
    release.check()
    draw(release, ["alice bob", "carol"])
    draw(release, ["dave"])
    assert (release.receipt.rows, release.receipt.replaced, release.receipt.eps) == (3, 4, 0.5)
    settle_all()
    assert not read_ledger(mapped_db).releases and not mapped_db.with_suffix(".ledger.sqlite").exists()


def test_a_release_of_one_process_is_a_run_of_its_own(mapped_db: Path) -> None:
    """Otherwise two of them would count as parts with other rows."""
    sanitizer = Sanitizer.load(mapped_db)
    for _ in range(2):
        release = open_running(sanitizer)
        for text in ("alice", "bob carol"):
            draw(release, [text])
            settle_all()
    assert [entry.run_id for entry in peek_releases(mapped_db)] == [
        entry.release_id for entry in peek_releases(mapped_db)
    ]
    assert read_ledger(mapped_db).totals[0].total_eps == Decimal(4)


def test_what_cannot_be_kept_is_refused_at_once(mapped_db: Path) -> None:
    sanitizer = Sanitizer.load(mapped_db)
    with pytest.raises(SettingError, match="cannot keep budget_total"):
        open_running(sanitizer, Dataset("notes", budget_total=5.0))
    with pytest.raises(SettingError, match="eps must be 0, or between"):
        open_running(sanitizer, eps=101.0)
    without_database = Sanitizer(sanitizer.mapping, frozenset())
    with pytest.raises(CusTextError, match="was not loaded from a database"):
        open_running(without_database)


def test_each_time_a_keyed_release_is_settled_its_records_add_up(mapped_db: Path, tmp_path: Path) -> None:
    """A record spends the sum of its different texts, also if the ledger was read between them."""
    make_key(tmp_path / "key", mapped_db, eps=0.5)
    release = open_running(Sanitizer.load(mapped_db, key_file=tmp_path / "key"))
    spent = []
    for text in ("alice", "bob carol", "alice", "zzz", "dave"):
        draw(release, [text], records=["a"])
        spent.append(read_ledger(mapped_db).totals[0].total_eps)
    assert spent == [Decimal("0.5"), Decimal("1.5"), Decimal("1.5"), Decimal("1.5"), Decimal(2)]
    [entry] = read_ledger(mapped_db).releases
    assert entry.by_record and entry.largest_row_eps == 1  # of one call
    draw(open_running(release.sanitizer), ["dave", "erin"], records=["a", "b"])
    assert read_ledger(mapped_db).totals[0].total_eps == Decimal(2)


@pytest.mark.parametrize("keyed", [False, True])
def test_a_release_that_a_person_settled_stays_and_what_follows_is_another(
    mapped_db: Path, tmp_path: Path, keyed: bool
) -> None:
    make_key(tmp_path / "key", mapped_db, eps=1.0)
    release = open_running(Sanitizer.load(mapped_db, key_file=tmp_path / "key" if keyed else None))
    records = ["a"] if keyed else None
    draw(release, ["alice bob"], records=records)
    [pending] = peek_releases(mapped_db)
    with release.drawing():  # as if another process settled it: this one cannot bring it up to date
        settled = settle_release(mapped_db, release=pending.release_id, row_eps=1.5)
    settle_all()
    entries = read_ledger(mapped_db)
    first, second = sorted(entries.releases, key=lambda entry: entry.state, reverse=True)
    assert first == settled and (first.state, first.largest_row_eps) == ("settled", Decimal("1.5"))
    assert (second.state, second.replaced, second.largest_row_eps) == ("complete", 2, Decimal(2))
    draw(release, ["carol"], records=records)
    assert [entry.state for entry in peek_releases(mapped_db)].count("pending") == 1
    settle_all()
    ledger = read_ledger(mapped_db)
    assert len(ledger.releases) == 2
    total = Decimal("1.5") + 3 if keyed else Decimal(2)  # fresh draws of one run count once, with the larger amount
    assert (ledger.totals[0].pending, ledger.totals[0].total_eps) == (0, total)
