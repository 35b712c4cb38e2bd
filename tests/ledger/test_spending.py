"""Totals of releases that share data are exact sums."""

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custext_sql import Dataset, Sanitizer, build_mapping
from custext_sql.errors import BudgetError, SettingError
from custext_sql.ledger.checks import check_budget, sum_spent, write_eps
from tests.files.test_data_files import db, folder, run
from tests.ledger_entries import list_totals, make_release

__all__ = ["db", "folder"]  # fixtures


def total_of(db: Path, dataset: str) -> str:
    [total] = [total for total in list_totals(db) if total.dataset == dataset]
    return write_eps(total.total_eps)


@settings(max_examples=30)
@given(st.lists(st.decimals("0.001", 5000, places=6), min_size=1, max_size=100))
def test_totals_are_exact(amounts: list[Decimal]) -> None:
    spent = sum_spent((make_release("d", largest_row_eps=str(amount)) for amount in amounts), {})
    assert spent.eps is not None
    assert Fraction(spent.eps) == sum(map(Fraction, amounts))


def test_thousands_of_small_releases_add_up_to_the_digit() -> None:
    release = make_release("d", largest_row_eps="0.001")
    earlier = [replace(release, run_id=str(number)) for number in range(9_999)]
    assert write_eps(sum_spent(earlier, {}).eps) == "9.999"
    check_budget(earlier, {}, make_release("d", largest_row_eps="0.001"), 10.0, {})
    with pytest.raises(BudgetError, match=r"total eps of 10\.000000000001, more than --budget-total 10 "):
        check_budget(earlier, {}, make_release("d", largest_row_eps="0.001000000001"), 10.0, {})


@pytest.mark.slow
def test_sets_of_files_that_overlap_add_up(db: Path, folder: Path) -> None:
    for name, text in (("a", "alice"), ("b", "alice bob"), ("c", "alice bob carol")):
        (folder / f"{name}.csv").write_text(f"id,body\n1,{text}\n")
    for number, files in enumerate(["a.csv", "[ab].csv", "[bc].csv", "."]):
        assert run("sanitize", files, f"../{number}.csv", "--column", "body").exit_code == 0
    largest = {"a": 1 + 2 + 3, "b": 2 + 3 + 3, "c": 3 + 3}  # over all releases of the file
    assert total_of(db, str((folder / "a.csv").resolve())) == str(largest["a"])
    assert total_of(db, str(folder.resolve() / "[ab].csv")) == str(max(largest["a"], largest["b"]))
    assert total_of(db, str(folder.resolve())) == str(max(largest.values()))
    for name, spent in largest.items():
        options = ("--column", "body", "--budget-total")
        longest = {"a": 1, "b": 2, "c": 3}[name]
        assert run("sanitize", f"{name}.csv", "../x.csv", *options, str(spent + longest - 0.5)).exit_code == 1
    shown = run("ledger", "--dataset", str(folder / "a.csv"), "--json").stdout
    assert len(json.loads(shown)["releases"]) == 3


def test_names_of_datasets_are_compared_in_whatever_case(db: Path) -> None:
    sanitizer = Sanitizer.load(db)
    for name in ("caf\u00e9s", "Caf\u00e9s ", "CAFE\u0301S"):
        sanitizer.release(["alice"], dataset=name)
    with pytest.raises(BudgetError, match="total eps of 4"):
        sanitizer.release(["alice"], dataset=Dataset("cafe\u0301s", budget_total=3.5))
    [total] = list_totals(db)
    assert (total.dataset, total.releases) == ("caf\u00e9s", 3)


def test_a_file_under_two_names_is_not_released_twice(db: Path, folder: Path) -> None:
    (folder / "d").mkdir()
    (folder / "d" / "a.csv").write_text("id,body\n1,alice\n")
    for name, link in (("b.csv", Path.symlink_to), ("c.csv", Path.hardlink_to)):
        link(folder / "d" / name, folder / "d" / "a.csv")
        refused = run("sanitize", "d", "out.csv", "--column", "body")
        assert f"{name} and a.csv are the same file; its rows would be released twice" in refused.output
        (folder / "d" / name).unlink()


def test_a_dataset_needs_a_name_and_a_sensible_budget() -> None:
    for wrong, message in (({"name": " "}, "must not be empty"), ({"name": "d", "budget_total": -0.1}, "at least 0")):
        with pytest.raises(SettingError, match=message):
            Dataset(**wrong)


