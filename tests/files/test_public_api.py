"""The Python functions release the same as the command line: equal outputs, ledger rows and limits."""

import inspect
import io
import json
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import duckdb
import pytest

from custext_sql import CusTextError, Dataset, Policy, Sanitizer, make_key, read_ledger, sanitize_file, sanitize_table
from custext_sql.cli.releases import sanitize_command
from custext_sql.errors import PrivacyWarning, ReleaseWarning, SettingError
from custext_sql.files.line_releases import sanitize_text
from custext_sql.files.opening import ReleaseOptions, ReleaseReport
from tests.files.test_data_files import db, folder, run, write_csv

__all__ = ["db", "folder"]  # fixtures

OPTIONS = set(ReleaseOptions.__annotations__)
LINES = b"Alice met Bob\r\nthe carol dave\n\nlast"
_OWN = {"release_id", "run_id", "started_at", "completed_at", "outputs"}  # what no two releases share


@pytest.fixture
def data(db: Path, folder: Path) -> Path:
    """Write texts in every format, and a key."""
    write_csv(folder / "in.csv")
    (folder / "in.txt").write_bytes(LINES)
    (folder / "in.jsonl").write_text('{"id": 1, "body": "alice bob"}\n{"id": 2, "body": null}\n')
    (folder / "parts").mkdir()
    for number in range(3):
        (folder / "parts" / f"{number}.csv").write_text(f"id,body\n{number},alice bob carol\n")
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE reviews AS SELECT i AS id, 'alice bob' AS body FROM range(50) r(i)")
        connection.execute("CREATE TABLE odd AS SELECT 1 AS id, 'alice Zzyzxa' AS body")
    make_key("k", db, eps=2.0, plus=True)
    return folder


def list_entries(db: Path) -> list[dict[str, Any]]:
    """Return the rows of the ledger without the fields that differ between any two releases."""
    rows = read_ledger(db).to_dict()["releases"]
    return [{name: value for name, value in row.items() if name not in _OWN} for row in rows]


def as_json(report: ReleaseReport) -> Any:
    """Return a receipt as JSON gives it back, with lists in place of tuples."""
    return json.loads(json.dumps(report.receipt.to_dict()))


def release(*arguments: Any, seed: int = 1, **options: Any) -> ReleaseReport:
    """Call `sanitize_file` with repeatable draws."""
    with pytest.warns(PrivacyWarning, match="seed"):
        return sanitize_file(*arguments, seed=seed, **options)


def test_streams_and_files_mix(db: Path, data: Path) -> None:
    written = io.BytesIO()
    release("in.csv", written, columns="body")
    release(io.BytesIO((data / "in.csv").read_bytes()), "out.csv", columns="body", format="csv")
    assert (data / "out.csv").read_bytes() == written.getvalue()
    with pytest.raises(SettingError, match="must be a binary stream"):
        sanitize_file(io.StringIO("alice"), "x.txt")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="must be a binary stream"):
        sanitize_file("in.txt", io.StringIO())  # type: ignore[arg-type]


def test_a_dash_is_the_standard_stream(db: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES)))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written))
    assert release("-", "-").rows == 4
    release("in.txt", "out.txt")
    assert written.getvalue() == (data / "out.txt").read_bytes()


def test_keys_bring_their_settings(db: Path, data: Path) -> None:
    keyed = ("--column", "body", "--key-file", "k", "--record-column", "id")
    assert run("sanitize", "in.csv", "one.csv", *keyed).exit_code == 0
    report = sanitize_file("in.csv", "two.csv", columns="body", key_file="k", record_column="id")
    assert (data / "one.csv").read_bytes() == (data / "two.csv").read_bytes()
    first, second = list_entries(db)
    assert first == second and (first["eps"], first["plus"], first["draws"]) == (2.0, True, "keyed")
    assert report.receipt.eps == 2.0
    make_key("other", db, eps=2.0, plus=True)
    (data / "many.csv").write_text("id,body\n" + "".join(f"{number},alice bob carol\n" for number in range(40)))
    for key in ("k", "other"):
        dataset = Dataset("many", reuse_key=True)
        sanitize_file("many.csv", key + ".csv", columns="body", key_file=key, record_column="id", dataset=dataset)
    assert (data / "k.csv").read_bytes() != (data / "other.csv").read_bytes()
    with pytest.raises(CusTextError, match="this key is for eps = 2"):
        sanitize_file("in.csv", "x.csv", columns="body", key_file="k", record_column="id", eps=1.0)
    with pytest.raises(SettingError, match="need a column of IDs.*record_column="):
        sanitize_file("in.csv", "x.csv", columns="body", key_file="k")


@pytest.mark.parametrize(("function", "places"), [(sanitize_file, 2), (sanitize_table, 3)])
def test_everything_that_is_given_is_used(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., object], places: int
) -> None:
    used: dict[str, object] = {}

    def open_release(name: str, **options: object) -> None:
        used.update(options)
        raise InterruptedError

    monkeypatch.setattr(f"{function.__module__}.open_release", open_release)
    given = {name: object() for name in OPTIONS}
    with pytest.raises(InterruptedError):
        function(*["x"] * places, **given)
    assert used == given


