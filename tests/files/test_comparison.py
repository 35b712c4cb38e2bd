"""Which rows `custext diff` shows: those of a release, a sample of all, or only those with words in the clear."""

import csv
import json
from pathlib import Path

import duckdb
import pytest

from custext_sql import DataTable
from custext_sql.errors import CusTextError
from custext_sql.files.inputs import texts
from custext_sql.files.preview.comparison import compare_texts
from tests.files.test_data_files import db, folder, run
from tests.ledger_entries import list_releases

__all__ = ["db", "folder"]  # fixtures

BODIES = ["Alice’s zzyzxa 12345 — don't", None, "bob\u200b met   carol 1980-01-02", "", "dave ALICE alice", "1/5"]


def write_every_format() -> None:
    """Write the same rows in every format, with IDs that a conversion to numbers would change."""
    rows = [{"ID": f"0{number}.0", "Body": text, "n": number} for number, text in enumerate(BODIES)]
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with duckdb.connect("shop.duckdb") as connection:
        kinds = "{'ID': 'VARCHAR', 'Body': 'VARCHAR', 'n': 'INT'}"
        connection.execute(f"CREATE TABLE t AS FROM read_json('in.jsonl', columns = {kinds})")


@pytest.mark.parametrize("source", ["jsonl", "table"])
def test_with_a_key_the_very_release_is_shown(db: Path, folder: Path, source: str) -> None:
    write_every_format()
    assert run("keygen", "k", "--eps", "2", "--policy", "paper").exit_code == 0
    keyed = ("--column", "body", "--key-file", "k", "--record-column", "id")
    data = ("--data", "shop.duckdb", "--table", "t") if source == "table" else (f"in.{source}",)
    target = "out" if source == "table" else f"out.{source}"
    shown = json.loads(run("diff", *data, *keyed, "--rows", "6", "--json").stdout)
    assert list_releases(db) == []
    released = run("sanitize", *data, target, *keyed)
    assert released.exit_code == 0, released.output
    with duckdb.connect("shop.duckdb") as connection:
        reader = target if source == "table" else f"'{target}'"
        found = [text for (text,) in connection.execute(f"SELECT Body FROM {reader}").fetchall()]
    assert [row["after"] or "" for row in shown] == [text or "" for text in found]
    assert (shown[1]["after"], shown[3]["after"]) == (None, "")
    assert any(row["after"] != row["before"] for row in shown)
    [fifth] = [
        row for row in json.loads(run("diff", *data, *keyed, "--sample", "6", "--json").stdout) if row["row"] == 5
    ]
    assert fifth == shown[4]


def test_a_key_needs_ids(db: Path, folder: Path) -> None:
    assert run("keygen", "k").exit_code == 0
    (folder / "in.csv").write_text("id,body\n1,alice\n1,bob\n,carol\n")
    form = ("diff", "in.csv", "--column", "body")
    for options, message in (
        (("--key-file", "k"), "draws from a key need a column of IDs"),
        (("--record-column", "id"), "is for draws from a key"),
        (("--key-file", "k", "--record-column", "id", "--rows", "2"), "IDs must be unique"),
        (("--key-file", "k", "--record-column", "id"), "is NULL in 1 row"),
        (("--key-file", "k", "--record-column", "ids"), "did you mean 'id'?"),
        (("--key-file", "k", "--record-column", "id", "--eps", "3"), "this key is for eps = 1"),
    ):
        result = run(*form, *options)
        assert result.exit_code == 1 and message in result.output
    (folder / "in.txt").write_text("alice\n")
    assert "need a column of IDs" in run("diff", "in.txt", "--key-file", "k").output


def test_a_sample_is_of_the_whole_input_and_repeats_with_a_seed(
    db: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 'alice ' || range AS body FROM range(30000)")
    table = DataTable("shop.duckdb", "t")
    first = compare_texts(table, column="body", sample=50, seed=1)
    places = [row.place for row in first.rows]
    assert len(set(places)) == 50 and places == sorted(places) and places[-1] > 15_000 and first.rows_read == 30_000
    assert all(row.pieces[-1].before == str(row.place - 1) for row in first.rows)
    monkeypatch.setattr(texts, "_ROWS", 10_000)
    assert compare_texts(table, column="body", sample=50, seed=1) == first
    assert [row.place for row in compare_texts(table, column="body", sample=50).rows] != places
    assert len(compare_texts(["alice", "bob"], sample=50).rows) == 2


def test_only_rows_with_words_in_the_clear_are_shown(db: Path, folder: Path) -> None:
    bodies = [f"the alice {number}{' bob' * 60}" for number in range(9000)]  # several blocks of bytes and of rows
    bodies[7999] = "carol qwfp"
    bodies += ["bob zzyzxa", "carol's", "x1"]
    with (folder / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["body"], *([body] for body in bodies)])
    form = ("diff", "in.csv", "--column", "body", "--only-leaks", "--plus", "--policy", "paper")
    shown = json.loads(run(*form, "--rows", "2", "--json").stdout)
    assert [(row["row"], row["before"]) for row in shown] == [(8000, "carol qwfp"), (9001, "bob zzyzxa")]
    assert "row 8,000\n- carol qwfp\n" in run(*form, "--rows", "1").output
    sampled = json.loads(run(*form, "--sample", "5", "--json").stdout)
    assert [row["row"] for row in sampled] == [8000, 9001, 9003]
    assert run(*form, "--html", "page.html").stdout == "page.html: 3 rows\n"
    assert "row 9,003: 1 of 1 word in the clear" in (folder / "page.html").read_text()
    numbers = run("diff", "in.csv", "--column", "body", "--only-leaks", "--numbers", "keep", "--rows", "1", "--json")
    assert [row["row"] for row in json.loads(numbers.stdout)] == [1]


def test_no_such_row_is_said(db: Path, folder: Path) -> None:
    (folder / "in.txt").write_text("the alice's bob\n" * 3)
    form = ("diff", "in.txt", "--only-leaks", "--plus")
    assert run(*form).output == "No word outside the vocabulary passes in the clear (the policy keeps none).\n"
    paper = run(*form, "--policy", "paper")
    assert paper.output == "No word outside the vocabulary passes in the clear (3 rows read).\n"
    assert json.loads(run(*form, "--json").stdout) == []


def test_wrong_numbers_of_rows_are_errors(db: Path, folder: Path) -> None:
    (folder / "in.txt").write_text("alice\n")
    both = run("diff", "in.txt", "--rows", "2", "--sample", "2")
    assert both.exit_code == 2 and "Give --rows, for the first rows, or --sample" in both.output
    with pytest.raises(CusTextError, match="sample"):
        compare_texts(["alice"], sample=0)


def test_long_texts_are_cut_after_a_word(db: Path) -> None:
    def show(text: str, characters: int) -> str:
        [row] = compare_texts([text], characters=characters).rows
        return "".join(piece.before for piece in row.pieces)

    assert show("alice met bob", 13) == "alice met bob"
    assert show("alice met bob", 12) == show("alice met bob", 10) == "alice met ..."
    assert show("alice met bob", 9) == "alice ..."
    assert show("alicemetbob", 5) == "alice ..."
    assert compare_texts([None], characters=5).rows[0].pieces == []
    with pytest.raises(CusTextError, match="characters must be at least 1; found 0"):
        compare_texts(["alice"], characters=0)
