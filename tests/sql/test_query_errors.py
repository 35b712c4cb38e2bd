"""DuckDB's errors quote no data: a marker in malformed files must not appear in anything that is printed."""

import json
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from custext_sql import connect
from custext_sql.cli import main
from custext_sql.errors import QueryError
from custext_sql.sql.query_errors import explain, safe_errors

MARKER = "SECRETMARKER"
ROWS = 30_000  # more rows than DuckDB samples to guess types


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write files that DuckDB cannot read, each with the marker where it breaks."""
    good = [f"{number},fine" for number in range(ROWS)]
    (tmp_path / "type.csv").write_text("\n".join(["id,body", *good, f"{MARKER},{MARKER}"]) + "\n")
    (tmp_path / f"who={MARKER}").mkdir()
    (tmp_path / f"who={MARKER}" / "part.csv").write_text((tmp_path / "type.csv").read_text())
    (tmp_path / "count.csv").write_text("\n".join(["id,body", *good, f"1,{MARKER},{MARKER}"]) + "\n")
    (tmp_path / "quote.csv").write_text(f'id,body\n1,x\n2,"{MARKER} broken" {MARKER}\n')
    (tmp_path / "bytes.csv").write_bytes(f"id,body\n1,{MARKER}".encode() + b"\xff\xfe\n")
    (tmp_path / "whole.json").write_text(f'[{{"id": 1, "body": "{MARKER}"}}, {{"id": 2, "body": "{MARKER}')
    (tmp_path / "lines.jsonl").write_text(f'{{"id": 1}}\n{{"id": 2, "body": "{MARKER}"\n{{"id": 3}}\n')
    lines = [json.dumps({"id": number, "body": "fine"}) for number in range(ROWS)]
    (tmp_path / "type.jsonl").write_text("\n".join([*lines, json.dumps({"id": MARKER, "body": MARKER})]))
    with duckdb.connect() as connection:
        target = tmp_path / "good.parquet"
        connection.execute(f"COPY (SELECT '{MARKER}' AS body, range AS id FROM range(1000)) TO '{target}'")
    whole = target.read_bytes()
    (tmp_path / "end.parquet").write_bytes(whole[:-20] + b"PAR1")
    (tmp_path / "text.parquet").write_text(MARKER * 100)
    return tmp_path


COLUMNS = "columns = {'id': 'INT', 'body': 'VARCHAR'}"
CASES = {
    "SELECT * FROM 'type.csv'": "type.csv, line 30002: expected BIGINT",
    "SELECT * FROM read_csv('type.csv', columns = {'id': 'INT', 'body': 'VARCHAR'}, header = true)": (
        "type.csv, line 30002, column 'id': expected INTEGER"
    ),
    f"SELECT * FROM read_csv('count.csv', {COLUMNS}, auto_detect = false, header = true)": (
        "count.csv, line 30002: expected 2 columns, found 3"
    ),
    f"SELECT * FROM read_csv('quote.csv', {COLUMNS}, auto_detect = false, quote = '\"')": ("quote.csv, line "),
    "SELECT * FROM 'bytes.csv'": "bytes.csv, line 2: not UTF-8; name its encoding in the query",
    "SELECT * FROM 'whole.json'": "whole.json, record ",
    "SELECT * FROM 'lines.jsonl'": "lines.jsonl, line 3: malformed JSON at byte ",
    "SELECT * FROM 'type.jsonl'": "type.jsonl, line 30001: expected a numerical value",
    "SELECT * FROM 'end.parquet'": "end.parquet: expected a complete Parquet file",
    "SELECT * FROM 'text.parquet'": "text.parquet: expected a complete Parquet file",
    "SELECT body::INT FROM 'good.parquet'": "column 'body': expected INT32",
    "SELECT body::INT[] FROM 'good.parquet'": "column 'body': expected INTEGER[]",
    "SELECT id FROM 'who=*/part.csv'": "who=.../part.csv, line 30002, column 'id': expected BIGINT",
    "SELECT custext_sanitize(body, -1, true) FROM 'good.parquet'": "0, or between 0.001 and 100; found -1.0",
    "SELECT custext_sanitize(body, id - 1, true) FROM 'good.parquet'": "0, or between 0.001 and 100; found -1.0",
    "SELECT custext_sanitize_keyed(body, body) FROM 'good.parquet'": "custext_sanitize_keyed needs a key",
    "SELECT custext_sanitize(body, 1) FROM 'good.parquet'": "The function is custext_sanitize(text VARCHAR, eps",
    "SELECT nothing FROM 'good.parquet'": 'Referenced column "nothing" not found',
    "SELECT * FROM 'nowhere.csv'": 'No files found that match the pattern "nowhere.csv"',
    "SELEC 1": 'syntax error at or near "SELEC"',
    f"SELECT '{MARKER} is not closed": "Parser Error",
    "SELECT * FROM nowhere": "Table with name nowhere does not exist",
}


def test_no_data_is_printed(mapped_db: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with connect(mapped_db) as connection:
        for query, expected in CASES.items():
            with pytest.raises(QueryError) as caught, safe_errors(query):
                connection.execute(query).fetchall()
            assert expected in str(caught.value) and MARKER not in str(caught.value)
            assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_an_interrupted_query_is_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), safe_errors():
        raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")


def test_the_values_of_an_enum_are_not_quoted(mapped_db: Path, tmp_path: Path) -> None:
    """DuckDB quotes the values within the types of the arguments."""
    with duckdb.connect(tmp_path / "f.duckdb") as connection:
        connection.execute("CREATE TABLE t (col ENUM('Alice Novak has HIV', 'it''s (another) \"one\"'))")
    query = "SELECT custext_sanitize(col, 1) FROM t"
    result = CliRunner().invoke(main, ["--db", str(mapped_db), "sql", query, "--data", str(tmp_path / "f.duckdb")])
    assert result.output == (
        "Error: Binder Error: No function matches the given name and argument types 'custext_sanitize(...)'. You might "
        "need to add explicit type casts. The function is custext_sanitize(text VARCHAR, eps DOUBLE, plus BOOLEAN).\n"
    )


def test_a_key_with_an_apostrophe_leaves_no_tail(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text(json.dumps({"body": {"Alice O'Hara has HIV": 1}, "id": 1}) + "\n")
    query = f"SELECT lower(body, 1) FROM '{tmp_path / 'f.jsonl'}'"
    with duckdb.connect() as connection, pytest.raises(QueryError) as caught, safe_errors(query):
        connection.execute(query)
    expected = "types 'lower(...)'. You might need to add explicit type casts."
    assert str(caught.value) == f"Binder Error: No function matches the given name and argument {expected}"


PLACES = {
    "SELEC 1": 'syntax error at or near "SELEC" (line 1, character 1)',
    "SELECT 1,\n  2 AS a b": 'syntax error at or near "b" (line 2, character 10)',
    "SELECT '漢字' AS a b": 'syntax error at or near "b" (line 1, character 18)',
    "SELECT '" + "x" * 300 + "' AS a, b c d, '" + "y" * 300 + "'": 'at or near "d" (line 1, character 321)',
    "SELECT 'Alice' 'Bob'": "Parser Error: syntax error (line 1, character 16)",
    "SELECT 1 'Alice\nBob'": "Parser Error: syntax error (line 1, character 10)",
    "SELECT 'It's Alice's dog'": "Parser Error: syntax error (line 1, character 14)",
    "SELECT\n 'It''s Alice": "Parser Error: unterminated string literal (line 2, character 2)",
    'SELECT "Alice': "Parser Error: unterminated quoted identifier (line 1, character 8)",
    "SELECT 1 /* Alice": "Parser Error: unterminated /* comment (line 1, character 10)",
    "SELECT $$Alice": "Parser Error: syntax error (line 1, character 8)",
    "SELECT ‘Alice Bob Carol’": "Parser Error: syntax error (line 1, character 19)",
}


def test_a_syntax_error_is_told_by_its_place() -> None:
    with duckdb.connect() as connection:
        for query, place in PLACES.items():
            with pytest.raises(duckdb.Error) as caught:
                connection.extract_statements(query)
            told = str(explain(caught.value, query))
            assert told.endswith(place) and "Alice" not in told and "Bob" not in told
    assert "(line" not in str(explain(caught.value))


MACHINE = {
    'IO Error: Could not write file "/x/Alice.csv": No space left on device': "the disk is full",
    'TransactionContext Error: Failed to commit: Could not write file "/x/Alice.wal": No space left on device': (
        "the disk is full"
    ),
    'IO Error: Async write failed: {"exception_message":"Could not write file \\"q.csv\\": Disk quota exceeded"}': (
        "q.csv: the disk quota is used up"
    ),
    'IO Error: Cannot open file "q.csv": Permission denied': "q.csv: permission denied",
    'IO Error: Cannot open file "/x/Alice.csv": Too many open files': "too many files are open",
    'IO Error: Cannot open file "/x/Alice.csv": Read-only file system': "the file system is read-only",
    "IO Error: Alice": "the query failed with DuckDB's IO error; its message is not shown because it may quote data",
    "IO Error: Input is not a GZIP stream: q.csv": "IO Error: Input is not a GZIP stream: q.csv",
    "IO Error: Input is not a GZIP stream: Alice.csv": "IO Error: Input is not a GZIP stream: ...",
}


@pytest.mark.parametrize("message", MACHINE)
def test_what_the_machine_refuses_is_said_in_fixed_words(message: str) -> None:
    query = "COPY (SELECT 'Alice' AS name) TO 'q.csv'"
    assert str(explain(duckdb.IOException(message), query)) == MACHINE[message]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("COPY (SELECT range FROM range(1000)) TO '/dev/full' (FORMAT csv)", "^/dev/full: the disk is full$"),
        ("SELECT list(range) FROM range(100000000)", "^Out of Memory Error: failed to allocate data of size .* used"),
    ],
)
def test_a_full_disk_and_memory_are_told(query: str, told: str) -> None:
    with (
        duckdb.connect(config={"memory_limit": "20MB", "temp_directory": ""}) as connection,
        pytest.raises(QueryError, match=told),
        safe_errors(query),
    ):
        connection.execute(query).fetchall()


def test_only_kinds_of_errors_that_exist_are_named() -> None:
    udf = "Invalid Input Error: Python exception occurred while executing the UDF"
    told = str(explain(duckdb.InvalidInputException(f"{udf}: Alice: Alice")))
    assert told == "a function failed; its message is not shown because it may quote data"


def test_names_are_shown_as_the_query_has_them() -> None:
    error = duckdb.BinderException(
        'Binder Error: Referenced column "ALICE" not found in FROM clause!\nCandidates: "Bob"'
    )
    for query, shown in (("SELECT Alice", "Alice"), ("SELECT 'Alice'", "..."), (None, "...")):
        assert str(explain(error, query)) == f'Binder Error: Referenced column "{shown}" not found in FROM clause!'
    assert '"alice"' in str(explain(error, None, ["alice"]))
    assert "not shown" in str(explain(error, "SELECT Alice FROM query('x')"))


def test_rows_that_arrow_reads_are_no_way_round() -> None:
    """Arrow raises DuckDB's message as an OSError; other OSErrors pass unchanged."""
    query = "SELECT CASE WHEN range = 299999 THEN error('Alice') ELSE 'x' END FROM range(300000)"
    with duckdb.connect() as connection, pytest.raises(QueryError, match="not shown") as caught, safe_errors(query):
        for _ in connection.sql(query).to_arrow_reader(1 << 16):
            pass
    assert caught.value.__suppress_context__ and "Alice" not in str(caught.value)
    with pytest.raises(FileNotFoundError), safe_errors():
        Path("nothing").read_text()


