"""The lines that reproduce the settings of the page do so, with any names of files and columns."""

import contextlib
import csv
import io
import json
import shlex
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from custext_sql.playground.requests import Choice, SettingsRequest
from custext_sql.playground.serving import Address
from custext_sql.playground.snippets import write_snippets
from tests.conftest import copy_database
from tests.files.test_data_files import run
from tests.playground.requesting import ask, connect

SENTENCE = "My doctor said the surgery went well."
TEXTS = ["My doctor said the surgery went well.", "zorglub called 98765 times", "Write to a@b.org", "The FAMILY's film"]
POLICIES: list[dict[str, str]] = [
    {"name": "strict"},
    {"name": "strict", "unknown": "keep", "case": "match"},
    {"name": "paper", "numbers": "keep"},
    {"name": "paper", "numbers": "mask", "unknown": "mask", "units": "mask", "case": "lower"},
]
SETTINGS: list[dict[str, Any]] = [
    {"eps": 0, "plus": plus, "mapping": mapping, "calibration": calibration, "policy": policy}
    for (mapping, plus, calibration), policy in zip(
        product([None, "starter-euclidean-k5"], [False, True], ["paper"]), POLICIES, strict=True
    )
] + [{"eps": 0, "calibration": "tight", "policy": {"name": "strict", "numbers": "keep", "units": "keep"}}]
ODD_NAMES = [
    ('it\'s a "file".csv', 'the "body" isn\'t'),
    ("-rf.csv", "-body"),
    ("$HOME `id`.csv", "$x `y` \\z"),
    ("a[1]*?.csv", "select"),
    ("wow!.csv", "order by 1;"),
    ("ünï 日本.2024.csv", "ä b\tc"),
    ("new\nline.csv", "Case"),
]


@pytest.fixture(scope="module")
def client(playground: Address) -> Iterator[httpx.Client]:
    with connect(playground) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path, served_db: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, in which a copy of the database has a name with quotes and spaces."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    copy_database(served_db, tmp_path / "work" / "my 'own'.duckdb")
    return tmp_path / "work"


def write_rows(path: Path, column: str) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", column), *enumerate(TEXTS)])


def sanitize(client: httpx.Client, text: str, settings: dict[str, Any]) -> str:
    return str(ask(client, "sanitize", text=text, settings=settings)["after"])


def write(settings: dict[str, Any], database: Path | None, **names: str | None) -> dict[str, str]:
    return write_snippets(SettingsRequest.model_validate({"settings": settings, **names}), database)


def run_python(code: str) -> str:
    """Run lines of Python, and return what they print."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "snippet", "exec"), {})
    return printed.getvalue().removesuffix("\n")


def run_command(line: str, *options: str) -> str:
    """Run a line as a shell reads it, in this process, and return what it prints."""
    read = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, text=True, check=True)
    name, *arguments = read.stdout.removesuffix("\0").split("\0")
    assert name == "custext"
    done = run(*arguments, *options)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "is_named"), [*zip(SETTINGS, [True, False] * 3, strict=False)])
def test_every_snippet_gives_what_the_page_shows(
    client: httpx.Client, folder: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], is_named: bool
) -> None:
    database = folder / "my 'own'.duckdb"
    if not is_named:
        monkeypatch.setenv("CUSTEXT_DB", str(database))
    write_rows(folder / "reviews.csv", "body")
    lines = write(settings, database if is_named else None)
    expected = [sanitize(client, text, settings) for text in TEXTS]
    assert (
        run_python(lines["python"]) == run_python(lines["spacy"]) == expected[0] == sanitize(client, SENTENCE, settings)
    )
    run_command(lines["command"])
    with (folder / "reviews.sanitized.csv").open(newline="", encoding="utf-8") as file:
        assert [row[1] for row in csv.reader(file)] == ["body", *expected]
    assert [row["body"] for row in json.loads(run_command(lines["sql"], "--json"))] == expected


@pytest.mark.slow
@pytest.mark.parametrize(("file", "column"), ODD_NAMES)
def test_names_of_files_and_columns_are_quoted(client: httpx.Client, folder: Path, file: str, column: str) -> None:
    write_rows(folder / file, column)
    lines = write({"eps": 0}, folder / "my 'own'.duckdb", file=file, column=column)
    expected = [sanitize(client, text, {"eps": 0}) for text in TEXTS]
    run_command(lines["command"])
    output = folder / f"{file.removesuffix('.csv')}.sanitized.csv"
    with output.open(newline="", encoding="utf-8") as found:
        assert [row[1] for row in csv.reader(found)] == [column, *expected]
    output.unlink()  # it may fit the pattern
    assert [row[column] for row in json.loads(run_command(lines["sql"], "--json"))] == expected


@pytest.mark.slow
def test_every_format_has_its_lines(client: httpx.Client, folder: Path) -> None:
    expected = [sanitize(client, text, {"eps": 0}) for text in TEXTS]
    rows = "".join(f"{json.dumps({'body': text})}\n" for text in TEXTS)
    (folder / "a.jsonl").write_text(rows)
    (folder / "a.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    (folder / "B.TXT").write_text("".join(f"{text}\n" for text in TEXTS))
    pq.write_table(pa.table({"body": TEXTS}), folder / "a.parquet")
    (folder / "a.tsv").write_text("body\n" + "".join(f"{text}\n" for text in TEXTS))
    for file in ("a.jsonl", "a.parquet", "a.tsv", "a.txt", "B.TXT"):
        column = None if file.lower().endswith("txt") else "body"
        lines = write({"eps": 0}, folder / "my 'own'.duckdb", file=file, column=column)
        assert [row[column or "line"] for row in json.loads(run_command(lines["sql"], "--json"))] == expected
        run_command(lines["command"])
        assert (folder / f"{file[0]}.sanitized{file[1:]}").exists()


@pytest.mark.parametrize("eps", [0.0, 0.001, 0.1, 1 / 3, 1.0, 12.345678901234567, 99.99999999999999, 100.0])
def test_eps_is_written_with_all_of_its_digits(eps: float) -> None:
    lines = write_snippets(SettingsRequest(settings=Choice(eps=eps)), None)
    arguments = shlex.split(lines["command"])
    assert float(arguments[arguments.index("--eps") + 1]) == eps
    assert f"eps={eps!r}" in lines["python"] and f'"eps": {eps!r}' in lines["spacy"]
    assert float(lines["sql"].split(", ")[1]) == eps


def test_defaults_are_not_written() -> None:
    assert write_snippets(SettingsRequest(), None) == {
        "command": "custext sanitize reviews.csv reviews.sanitized.csv --column body --eps 1",
        "sql": "custext sql \"SELECT custext_sanitize(body, 1, false) AS body FROM 'reviews.csv'\"",
        "python": "from custext_sql import Sanitizer\n\nsanitizer = Sanitizer.load(eps=1.0, plus=False)\n"
        f'print(sanitizer.sanitize("{SENTENCE}"))',
        "spacy": 'import spacy\n\nnlp = spacy.blank("en")\n'
        'nlp.add_pipe("custext", config={"eps": 1.0, "plus": False})\n'
        f'print(nlp("{SENTENCE}")._.custext)',
    }