@pytest.mark.slow
def test_a_second_mapping_is_refused_and_says_what_it_would_tell(db: Path, folder: Path) -> None:
    (folder / "in.csv").write_text("id,body\n1,alice bob\n")
    build_mapping(db, embedding="small", k=2)
    first = ("sanitize", "in.csv", "1.csv", "--column", "body")
    second = ("sanitize", "in.csv", "2.csv", "--column", "body", "--mapping", "small-euclidean-k2")
    assert run(*first).exit_code == 0
    refused = run(*second)
    assert refused.exit_code == 1 and not (folder / "2.csv").exists()
    least, median = intersect(db, "small-euclidean-k4", "small-euclidean-k2")
    assert f"as few as {least} candidate{'s' * (least > 1)} would remain for a word (median {median})" in refused.output
    assert "--second-mapping" in refused.output and "small-euclidean-k4" in refused.output
    assert run("sanitize", "alice", "--mapping", "small-euclidean-k2").exit_code == 0  # a text has no dataset
    assert run(*second, "--second-mapping").exit_code == 0
    for mapping in ("small-euclidean-k2", "small-euclidean-k4"):  # both are known by now and reveal nothing new
        again = run("sanitize", "in.csv", "4.csv", "--column", "body", "--mapping", mapping, "--force")
        assert again.exit_code == 0, again.output
    build_mapping(db, embedding="small", k=3)
    query = "SELECT custext_sanitize(body, 1, true) AS body FROM 'in.csv'"
    options = ("--dataset", str((folder / "in.csv").resolve()), "--output", "3.csv")
    assert "--second-mapping" in run("sql", query, *options, "--mapping", "small-euclidean-k3").output
    with pytest.raises(BudgetError, match="--second-mapping"):
        Sanitizer.load(db, mapping="small-euclidean-k3").release(["alice"], dataset=str((folder / "in.csv").resolve()))


def intersect(db: Path, first: str, second: str) -> tuple[int, int]:
    """Return how many words share both groups of a word: the minimum and the lower median."""
    one, two = (Sanitizer.load(db, mapping=name) for name in (first, second))
    sizes = sorted(
        len(set(one.distribution(word, 1.0)) & set(two.distribution(word, 1.0))) for word in one.mapping.words
    )
    return sizes[0], sizes[(len(sizes) - 1) // 2]


@pytest.mark.slow
def test_a_key_of_other_data_is_refused(db: Path, folder: Path) -> None:
    for name in ("one", "two"):
        (folder / f"{name}.csv").write_text("id,body\n1,alice bob\n")
    assert run("keygen", "k").exit_code == 0
    keyed = ("--column", "body", "--key-file", "k", "--record-column", "id")
    query = "SELECT custext_sanitize_keyed(body, 'body:' || id) AS body FROM 'two.csv'"
    assert run("sql", query, "--key-file", "k", "--output", "q.csv").exit_code == 0  # a query has no name
    assert run("sanitize", "one.csv", "1.csv", *keyed).exit_code == 0
    refused = run("sanitize", "two.csv", "2.csv", *keyed)
    assert refused.exit_code == 1 and not (folder / "2.csv").exists()
    assert "was used before for" in refused.output and "--reuse-key" in refused.output
    assert run("sanitize", "one.csv", "3.csv", *keyed).exit_code == 0
    assert run("sanitize", "two.csv", "2.csv", *keyed, "--reuse-key").exit_code == 0
    assert run("sanitize", "one.csv", "4.csv", *keyed).exit_code == 0  # the two are correlated by now
    refused = run("sql", query, "--key-file", "k", "--output", "r.csv", "--dataset", "three")
    assert "--reuse-key" in refused.output and not (folder / "r.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["files", "tables"])
def test_spelling_does_not_part_data(db: Path, folder: Path, form: str) -> None:
    (folder / "reviews.csv").write_text("id,body\n1,alice bob\n")
    (folder / "link.csv").symlink_to(folder / "reviews.csv")
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE SCHEMA other; CREATE TABLE reviews AS FROM 'reviews.csv'")
        connection.execute("CREATE TABLE other.reviews AS FROM reviews")
    table = ("--data", "./shop.duckdb", "--table")
    if form == "files":
        spelled = ["reviews.csv", "./reviews.csv", f"../{folder.name}/reviews.csv", "*views.csv", "./re[v]iews.csv"]
        ways: list[tuple[str, ...]] = [(name,) for name in (*spelled, "link.csv", str(folder / "reviews.csv"))]
        ways.append(("--dataset", "./reviews.csv", "link.csv"))
        name = str((folder / "reviews.csv").resolve())
    else:
        ways = [(*table, one) for one in ("reviews", "REVIEWS", "main.reviews", "Main.Reviews", "shop.main.reviews")]
        name = f"{(folder / 'shop.duckdb').resolve()}:reviews"
        assert run("sanitize", *table, "other.reviews", "another", "--column", "body").exit_code == 0
    target = "../{}.csv" if form == "files" else "new{}"
    for number, way in enumerate(ways):
        done = run("sanitize", *way, target.format(number), "--column", "body")
        assert done.exit_code == 0, done.output
    assert total_of(db, name) == str(2 * len(ways))
    limit = ("--column", "body", "--budget-total", str(2 * len(ways) + 1))
    refused = run("sanitize", *ways[0], target.format("x"), *limit)
    assert f"total eps of {2 * len(ways) + 2}" in refused.output
