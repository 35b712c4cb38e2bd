"""Errors about an input say what is wrong without quoting it, and nothing is written."""

import os
import re
from pathlib import Path

import duckdb
import pytest

from custext_sql.errors import SourceError
from custext_sql.files.inputs.source import Source
from tests.files.test_data_files import MARKER, db, folder, run, write_csv
from tests.ledger_entries import list_releases

__all__ = ["db", "folder"]  # fixtures


def test_what_is_wrong_is_said_and_nothing_is_written(db: Path, folder: Path) -> None:
    write_csv(folder / "in.csv")
    (folder / "numbers.csv").write_text("id,body\n1,2\n3,4\n")
    (folder / "malformed.csv").write_text("id,body\n" + "1,alice\n" * 5 + f"2,{MARKER},{MARKER}\n")
    (folder / "malformed.jsonl").write_text('{"body": "alice"}\n' * 5 + f'{{"body": {MARKER}\n')
    (folder / "keys.jsonl").write_text(f'{{"{MARKER}": "has HIV", "Bob": "is well"}}\n')
    (folder / "false.parquet").write_text(MARKER)
    (folder / "headless.csv").write_text(f"1,{MARKER}\n2,{MARKER}\n")
    (folder / "taken.csv").write_text("precious")
    (folder / "strange.bin").write_text("x")
    before = sorted(path.name for path in folder.iterdir())
    for arguments, message in (
        (
            ["in.csv", "out.csv"],
            "--column NAME (in Python: columns=[...]); the file has 4 columns, named in its first line",
        ),
        (
            ["in.csv", "out.csv", "--column", "bdy"],
            "in.csv: column 'bdy' does not exist; the file has 4 columns, named in its first line",
        ),
        (["in.csv", "out.csv", "--column", "body", "--column", "BODY"], "names a column twice"),
        (["numbers.csv", "out.csv", "--column", "body"], "numbers.csv: expected text in column 'body', found BIGINT"),
        (["malformed.csv", "out.csv", "--column", "body"], "malformed.csv, line 7: expected 2 columns, found 3"),
        (
            ["headless.csv", "out.csv", "--column", "name"],
            "headless.csv: column 'name' does not exist; the file has 2 columns",
        ),
        (["malformed.jsonl", "out.jsonl", "--column", "body"], "malformed.jsonl"),
        (
            ["keys.jsonl", "out.jsonl", "--column", MARKER[:-1]],
            "' does not exist; the file has 2 columns, the keys of its objects\n",
        ),
        (["false.parquet", "out.parquet", "--column", "body"], "false.parquet"),
        (["in.csv", "taken.csv", "--column", "body"], "taken.csv already exists; to overwrite it, use --force"),
        (["in.csv", "in.csv", "--column", "body", "--force"], "in.csv is the input"),
        (["in.csv", "no/out.csv", "--column", "body"], "folder no does not exist"),
        (["in.csv", "out.what", "--column", "body"], "its name must end in"),
        (["in.csv", "out.txt", "--column", "body"], "its name must end in"),
        (["nothing.csv", "out.csv", "--column", "body"], "nothing.csv does not exist"),
        (["strange.bin", "out.csv", "--column", "body"], "cannot"),
        (["in.csv"], "in.csv is a file. To sanitize its content: custext sanitize in.csv OUTPUT --column NAME"),
        (["in.csv", "out.csv", "--column", "body", "--eps", "0.0005"], "eps must be 0, or between"),
        (["in.csv", "out.csv", "--column", "body", "--max-row-eps", "-1"], "max_row_eps) must be at least 0"),
        (
            ["in.csv", "out.csv", "--column", "body", "--record-column", "id"],
            "--record-column (in Python: record_column) is for draws from a key",
        ),
        (["in.csv", "out.csv", "--table", "t"], "--data and --table go together"),
        ([], "Expected TEXT, or INPUT and OUTPUT"),
        (["a", "b", "c"], "Expected TEXT, or INPUT and OUTPUT"),
    ):
        result = run("sanitize", *arguments)
        assert result.exit_code != 0 and message in result.output, (arguments, result.output)
        assert MARKER not in result.output and "Traceback" not in result.output
    assert sorted(path.name for path in folder.iterdir()) == before
    assert (folder / "taken.csv").read_text() == "precious"
    assert list_releases(db) == []


def test_columns_are_listed_where_they_are_known_to_be_names(folder: Path) -> None:
    """Names are listed from a schema, and from a file whose first line or keys contain a name that the user typed."""
    columns = {"id": "BIGINT", "body": "VARCHAR", "kind": "ENUM('Alice', 'Bob')", "st": 'STRUCT("Alice" INTEGER)'}
    for format, typed, expected in (
        ("parquet", [], "did you mean 'body'?"),
        ("table", [], "did you mean 'body'?"),
        ("csv", [], "the file has 4 columns, named in its first line"),
        ("csv", ["nothing"], "the file has 4 columns, named in its first line"),
        ("csv", ["ID"], "did you mean 'body'?"),
        ("tsv", ["nothing", "id"], "did you mean 'body'?"),
        ("json", ["id"], "did you mean 'body'?"),
    ):
        with pytest.raises(SourceError, match=f"^in: column 'boddy' does not exist; {re.escape(expected)}$"):
            Source("in", format, "", columns).find_column("boddy", typed)
    with pytest.raises(SourceError, match="column 'x' does not exist; columns: id, body, kind, st$"):
        Source("in", "json", "", columns).find_column("x", ["id"])
    with pytest.raises(SourceError, match="expected text in column 'st', found STRUCT$"):
        Source("in", "table", "", columns).find_text_column("st")


