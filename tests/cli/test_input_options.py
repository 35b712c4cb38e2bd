"""Every command takes texts in the same way: INPUT, or --data and --table."""

import json
from pathlib import Path

import click
import duckdb
import pytest

from custext_sql.cli import main
from tests.files.test_data_files import db, folder, run

__all__ = ["db", "folder"]  # fixtures

READERS = {
    "diff": ["diff"],
    "choose": ["choose", "--max-attack", "0.99"],
    "report": ["report", "--json", "--word", "alice"],
    "attack context": ["attack", "context", "--public", "public.txt", "--eps", "1"],
    "attack mask": ["attack", "mask", "--model", "ngram", "--public", "public.txt", "--eps", "1"],
}
OPTIONAL = {"choose", "report"}


@pytest.fixture
def data(db: Path, folder: Path) -> Path:
    """Write the same texts as a file and as a table, and public texts."""
    (folder / "reviews.csv").write_text("id,body\n1,alice met bob\n2,\n3,carol saw dave\n")
    (folder / "public.txt").write_text("erin met frank\nalice saw carol\n")
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE reviews AS FROM 'reviews.csv'")
    return folder


@pytest.mark.parametrize("command", ["choose", "attack context", "attack mask"])
def test_a_table_gives_what_a_file_gives(data: Path, command: str) -> None:
    found = []
    for texts in (["reviews.csv"], ["--data", "shop.duckdb", "--table", "reviews"]):
        result = run(*READERS[command], *texts, "--column", "body", "--json")
        assert result.exit_code in ((0, 1) if command == "choose" else (0,)), result.output
        printed = json.loads(result.stdout)
        if command == "choose":
            del printed["commands"]  # they name the texts
        found.append(json.dumps(printed).replace("shop.duckdb, table reviews", "reviews.csv"))
    assert found[0] == found[1] and "alice" not in found[0]


def test_diff_and_report_read_tables(data: Path) -> None:
    table = ("--data", "shop.duckdb", "--table", "reviews", "--column", "body")
    shown = json.loads(run("diff", *table, "--json").stdout)
    assert [row["before"] for row in shown] == ["alice met bob", None, "carol saw dave"]
    report = json.loads(run("report", *table, "--json", "--word", "alice").stdout)
    assert "shop.duckdb, table reviews" in json.dumps(report)


def test_the_suggested_command_names_the_table(data: Path) -> None:
    usual = ["--column", "body", "--max-attack", "0.99", "--json"]
    result = run("choose", "--data", "shop.duckdb", "--table", "reviews", *usual)
    assert "sanitize --data shop.duckdb --table reviews reviews_sanitized --column body --eps" in result.output
    result = run("choose", "reviews.csv", "--encoding", "latin-1", *usual)
    assert "sanitize reviews.csv --encoding latin-1 reviews.sanitized.csv --column body --eps" in result.output
    result = run("choose", "reviews.csv", "--no-quotes", *usual)
    assert "sanitize reviews.csv --no-quotes reviews.sanitized.csv --column body --eps" in result.output


WRONG = [
    (
        ["--data", "reviews.csv"],
        "--data is for DuckDB files; give text files as INPUT: custext {} reviews.csv --column",
    ),
    (["--data", "reviews.csv", "--table", "t"], "--data is for DuckDB files; give text files as INPUT: custext {}"),
    (["--data", "shop.duckdb"], "--data and --table go together"),
    (["--table", "reviews"], "--data and --table go together"),
    (["reviews.csv", "--table", "reviews"], "--data and --table go together"),
    (
        ["reviews.csv", "--data", "shop.duckdb", "--table", "reviews"],
        "Expected INPUT, or --data and --table; found both",
    ),
    (
        ["--data", "shop.duckdb", "--table", "reviews", "--encoding", "utf-16"],
        "--encoding is for files; a table has none",
    ),
    (
        ["--data", "shop.duckdb", "--table", "reviews", "--no-quotes"],
        "--no-quotes is for files; a table has none",
    ),
    (["--format", "csv"], "--format is for files; give one as INPUT"),
    (["--column", "body"], "--column names a column of your texts"),
    (["shop.duckdb", "--column", "body"], "--data shop.duckdb --table NAME"),
    (["--data", "shop.duckdb", "--table", "review", "--column", "body"], "did you mean 'reviews'?"),
    (["reviews.csv"], "name the column of the texts: --column NAME"),
    (["public.txt", "--column", "body"], "plain text has no columns; leave out --column"),
    (["-"], "save the data to a file first"),
]


@pytest.mark.parametrize("command", READERS)
def test_wrong_combinations_are_explained(data: Path, command: str) -> None:
    for arguments, message in WRONG:
        result = run(*READERS[command], *arguments)
        assert result.exit_code in (1, 2)
        assert message.format(command) in " ".join(result.output.split()), (arguments, result.output)
    if command not in OPTIONAL:
        assert "Expected INPUT: a file, a folder or a quoted pattern" in run(*READERS[command]).output


def test_evaluations_read_two_tables(data: Path) -> None:
    pytest.importorskip("sklearn")
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE train AS SELECT 'alice' || ' bob' AS body, range % 2 AS label FROM range(8)")
    command = ("evaluate", "utility", "--mechanisms", "original", "--seeds", "1", "--text", "body")
    tables = ("--train-table", "train", "--test-table", "train")
    result = run(*command, "--data", "shop.duckdb", *tables)
    assert result.exit_code == 0 and "8 training rows, 8 test rows" in result.output
    for options, message in (
        (["--data", "reviews.csv", *tables], "give files of texts with --train FILE and --test FILE"),
        (["--data", "shop.duckdb", "--train-table", "train"], "--data, --train-table and --test-table go together"),
        (["--data", "shop.duckdb", *tables, "--train", "reviews.csv"], "found several"),
        (["--data", "shop.duckdb", "--train-table", "train", "--test-table", "test"], "table 'test' does not exist"),
    ):
        result = run(*command, *options)
        assert result.exit_code in (1, 2) and message in " ".join(result.output.split()), result.output


def test_no_option_means_two_things() -> None:
    """--data is a DuckDB file everywhere, and --column refers to the user's texts, never to --public."""

    def walk(command: click.Command) -> list[click.Parameter]:
        if isinstance(command, click.Group):
            return [one for inner in command.commands.values() for one in walk(inner)]
        return [one for one in command.params if isinstance(one, click.Option)]

    for option in walk(main):
        said = getattr(option, "help", None) or ""
        if "--data" in option.opts:
            assert "DuckDB file" in said
        if "--column" in option.opts:
            assert "--public" not in said
