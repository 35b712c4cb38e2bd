"""JSON files in and out: arrays stay arrays, lines stay lines, and no value is lost."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from custext_sql import sanitize_file
from custext_sql.errors import SourceError

ROWS: list[dict[str, Any]] = [
    {"id": 1, "body": "alice met bob", "tags": ["x", {"deep": [1, 2.5, None]}], "big": 12345678901234567890},
    {"body": "carol", "id": 2, "extra": {"z": 1, "a": 'é " \\ \n'}},
    {"id": 3, "body": None},
]


@pytest.fixture
def folder(mapped_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUSTEXT_DB", str(mapped_db))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def write_array(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    path.write_text(json.dumps(rows, indent=2, ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def check_rows(found: list[dict[str, Any]]) -> None:
    """Check that all values but the texts are those of ROWS; keys that an object lacks are null."""
    assert [row.pop("body") is None for row in found] == [False, False, True]
    assert [{key: value for key, value in row.items() if value is not None} for row in found] == [
        {key: value for key, value in row.items() if key != "body"} for row in ROWS
    ]


@pytest.mark.parametrize(
    ("source", "name"),
    [("in.json", "out.json.gz"), ("in.json", "out.ndjson"), ("in.json", "out.jsonl.gz"), ("in.jsonl", "out.json")],
)
def test_arrays_stay_arrays_and_names_for_lines_get_lines(folder: Path, source: str, name: str) -> None:
    sanitize_file((write_array if source == "in.json" else write_lines)(folder / source), name, columns="body")
    written = (folder / name).read_bytes()
    content = (gzip.decompress(written) if name.endswith(".gz") else written).decode()
    if name == "out.json.gz":
        found = json.loads(content)
        assert [list(row) for row in found] == [["id", "body", "tags", "big", "extra"]] * 3  # in the order of the input
    else:
        found = [json.loads(line) for line in content.splitlines()]
    check_rows(found)


def test_a_folder_of_arrays_becomes_one_array(folder: Path) -> None:
    (folder / "parts").mkdir()
    for name, row in zip(("a", "b", "c"), ROWS, strict=True):
        write_array(folder / "parts" / f"{name}.json", [row])
    sanitize_file("parts", "out.json", columns="body")
    check_rows(json.loads((folder / "out.json").read_text(encoding="utf-8")))
    write_lines(folder / "parts" / "d.json")
    sanitize_file("parts", "mixed.json", columns="body")
    assert len(read_lines(folder / "mixed.json")) == 6


def test_an_array_from_a_stream_stays_one(folder: Path) -> None:
    output = io.BytesIO()
    given = b"\xef\xbb\xbf" + b"\n" * 5000 + write_array(folder / "in.json").read_bytes() + b" " * 5000
    sanitize_file(io.BytesIO(given), output, format="json", columns="body")
    check_rows(json.loads(output.getvalue()))


def test_arrays_become_rows_of_other_formats(folder: Path) -> None:
    sanitize_file(write_array(folder / "in.json"), "out.csv", columns="body")
    assert (folder / "out.csv").read_text(encoding="utf-8").startswith("id,body,tags,big,extra\n1,")


def test_an_array_that_is_cut_off_is_refused(folder: Path) -> None:
    """DuckDB reads it up to there, so that rows would be missing without a word."""
    path = write_array(folder / "in.json")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(SourceError, match=r"in\.json: the array of JSON objects does not end with \]"):
        sanitize_file(path, "out.json", columns="body")


@pytest.mark.parametrize("content", ["[]", "[1, 2]", "[{}]"])
def test_an_array_without_objects_is_refused(folder: Path, content: str) -> None:
    (folder / "in.json").write_text(content, encoding="utf-8")
    with pytest.raises(SourceError, match=r"found no JSON objects with keys; expected one object per line"):
        sanitize_file("in.json", "out.json", columns="body")