def test_a_release_takes_every_setting_of_a_sanitizer() -> None:
    settings = set(inspect.signature(Sanitizer.load).parameters)
    limits = {"columns", "record_column", "max_row_eps", "budget_total", "dataset", "second_mapping", "reuse_key"}
    assert settings | limits == set(OPTIONS) and not settings & limits


def test_the_command_offers_what_the_functions_take() -> None:
    offered = {str(parameter.name) for parameter in sanitize_command.params}
    taken = {name for function in (sanitize_file, sanitize_table) for name in inspect.signature(function).parameters}
    taken = taken - {"options"} | OPTIONS
    assert taken - offered == {"input", "output", "progress", "database", "quotes", "ledger"}
    parts = {field.name for field in fields(Policy)} - {"invisible"}
    assert offered - taken == {"arguments", "as_json", "no_quotes"} | parts


def test_what_passes_is_told_in_warnings(db: Path, data: Path) -> None:
    """Unexpected warnings fail tests, so this also shows that the strict policy gives none."""
    strict = sanitize_file("in.txt", "strict.txt", eps=0)  # each line has a word that changes
    assert strict.receipt.warnings == ()
    with pytest.warns(ReleaseWarning) as caught:
        report = sanitize_file("in.csv", "paper.csv", columns="body", policy="paper")
    assert [str(warning.message) for warning in caught] == list(report.receipt.warnings) != []
    assert {Path(warning.filename).name for warning in caught} == {Path(__file__).name}
    with pytest.warns(ReleaseWarning, match="1 word .* passed unchanged"):
        sanitize_table("shop.duckdb", "odd", "clean", columns="body", policy="paper")
    with pytest.warns(ReleaseWarning, match="1 word .* passed unchanged"):
        sanitize_text("alice Zzyzxa", policy="paper")


def test_the_command_prints_every_warning_once(db: Path, data: Path) -> None:
    shown = run("sanitize", "in.csv", "paper.csv", "--column", "body", "--policy", "paper", "--seed", "1").stderr
    lines = [line for line in shown.splitlines() if line.startswith("Warning: ")]
    assert len(lines) == len(set(lines)) and "seed" in lines[0] and len(lines) > 1
    assert shown.splitlines()[0] == lines[0]  # printed before the work is done
    assert shown.index(lines[1]) > shown.index("replaced")  # printed with the receipt


def test_one_text_is_entered_in_the_ledger(db: Path, data: Path) -> None:
    with pytest.warns(PrivacyWarning, match="seed"):
        text, report = sanitize_text("alice bob", seed=1, database=db)
    told = json.loads(run("sanitize", "alice bob", "--seed", "1", "--json").stdout)
    assert told == {"text": text, "receipt": as_json(report)} and text != "alice bob"
    first, second = list_entries(db)
    assert first == second and first["dataset"] == "<argument>"


def closed_stream() -> io.BytesIO:
    stream = io.BytesIO(b"alice\n")
    stream.close()
    return stream


@pytest.mark.parametrize(
    "given, message",
    [
        ({"input": 5}, "input must be a path or a binary stream; found int"),
        ({"output": object()}, "output must be a path or a binary stream; found object"),
        ({"input": closed_stream()}, "input must be an open stream"),
        ({"max_row_eps": "3"}, r"--max-row-eps \(in Python: max_row_eps\) must be a number; found str"),
        ({"budget_total": True}, r"--budget-total \(in Python: budget_total\) must be a number; found bool"),
        ({"columns": [1]}, "columns must be names of columns; found int"),
        ({"record_column": 5}, "record_column must be the name of a column; found int"),
        ({"encoding": 5}, "encoding must be a name such as latin-1; found int"),
        ({"format": "cvs"}, "format 'cvs' does not exist; did you mean 'csv'?"),
        ({"dataset": 5}, "the name of the dataset must be a string; found int"),
        (
            {"dataset": Dataset("d", 100), "budget_total": 0},
            "set budget_total, second_mapping and reuse_key in the given Dataset",
        ),
    ],
)
def test_what_cannot_be_released_is_said_and_not_entered(db: Path, data: Path, given: Any, message: str) -> None:
    arguments = {"input": "in.txt", "output": "out.txt", **given}
    with pytest.raises(CusTextError, match=message):
        sanitize_file(**arguments)
    assert list_entries(db) == [] and not (data / "out.txt").exists()


def test_a_dataset_may_be_given_whole(db: Path, data: Path) -> None:
    sanitize_file("in.txt", "out.txt", dataset=Dataset("d", budget_total=3))
    with pytest.raises(CusTextError, match="more than --budget-total 3"):
        sanitize_file("in.txt", "more.txt", dataset=Dataset("D", budget_total=3))