def test_a_missing_extension_is_named() -> None:
    known = "An error occurred while trying to automatically install the required extension"
    assert "run: INSTALL httpfs" in str(explain(duckdb.Error(f"{known} 'httpfs:\nx")))
    assert "not shown" in str(explain(duckdb.Error(f"{known} 'Alice:\nx")))


@pytest.mark.parametrize(
    ("message", "in_query", "in_release"),
    [
        (
            "Invalid Input Error: CSV Error on Line: 3\nAlice\nMaximum line size of 2 bytes exceeded.\n  file = in.csv",
            "in.csv, line 3: the line is longer than DuckDB's limit; raise it in the query, for example: "
            "read_csv('FILE', max_line_size = 50_000_000)",
            "in.csv, line 3: the line is longer than the 16 MB that can be read; split the text into several rows, or "
            "convert the file to Parquet",
        ),
        (
            'Invalid Input Error: "maximum_object_size" of 9 bytes exceeded while reading file "in.csv" (>9).\nAlice',
            "in.csv: an object is longer than DuckDB's limit; raise it in the query, for example: "
            "read_json('FILE', maximum_object_size = 50_000_000)",
            "in.csv: an object is longer than the 16 MB that can be read; split the text into several rows, or convert "
            "the file to Parquet",
        ),
        (
            "Invalid Input Error: CSV Error on Line: 3\nAlice\nThis file is not utf-8 encoded.\n  file = in.csv",
            "in.csv, line 3: not UTF-8; name its encoding in the query: read_csv('FILE', encoding = 'latin-1'), or "
            "'utf-16'",
            "in.csv, line 3: not UTF-8; convert it to UTF-8 first",
        ),
    ],
)
def test_limits_and_encodings_name_options_that_can_be_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch, message: str, in_query: str, in_release: str
) -> None:
    """A query can be given DuckDB's options; a release cannot."""
    monkeypatch.chdir(folder)
    (folder / "in.csv").touch()
    assert str(explain(duckdb.InvalidInputException(message), "FROM 'in.csv'")) == in_query
    assert str(explain(duckdb.InvalidInputException(message))) == in_release
