"""Releases whose rows are sanitized in parts, in any process: counted once, published as a whole."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from custext_sql import Dataset, Receipt, Sanitizer, make_key, read_ledger
from custext_sql.errors import BudgetError, SettingError
from custext_sql.files.opening import open_release
from custext_sql.files.parts import add_part, sanitize_part, sanitize_rows
from custext_sql.ledger.release import Release
from custext_sql.sanitizer.tally import Tally
from custext_sql.store.key_files import read_key_file

TEXTS = ["alice met bob", None, "carol dave erin frank", "zzz 12", "", "Grace's ☂ qqq zzz"]
TITLES = ["heidi", None, None, "ivan ivan ivan", "judy", "zzz"]


def release_in_parts(
    release: Release[Sanitizer], cuts: list[int], key: Path | None = None
) -> tuple[list[Any], Receipt]:
    """Return the rows, and the receipt, of a release made in parts that begin at these places."""
    bounds = [0, *sorted(min(cut, len(TEXTS)) for cut in cuts), len(TEXTS)]
    sanitizer = release.sanitizer if key is None else release.sanitizer.with_key(read_key_file(key))
    done: list[Any] = []
    for first, last in pairwise(bounds):
        if first == last:
            continue
        rows = slice(first, last)
        columns = {"body": pa.array(TEXTS[rows], pa.string()), "title": pa.array(TITLES[rows], pa.string())}
        ids = None if key is None else pa.array(range(first, last))
        made, counts = sanitize_part(sanitizer, columns, ids)
        done += zip(made["body"].to_pylist(), made["title"].to_pylist(), strict=True)
        assert add_part(release, counts) == last - first
    return done, release.publish(lambda: None)


def count_at_once(database: Path, key: Path) -> Receipt:
    """Return the receipt of all rows, counted in this process and never packed."""
    sanitizer, tally = Sanitizer.load(database, key_file=key), Tally()
    columns = {"body": pa.array(TEXTS), "title": pa.array(TITLES)}
    sanitize_rows(sanitizer, columns, pa.array(range(len(TEXTS))), tally)
    return sanitizer.receipt(tally)


def plan(database: Path, **known: Any) -> Release[Sanitizer]:
    given: dict[str, Any] = {"dataset": "reviews", "database": database, "columns": ["body", "title"]} | known
    return open_release("the data", **given)


@pytest.mark.parametrize("cuts", [[0, 1, 2, 3, 4, 5, 6], [2, 2, 4]])
def test_receipts_do_not_depend_on_the_parts(mapped_db: Path, cuts: list[int]) -> None:
    database = mapped_db
    make_key(database.with_name("k"), database, eps=0.5, policy="paper")
    keyed: dict[str, Any] = {"key_file": database.with_name("k"), "record_column": "id"}
    whole, expected = release_in_parts(plan(database, **keyed), [], database.with_name("k"))
    parts, receipt = release_in_parts(plan(database, **keyed), cuts, database.with_name("k"))
    assert (parts, receipt) == (whole, expected)
    at_once = count_at_once(database, database.with_name("k"))
    assert at_once.replaced_unchanged is not None and receipt.replaced_unchanged is None  # it is never stored
    assert receipt == replace(at_once, replaced_unchanged=None)
    assert min(receipt.characters_in_clear, receipt.symbols, receipt.mean_row_eps, receipt.numbers) > 0
    assert (receipt.rows, receipt.unknown_kept, receipt.unknown_distinct) == (5, 5, 3)
    assert receipt.largest_row_eps == 2.0  # a row is all its columns
    assert [release.by_record for release in read_ledger(database).releases] == [True, True]
    assert [total.total_eps for total in read_ledger(database).totals] == [2.0]  # the same draws count once


def test_a_part_says_how_many_rows_it_has(mapped_db: Path) -> None:
    """All rows count, also those without text, so that whoever publishes can compare them with the output."""
    release = plan(mapped_db, eps=1.0)
    columns = {"body": pa.array(["alice", None]), "title": pa.array(["bob", None])}
    _, counts = sanitize_part(release.sanitizer, columns)
    assert add_part(release, counts) == 2
    assert (release.publish().rows, read_ledger(mapped_db).releases[0].row_count) == (1, 1)


def test_nothing_is_published_that_spends_too_much(mapped_db: Path) -> None:
    published: list[str] = []
    for limit in ({"max_row_eps": 3.5}, {"budget_total": 3.5}, {"dataset": Dataset("reviews", budget_total=3.5)}):
        release = plan(mapped_db, eps=1.0, **limit)
        columns = {"body": pa.array(["alice bob carol"]), "title": pa.array(["dave"])}
        add_part(release, sanitize_part(release.sanitizer, columns)[1])
        with pytest.raises(BudgetError):
            release.publish(lambda: published.append("published"))
    assert published == []
    assert read_ledger(mapped_db).releases == []


def test_parts_that_do_not_belong_to_the_release_are_refused(mapped_db: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "k", mapped_db)
    keyed = plan(mapped_db, key_file=tmp_path / "k", record_column="id")
    fresh = Sanitizer.load(mapped_db)
    column = {"body": pa.array(["alice", "bob"])}
    with pytest.raises(SettingError, match="draws from a key need the ID of each row"):
        sanitize_part(keyed.sanitizer, column)
    with pytest.raises(SettingError, match="IDs are only for draws from a key"):
        sanitize_part(fresh, column, pa.array([1, 2]))
    for wrong_ids in ([1.0, 2.0], [True, False], [b"1", b"2"]):  # 1 and 1.0 would be different records
        with pytest.raises(SettingError, match="IDs must be strings or missing; found a column of"):
            sanitize_part(keyed.sanitizer, column, pa.array(wrong_ids))
    for uneven in ({**column, "title": pa.array(["carol"])}, {"title": pa.array(["carol"]), **column}):
        with pytest.raises(SettingError, match="must have the same number of rows"):
            sanitize_part(fresh, uneven)
    with pytest.raises(SettingError, match="a part must have at least one column"):
        sanitize_part(fresh, {})
    with pytest.raises(SettingError, match="record must not be NULL"):
        sanitize_part(keyed.sanitizer, column, pa.array([1, None]))
    for other in (fresh, Sanitizer.load(mapped_db, eps=2), Sanitizer.load(mapped_db, policy="paper")):
        with pytest.raises(SettingError, match="a part was made with other settings than the release"):
            add_part(keyed, sanitize_part(other, column)[1])
    for wrong in (b"", b"{}", b"[]", b"1"):
        with pytest.raises(SettingError, match="counts must be what sanitize_part returned"):
            add_part(keyed, wrong)