def test_a_table_is_never_a_file(db: Path, folder: Path) -> None:
    """DuckDB reads a file if there is no table of that name, and takes its first line for names."""
    (folder / "in.csv").write_text(f"{MARKER},x\n1,2\n")
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE SCHEMA other; CREATE TABLE other.reviews AS SELECT 'alice' AS body")
        connection.execute(f"CREATE VIEW late AS SELECT '{MARKER}'::INT AS n, 'x' AS body FROM range(3)")
    form = ("sanitize", "--data", "shop.duckdb", "--table")
    refused = run(*form, "in.csv", "clean", "--column", "body")
    assert refused.output == "Error: shop.duckdb: table 'in.csv' does not exist; tables: late, reviews\n"
    assert run(*form, "other.reviews", "clean", "--column", "body").exit_code == 0
    refused = run(*form, "late", "clean_too", "--column", "body")
    assert refused.exit_code == 1 and MARKER not in refused.output


def test_a_text_in_place_of_a_file_is_not_quoted(db: Path, folder: Path) -> None:
    for text in ("Alice has HIV", "Alice [who has HIV]", "has HIV/AIDS, says Alice", "A" * 5000):
        refused = run("sanitize", text, "out.csv", "--column", "body")
        assert (
            "does not exist; its name is not shown" in refused.output or "the input: no file matches" in refused.output
        )
        assert "Alice" not in refused.output and "AAA" not in refused.output
    assert "no/in.csv does not exist" in run("sanitize", "no/in.csv", "out.csv", "--column", "body").output


def test_missing_and_unknown_files_say_what_to_do(db: Path, folder: Path) -> None:
    (folder / "reviews.csv").write_text("id,body\n1,alice\n")
    (folder / "notes.md").write_text("alice\n")
    (folder / "sheet.xlsx").write_text("x")
    duckdb.connect("shop.duckdb").close()
    for name, expected in (
        ("review.csv", "review.csv does not exist; did you mean 'reviews.csv'?"),
        ("other.md", "other.md does not exist"),
        ("sheet.xlsx", "sheet.xlsx: spreadsheets are not supported; save the sheet as CSV"),
        ("shop.duckdb", "a DuckDB file is read by its tables: --data shop.duckdb --table NAME (in Python: "),
        ("notes.md", "or the format: --format csv, tsv, json, parquet or text (in Python: format=...)"),
    ):
        for command in (("sanitize", name, "out.csv", "--column", "body"), ("diff", name, "--column", "body")):
            assert expected in run(*command).output
    assert "is read by its tables" in run("sanitize", "shop.duckdb", "out.csv", "--format", "csv").output
    assert run("sanitize", "notes.md", "out.txt", "--format", "text").exit_code == 0
    assert "- alice" in run("diff", "notes.md", "--format", "text").output


@pytest.mark.slow
def test_long_rows_are_read_up_to_16_megabytes(db: Path, folder: Path) -> None:
    for size, message in (
        (3_000_000, None),
        (17_000_000, "longer than the 16 MB"),
        (70_000_000, "longer than the 16 MB"),
    ):
        text = "alice " * (size // 6)
        (folder / "in.csv").write_text(f"id,body\n1,bob\n2,{text}\n3,carol\n")
        (folder / "in.jsonl").write_text(f'{{"body": "bob"}}\n{{"body": "{text}"}}\n')
        for name in ("in.csv", "in.jsonl"):
            if name == "in.jsonl" and size == 17_000_000:
                continue  # DuckDB reads objects of up to twice its limit, depending on where they start
            done = run("sanitize", name, f"out{Path(name).suffix}", "--column", "body", "--force")
            if message is None:
                assert done.exit_code == 0, done.output
            else:
                assert message in done.output
                assert "max_line_size" not in done.output and "alice" not in done.output


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("command", [("sanitize", "in.txt", "out.txt"), ("leaks", "in.txt"), ("diff", "in.txt")])
def test_a_pipe_is_refused_rather_than_read_as_empty(db: Path, folder: Path, command: tuple[str, ...]) -> None:
    """Its first bytes are gone once the kind of file has been found out; nobody writes to this one."""
    os.mkfifo(folder / "in.txt")
    refused = run(*command)
    assert refused.exit_code == 1 and "in.txt is a pipe or a device, which can be read only once" in refused.output
    assert not (folder / "out.txt").exists() and list_releases(db) == []
