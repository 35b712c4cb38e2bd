"""SQL from the command line: tables are shown, and files are complete or absent."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result

from custext_sql import Sanitizer, build_mapping, load_mapping, use_mapping
from custext_sql.cli import main
from custext_sql.errors import CusTextError
from custext_sql.files import query_releases
from custext_sql.files.query_releases import ReleasingQuery
from custext_sql.store import outputs
from tests.ledger_entries import list_releases
from tests.processes import start, wait_for


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE reviews AS SELECT range AS id, 'zq alice' AS body FROM range(250)")
    return path


def test_a_table_of_a_file_is_shown(mapped_db: Path, data: Path) -> None:
    query = "SELECT id, custext_sanitize(body, 1, true) AS body FROM reviews LIMIT 2"
    result = run("--db", mapped_db, "sql", query, "--data", data)
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["id", "body"]
    assert lines[1].startswith(" 0  <unk> ")
    assert len(lines) == 3
    assert "unknown words masked" in result.stderr


def test_a_long_result_is_cut_and_says_so(mapped_db: Path, data: Path) -> None:
    result = run("--db", mapped_db, "sql", "FROM reviews", "--data", data)
    assert len(result.stdout.splitlines()) == 101
    assert result.stderr == "Only the first 100 rows are shown; for all rows, use --output FILE or --json\n"
    assert len(json.loads(run("--db", mapped_db, "sql", "FROM reviews", "--data", data, "--json").stdout)) == 250


def test_json_shows_every_type(mapped_db: Path) -> None:
    query = (
        "SELECT 1 AS a, 1.5::DECIMAL(4,2) AS b, DATE '2020-01-02' AS c, NULL AS d, [1, 2] AS e, 2 AS a, false AS f, "
    )
    query += (
        "MAP {DATE '2020-01-01': 3} AS g, 'nan'::DOUBLE AS h, INTERVAL 3 MONTH AS i, TIMESTAMPTZ '2020-01-01 00:00Z' j"
    )
    [row] = json.loads(run("--db", mapped_db, "sql", query, "--json").output)
    assert row.pop("j").startswith("20")
    assert row == {
        "a": 1,
        "b": 1.5,
        "c": "2020-01-02",
        "d": None,
        "e": [1, 2],
        "a_1": 2,
        "f": False,
        "g": {"2020-01-01": 3},
        "h": "NaN",
        "i": "3 months",
    }
    assert run("--db", mapped_db, "sql", query).exit_code == 0


def test_it_takes_exactly_one_query(mapped_db: Path) -> None:
    several = run("--db", mapped_db, "sql", "SELECT 1; SELECT 2")
    assert several.output == (
        "Error: expected one query, found 2 statements; put earlier steps into a WITH clause, or use "
        "custext_sql.connect() in Python\n"
    )
    for nothing in ("  ", ";", "-- nothing"):
        assert "the query is empty" in run("--db", mapped_db, "sql", "--", nothing).output
    assert run("--db", mapped_db, "sql", "SELECT true AS Success").output.split() == ["Success", "true"]


def test_the_variables_of_the_program_are_no_tables(mapped_db: Path) -> None:
    assert "Table with name connection does not exist" in run("--db", mapped_db, "sql", "FROM connection").output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("PIVOT reviews ON id IN (1, 2) USING count(*) GROUP BY body", 1),
        ("SELECT 1; -- done", 1),
        ("SELECT 1 /* ; */ ; /* the\nend */", 1),
        ("SELECT 'a; --b' AS \"c; --d\" -- e;", 1),
        ("SELECT 'a\\' AS b ;--c", 1),
        ("SELECT id FROM reviews -- ends at the return\rWHERE id < 7 -- a;\r\n;-- b\r", 7),
        ("WITH a AS (SELECT 1) FROM a", 1),
        ("DESCRIBE reviews", 2),
        ("SUMMARIZE reviews", 2),
        ("VALUES (1), (2)", 2),
    ],
)
def test_queries_of_any_form_are_written(mapped_db: Path, data: Path, tmp_path: Path, query: str, rows: int) -> None:
    result = run(
        "--db", mapped_db, "sql", query, "--data", data, "--output", tmp_path / "out.csv", "--json", "--allow-raw"
    )
    assert json.loads(result.stdout)["rows"] == rows
    assert run("--db", mapped_db, "sql", query, "--data", data).exit_code == 0


def test_what_cannot_be_written_is_said_before_anything_runs(mapped_db: Path, tmp_path: Path) -> None:
    for output, message in (
        ("out.txt", "out.txt: cannot tell the format; expected a name that ends in .parquet, .csv, .json"),
        ("no/out.csv", "folder .*no does not exist"),
    ):
        with pytest.raises(CusTextError, match=message):
            ReleasingQuery("SELECT error('ran')", Sanitizer.load(mapped_db)).write(tmp_path / output)


def test_a_failing_query_leaves_the_old_output(mapped_db: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    output.write_text("precious")
    query = "SELECT CASE WHEN range < 900000 THEN 1 ELSE error('late') END FROM range(1000000)"
    assert run("--db", mapped_db, "sql", query, "--output", output, "--force").exit_code == 1
    assert output.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir() if "draft" in path.name] == []


def test_ctrl_c_stops_and_leaves_nothing(mapped_db: Path, tmp_path: Path) -> None:
    query = "SELECT custext_sanitize('alice bob carol', 1.0, true) AS t FROM range(100000000)"
    command = [sys.executable, "-m", "custext_sql", "--db", str(mapped_db), "sql", query, "--output", "out.parquet"]
    with start(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for(lambda: list(tmp_path.glob(".out.parquet*")))
        os.kill(process.pid, signal.SIGINT)
        printed = b"".join(process.communicate())
    assert process.returncode == 128 + signal.SIGINT
    assert printed.strip() == b"Aborted!"
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_within_duckdb_ends_a_command_like_any_other(tmp_path: Path, number: signal.Signals) -> None:
    """DuckDB turns the interruption of a statement in the main thread into a RuntimeError."""
    script = tmp_path / "script.py"  # in a file, because DuckDB draws a progress bar if there is none
    script.write_text(f"""if True:
        import os, threading, duckdb
        from custext_sql.cli import main

        def run(**options):
            threading.Timer(0.5, os.kill, (os.getpid(), {number:d})).start()
            duckdb.execute("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b")

        main.commands["info"].callback = run
        main(["info"])
    """)
    with start([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        printed = b"".join(process.communicate())
    assert process.returncode == 128 + number
    assert printed.strip() == (b"Aborted!" if number == signal.SIGINT else b"")


def test_a_key_is_made_and_used(mapped_db: Path, data: Path, tmp_path: Path) -> None:
    made = run("--db", mapped_db, "keygen", tmp_path / "key", "--eps", 2, "--plus", "--policy", "strict")
    assert made.exit_code == 0
    assert "mapping      small-euclidean-k4, fingerprint" in made.output and "eps          2\n" in made.output
    query = "SELECT custext_sanitize_keyed(body, 'body:' || id) AS t FROM reviews ORDER BY id"
    arguments = ("--db", mapped_db, "sql", query, "--data", data, "--key-file", tmp_path / "key", "--json")
    assert run(*arguments).stdout == run(*arguments).stdout
    assert len({row["t"] for row in json.loads(run(*arguments).stdout)}) == 4
    assert "key is for policy" in run(*arguments, "--policy", "paper").output
    again = run("--db", mapped_db, "keygen", tmp_path / "key")
    assert (again.exit_code, "never overwritten" in again.output) == (1, True)
    shown = json.loads(run("--db", mapped_db, "keygen", tmp_path / "other", "--json").output)
    expected = "path name format mapping fingerprint eps plus policy calibration language stopwords"
    assert set(shown) == set(expected.split())


def test_a_mapping_that_becomes_the_default_meanwhile_changes_nothing(
    mapped_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger names the mapping that was used, even if another process runs `custext use` meanwhile."""
    build_mapping(mapped_db, embedding="small", k=2)

    def use_another(*arguments: Any, **options: Any) -> Any:
        use_mapping(mapped_db, name="small-euclidean-k2")
        return outputs.atomic_output(*arguments, **options)

    monkeypatch.setattr(query_releases, "atomic_output", use_another)
    query = "SELECT custext_sanitize('alice', 1, true) AS t FROM range(300)"
    ReleasingQuery(query, Sanitizer.load(mapped_db)).write(tmp_path / "out.csv")
    [release] = list_releases(mapped_db)
    drawn = set((tmp_path / "out.csv").read_text().split()[1:])
    assert release.mapping == "small-euclidean-k4"
    assert drawn == set(load_mapping(mapped_db, "small-euclidean-k4").find_row("alice")[0])
