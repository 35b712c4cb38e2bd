"""Releases without a defined end: what they count, and what the ledger shows."""

from pathlib import Path

import pytest

from custext_sql import (
    CusTextError,
    Dataset,
    KeyFileError,
    RunningRelease,
    Sanitizer,
    SettingError,
    make_key,
    read_ledger,
)
from custext_sql.ledger.running import settle_all
from custext_sql.text.columns import open_column


def sanitize(release: RunningRelease, sanitizer: Sanitizer, texts: list[str], eps: float | None = None) -> None:
    with release.drawing() as tally:
        sanitizer.sanitize_column(open_column(texts)[0], eps, tally=tally)


def test_a_release_without_a_dataset_only_counts(mapped_db: Path) -> None:
    sanitizer = Sanitizer.load(mapped_db, eps=0.5)
    release = RunningRelease(sanitizer)
    release.check()
    sanitize(release, sanitizer, ["alice bob", "carol"])
    sanitize(release, sanitizer, ["dave"])
    assert (release.receipt.rows, release.receipt.sampled, release.receipt.eps) == (3, 4, 0.5)
    settle_all()
    assert not read_ledger(mapped_db).releases


def test_all_draws_are_one_release_in_the_ledger(mapped_db: Path) -> None:
    sanitizer = Sanitizer.load(mapped_db)
    release = RunningRelease(sanitizer, "notes", budgets={0.5, 2.0}, run_id="r")
    release.check()
    for _ in range(2):
        sanitize(release, sanitizer, ["alice bob"], 2.0)
        settle_all()
    [entered] = read_ledger(mapped_db).releases
    assert (entered.dataset, entered.row_count, entered.sampled, entered.eps) == ("notes", 2, 4, 2.0)
    assert entered.at_least and entered.run_id == "r"
    assert release.receipt.budgets == (0.5, 2.0)


def test_what_cannot_be_kept_is_refused_at_once(mapped_db: Path, tmp_path: Path) -> None:
    sanitizer = Sanitizer.load(mapped_db)
    with pytest.raises(SettingError, match="cannot keep budget_total"):
        RunningRelease(sanitizer, Dataset("notes", budget_total=5.0))
    with pytest.raises(SettingError, match="eps must be 0, or between"):
        RunningRelease(sanitizer, budgets={1.0, 101.0})
    make_key(tmp_path / "key", mapped_db, eps=2.0)
    with pytest.raises(KeyFileError, match="this key is for eps = 2, not 1"):
        RunningRelease(Sanitizer.load(mapped_db, key_file=tmp_path / "key"), budgets={1.0})
    without_database = Sanitizer(sanitizer.mapping, frozenset())
    with pytest.raises(CusTextError, match="was not loaded from a database"):
        RunningRelease(without_database, "notes").check()
