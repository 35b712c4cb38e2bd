"""The user's texts are the same, however they are named: files, tables, sequences."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from custext_sql import DataFiles, DataTable
from custext_sql.errors import CusTextError, SettingError, SourceError
from custext_sql.files.inputs import encodings
from custext_sql.files.inputs.texts import has_columns, list_columns, list_texts, stream_rows, stream_texts

TEXTS = ['a "b", c', None, "d\te", "naïve 😀", "2020-1-5"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder, the current one, with the same rows in every format."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"0{number}", "body": text} for number, text in enumerate(TEXTS)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with duckdb.connect("shop.duckdb") as connection:
        kinds = "{'id': 'VARCHAR', 'body': 'VARCHAR'}"
        reader = f"read_json('in.jsonl', format = 'newline_delimited', columns = {kinds})"
        connection.execute(f"CREATE TABLE reviews AS FROM {reader}")
        connection.execute("CREATE SCHEMA other; CREATE VIEW other.some AS FROM main.reviews LIMIT 2")
        for name in ("in.csv", "in.parquet", "in.json"):
            connection.execute(f"COPY reviews TO '{name}'")
    (tmp_path / "in.txt").write_text("one\r\ntwo\nthree")
    return tmp_path


EVERY: dict[str, Any] = {
    "CSV": "in.csv",
    "JSON lines": Path("in.jsonl"),
    "JSON": "in.json",
    "Parquet": "in.parquet",
    "a pattern": "*.csv",
    "a table in capitals": DataTable(Path("shop.duckdb"), "main.REVIEWS"),
    "files": DataFiles("in.csv", format="csv", encoding="utf-8"),
}


@pytest.mark.parametrize("named", EVERY)
def test_the_same_rows_are_read_however_they_are_named(folder: Path, named: str) -> None:
    data = EVERY[named]
    assert list_texts(data, "body") == TEXTS
    assert list_texts(data, "BODY", 2) == TEXTS[:2]
    [block] = stream_rows(data, "BODY", "id")
    assert block.texts.to_arrow().to_pylist() == TEXTS and block.column == "body"
    assert block.ids is not None and block.ids.to_pylist() == ["00", "01", "02", "03", "04"]
    assert has_columns(data)


def test_lines_keep_their_ends_and_a_sequence_needs_no_file(folder: Path) -> None:
    assert list_texts("in.txt", None) == ["one\r\n", "two\n", "three"]
    (folder / "more").mkdir()
    for name in ("1.txt", "2.txt"):
        (folder / "more" / name).write_text(f"line of {name}\n")
    assert list_texts("more", None) == ["line of 1.txt\n", "line of 2.txt\n"]
    assert not has_columns("more") and not has_columns("in.txt") and not has_columns(["one"])
    assert list_texts(["one", None, "two"], None, 2) == ["one", None]


def test_formats_and_encodings_are_named_beside_the_path(folder: Path) -> None:
    (folder / "export.dat").write_bytes("id;body\n1;café\n".encode("utf-16"))
    assert list_texts(DataFiles("export.dat", format="csv", encoding="utf-16"), "body") == ["café"]
    with pytest.raises(CusTextError, match="cannot tell the format"):
        list_texts(DataFiles("export.dat", encoding="utf-16"), "body")
    with pytest.raises(CusTextError, match="not UTF-8"):
        list_texts(DataFiles("export.dat", format="csv"), "body")


def test_a_table_is_read_in_blocks_and_left_alone_afterwards(folder: Path) -> None:
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE many AS SELECT 'text ' || range AS body FROM range(10000)")
    table = DataTable("shop.duckdb", "many")
    blocks = list(stream_texts(table, "body"))
    assert len(blocks) > 3 and max(map(len, blocks)) <= 2048
    assert list_texts(table, "body") == [f"text {number}" for number in range(10000)]
    assert list_texts(table, "body", 3000) == [f"text {number}" for number in range(3000)]
    with duckdb.connect("shop.duckdb") as connection:  # no reader that stopped early has it open
        connection.execute("DROP TABLE many")


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "no column": (
        lambda: list_texts(DataTable("shop.duckdb", "reviews"), None),
        r"name the column of the texts: --column NAME \(in Python: column=\.\.\.\); columns: id, body",
    ),
    "a column of lines": (
        lambda: list_texts("in.txt", "body"),
        r"plain text has no columns; leave out --column \(in Python: column\)",
    ),
    "a column of a sequence": (lambda: list_texts(["one"], "body"), "a sequence of texts has no columns"),
    "a number": (lambda: list_texts(1, None), "expected the path of a file, a DataTable or a sequence of texts"),  # type: ignore[arg-type]
    "a file for a table": (lambda: list_texts(DataTable("in.csv", "t"), "body"), "in.csv is not a DuckDB file"),
    "a table that is no name": (
        lambda: list_texts(DataTable("shop.duckdb", 1), "body"),  # type: ignore[arg-type]
        "table must be a name; found int",
    ),
    "standard input": (lambda: list_texts("-", None), "save the data to a file first"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_inputs_are_explained(folder: Path, case: str) -> None:
    call, message = WRONG[case]
    with pytest.raises(CusTextError, match=message):
        call()


def test_a_custext_database_has_no_texts(mapped_db: Path) -> None:
    with pytest.raises(CusTextError, match="is a custext database; expected a DuckDB file with your texts"):
        list_texts(DataTable(mapped_db, "mappings"), "name")


def test_columns_are_those_that_a_release_reads(folder: Path) -> None:
    for name in ("in.csv", "in.jsonl", "in.json", "in.parquet", Path("in.csv"), DataFiles("*.csv")):
        assert list_columns(name) == ["id", "body"]
    assert list_columns(DataTable("shop.duckdb", "other.some")) == ["id", "body"]
    assert list_columns("in.txt") == list_columns(DataFiles("in.csv", format="text")) == []
    with pytest.raises(SourceError, match="none.csv"):
        list_columns("none.csv")
    with pytest.raises(SettingError, match="expected the path of a file, DataFiles or a DataTable; found list"):
        list_columns(["in.csv"])  # type: ignore[arg-type]


def test_lines_are_those_of_the_file_wherever_it_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["a\n", "\n", "b\r\n", "c\rd\n", "naïve\n", "the end"]
    (tmp_path / "in.txt").write_bytes("".join(lines).encode())
    for size in range(1, 30):
        monkeypatch.setattr(encodings, "_CHUNK", size)
        assert list_texts(tmp_path / "in.txt", None) == lines


def test_a_line_that_memory_cannot_hold_is_refused(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "in.txt.gz", "wb", compresslevel=1) as file:
        file.write(b"a short line\n")
        for _ in range(20):
            file.write(bytes(1 << 20))
    with pytest.raises(SourceError, match=r"in\.txt\.gz: a line is longer than the 16 MB"):
        list_texts(tmp_path / "in.txt.gz", None)
