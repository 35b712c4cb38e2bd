"""Nights: a table whose new rows alone are released, and added to what is there."""

from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result

from custext_sql import make_key, read_ledger, sanitize_table
from custext_sql.cli import main
from custext_sql.errors import SettingError
from tests.killing import Jobs, Moments

EPS = 1.0
Rows = dict[int, tuple[str, int]]


@pytest.fixture
def shop(mapped_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a DuckDB file with 100 reviews, and a key for them."""
    monkeypatch.setenv("CUSTEXT_DB", str(mapped_db))
    make_key(tmp_path / "key", mapped_db, eps=EPS, plus=False)
    execute(tmp_path / "shop.duckdb", "CREATE TABLE reviews (id BIGINT, body VARCHAR, stars INTEGER)")
    add_reviews(tmp_path / "shop.duckdb", 0, 100)
    return tmp_path / "shop.duckdb"


def execute(shop: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(shop) as connection:
        return connection.execute(query).fetchall()


def add_reviews(shop: Path, start: int, end: int) -> None:
    """Add reviews of two words, and one of three."""
    execute(
        shop,
        "INSERT INTO reviews SELECT i, CASE i WHEN 7 THEN 'alice bob carol' ELSE 'dave erin' END, i % 5 "
        f"FROM range({start}, {end}) r(i)",
    )


def read_clean(shop: Path) -> Rows:
    return {int(str(row[0])): (str(row[1]), int(str(row[2]))) for row in execute(shop, "FROM clean ORDER BY id")}


def run_night(shop: Path, *more: str) -> Result:
    """Run the job of a night."""
    form = ["--data", str(shop), "--table", "reviews", "clean", "--append", "--column", "body", "--record-column", "id"]
    return CliRunner().invoke(main, ["sanitize", *form, "--key-file", str(shop.with_name("key")), *more])


def test_three_nights_release_each_row_once(shop: Path, mapped_db: Path) -> None:
    nights, added = list[Rows](), [100, 0, 50]
    for night, rows in enumerate(added):
        if night == 2:
            add_reviews(shop, 100, 150)
        done = run_night(shop, "--budget-total", "3")
        assert done.exit_code == 0, done.output
        assert done.stdout == f"{shop}, table clean: {rows:,} rows added\n"
        nights.append(read_clean(shop))
        [total] = read_ledger(mapped_db).totals
        assert total.total_eps == 3 * EPS and total.releases == night + 1 and not total.raw
    assert [len(night) for night in nights] == [100, 100, 150]
    assert nights[1] == nights[0]
    assert {number: nights[2][number] for number in nights[0]} == nights[0]
    assert all(stars == number % 5 for number, (_, stars) in nights[2].items())
    assert [release.row_count for release in read_ledger(mapped_db).releases] == added
    execute(shop, "UPDATE reviews SET body = 'frank grace' WHERE id = 3")  # an edited row stays as it was released
    assert run_night(shop).stdout.endswith("0 rows added\n") and read_clean(shop) == nights[2]


def test_a_night_with_a_longer_review_costs_its_difference(shop: Path, mapped_db: Path) -> None:
    assert run_night(shop).exit_code == 0
    execute(shop, "INSERT INTO reviews VALUES (2000, 'alice bob carol dave', 1)")
    refused = run_night(shop, "--budget-total", "3.5")
    assert refused.exit_code == 1 and "a row may have spent a total eps of 4" in refused.output
    assert len(read_clean(shop)) == 100
    assert run_night(shop, "--budget-total", "4").exit_code == 0
    assert [total.total_eps for total in read_ledger(mapped_db).totals] == [4]


def test_ids_decide_what_is_new_even_beside_null(shop: Path) -> None:
    execute(shop, "CREATE TABLE clean AS SELECT id, body, stars FROM reviews WHERE id < 10")
    execute(shop, "INSERT INTO clean VALUES (NULL, 'by hand', 0)")
    assert run_night(shop).stdout.endswith("90 rows added\n")


def test_a_view_can_be_appended_every_night(shop: Path) -> None:
    execute(shop, "CREATE VIEW stars AS SELECT id, body, stars FROM reviews WHERE stars < 2")
    for rows in (40, 0):
        done = run_night(shop, "--table", "stars")
        assert done.stdout.endswith(f"{rows} rows added\n"), done.output


def test_a_column_that_was_sanitized_is_never_copied_later(shop: Path, mapped_db: Path) -> None:
    execute(shop, "ALTER TABLE reviews ADD COLUMN title VARCHAR DEFAULT 'grace'")
    assert run_night(shop).exit_code == 0
    add = "INSERT INTO reviews VALUES (3000, 'heidi', 1, 'ivan')"
    execute(shop, add)
    refused = run_night(shop, "--column", "title")  # besides body
    assert refused.exit_code == 1 and "its rows were sanitized in body; rows that are sanitized in" in refused.output
    options: dict[str, Any] = {"record_column": "id", "key_file": shop.with_name("key"), "database": mapped_db}
    with pytest.raises(SettingError, match="rows that are sanitized in title cannot be added"):
        sanitize_table(shop, "reviews", "clean", columns="title", append=True, **options)
    assert len(execute(shop, "FROM clean")) == 100
    assert sanitize_table(shop, "reviews", "clean", columns="BODY", append=True, **options).rows == 1


def test_ids_of_another_type_are_not_compared(shop: Path) -> None:
    execute(shop, "CREATE TABLE clean (id VARCHAR, body VARCHAR, stars INTEGER)")
    assert "column 'id' is VARCHAR, but BIGINT in the input" in run_night(shop).output
    execute(shop, "ALTER TABLE reviews ALTER id TYPE DOUBLE")
    assert "column 'id' is DOUBLE, and IDs must be integers or text: 1 and 1.0" in run_night(shop).output
    assert execute(shop, "FROM clean") == []


def test_an_append_that_cannot_be_right_is_refused(shop: Path, mapped_db: Path) -> None:
    assert run_night(shop).exit_code == 0
    execute(shop, "ALTER TABLE clean RENAME COLUMN stars TO points")
    assert "table clean has other columns than the rows to append: id, body, points" in run_night(shop).output
    options: dict[str, Any] = {"record_column": "id", "key_file": shop.with_name("key"), "database": mapped_db}
    for output, given, expected in (
        ("clean", {"force": True}, "use --append or --force"),
        ("clean", {"record_column": None}, "--append needs a column of IDs"),
        (shop.with_name("clean.csv"), {}, "name a table, not a file"),
    ):
        with pytest.raises(SettingError, match=expected):
            sanitize_table(shop, "reviews", output, columns="body", append=True, **(options | given))
    assert len(read_ledger(mapped_db).releases) == 1


@pytest.mark.slow
def test_a_killed_night_adds_all_its_rows_or_none(shop: Path, mapped_db: Path) -> None:
    with Jobs() as jobs:
        job = (mapped_db, shop, shop.with_name("key"))
        moments = Moments(jobs.time("append", *job))
        add_reviews(shop, 100, 1000)
        for night in range(1, 11):
            add_reviews(shop, night * 1000, (night + 1) * 1000)
            before = len(read_clean(shop))
            moments.kill(jobs, "append", *job)
            after = len(read_clean(shop))
            assert after in (before, (night + 1) * 1000)
            entered = sum(release.row_count or 0 for release in read_ledger(mapped_db).releases)
            assert entered >= after, "rows without an entry"
        assert run_night(shop).exit_code == 0
    assert len(read_clean(shop)) == 11_000
    assert [total.total_eps for total in read_ledger(mapped_db).totals] == [3 * EPS]
