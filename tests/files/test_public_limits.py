"""Settings and inputs that the public functions refuse."""

import io
from pathlib import Path
from typing import Any

import pytest

from custext_sql import CusTextError, Dataset, read_ledger, sanitize_file, sanitize_table
from custext_sql.errors import BudgetError
from custext_sql.files.line_releases import sanitize_text
from tests.files.test_data_files import db, folder
from tests.files.test_public_api import data, list_entries

__all__ = ["data", "db", "folder"]  # fixtures


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["max_row_eps", "budget_total"])
def test_limits_are_kept(db: Path, data: Path, limit: str) -> None:
    """The largest row of parts and the text have three words; a row of the table has two."""

    def sanitize_parts(bound: dict[str, Any]) -> object:
        return sanitize_file("parts", "x.csv", columns="body", **bound)

    def sanitize_reviews(bound: dict[str, Any]) -> object:
        return sanitize_table("shop.duckdb", "reviews", "x", columns="body", **bound)

    def sanitize_argument(bound: dict[str, Any]) -> object:
        return sanitize_text("alice bob carol", dataset="one", **bound)

    ways = ((sanitize_parts, 3.0), (sanitize_reviews, 2.0), (sanitize_argument, 3.0))
    for sanitize, spent in ways:
        with pytest.raises(BudgetError):
            sanitize({limit: spent - 0.5})
    assert list_entries(db) == [] and not (data / "x.csv").exists()
    for sanitize, spent in ways:
        sanitize({limit: spent})
    assert [entry["largest_row_eps"] for entry in list_entries(db)] == [3.0, 2.0, 3.0]


def closed_stream() -> io.BytesIO:
    stream = io.BytesIO(b"alice\n")
    stream.close()
    return stream


@pytest.mark.parametrize(
    "given, message",
    [
        ({"input": 5}, "input must be a path or a binary stream; found int"),
        ({"input": b"in.txt"}, "input must be a path or a binary stream; found bytes"),
        ({"output": object()}, "output must be a path or a binary stream; found object"),
        ({"input": closed_stream()}, "input must be an open stream"),
        ({"output": closed_stream()}, "output must be an open stream"),
        ({"max_row_eps": "3"}, r"--max-row-eps \(in Python: max_row_eps\) must be a number; found str"),
        ({"budget_total": True}, r"--budget-total \(in Python: budget_total\) must be a number; found bool"),
        ({"columns": [1]}, "columns must be names of columns; found int"),
        ({"columns": 5}, "columns must be a name or a list of names; found int"),
        ({"record_column": 5}, "record_column must be the name of a column; found int"),
        ({"encoding": 5}, "encoding must be a name such as latin-1; found int"),
        ({"format": "xls"}, "format 'xls' does not exist; formats: csv, tsv, json, parquet, text"),
        ({"format": "cvs"}, "format 'cvs' does not exist; did you mean 'csv'?"),
        ({"dataset": 5}, "the name of the dataset must be a string; found int"),
        (
            {"dataset": Dataset("d", 100), "budget_total": 0},
            "set budget_total, second_mapping and reuse_key in the given Dataset",
        ),
    ],
)
def test_what_cannot_be_released_is_said_and_not_entered(db: Path, folder: Path, given: Any, message: str) -> None:
    (folder / "in.txt").write_text("alice\n")
    arguments = {"input": "in.txt", "output": "out.txt", **given}
    with pytest.raises(CusTextError, match=message):
        sanitize_file(**arguments)
    assert read_ledger().releases == [] and not (folder / "out.txt").exists()


def test_a_dataset_may_be_given_whole(db: Path, folder: Path) -> None:
    (folder / "in.txt").write_text("alice bob\n")
    sanitize_file("in.txt", "out.txt", dataset=Dataset("d", budget_total=3))
    with pytest.raises(CusTextError, match="more than --budget-total 3"):
        sanitize_file("in.txt", "more.txt", dataset=Dataset("D", budget_total=3))
