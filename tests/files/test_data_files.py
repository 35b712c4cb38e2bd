"""Releases of files, folders, streams and tables from the command line, end to end."""

import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from custext_sql import Sanitizer
from custext_sql.cli import main
from tests.ledger_entries import list_releases
from tests.processes import hold_open

ROWS = [
    ("007", 'Alice met Bob; "carol", they said', "2020-01-01T00:00:00Z", "1.50"),
    ("2", "", "", ""),
    ("3", "dave\nerin", "x", "0x1"),
    ("4", "the Zzyzxa 12345", "é", "1e400"),
]
MARKER = "Marker81"
PAPER = ("--policy", "paper")


def run(*arguments: str | Path, input: bytes | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=input)


@pytest.fixture
def db(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUSTEXT_DB", str(mapped_db))
    return mapped_db


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def write_csv(path: Path, delimiter: str = ",") -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (id VARCHAR, body VARCHAR, note VARCHAR, n VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [list(row) for row in ROWS])
        connection.execute(f"COPY t TO '{path}' (FORMAT csv, HEADER, DELIMITER '{delimiter}')")


def read_csv(path: Path, delimiter: str = ",") -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(
            f"FROM read_csv('{path}', all_varchar = true, delim = '{delimiter}', header = true, "
            "quote = '\"', escape = '\"', allow_quoted_nulls = false)"
        ).fetchall()


def check_texts(before: list[str | None], after: list[str | None], db: Path) -> None:
    """Check that separators are unchanged, and that each known word is replaced by a word of its group."""
    sanitizer = Sanitizer.load(db)
    for old, new in zip(before, after, strict=True):
        if old is None or new is None:
            assert old == new
            continue
        old_words, new_words = _split(old), _split(new)
        for first, second in zip(old_words, new_words, strict=True):
            word = first.lower()
            if word in sanitizer.mapping.index:
                assert second in sanitizer.distribution(word, 1.0)
            elif not first.isdigit():
                assert first == second


def _split(text: str) -> list[str]:
    return "".join(character if character.isalnum() else f" {character} " for character in text).split(" ")


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ";"), (".tsv", "\t"), (".csv.gz", ",")])
def test_other_columns_of_csv_come_out_as_they_were(db: Path, folder: Path, suffix: str, delimiter: str) -> None:
    source, target = folder / f"in{suffix}", folder / f"out{suffix}"
    write_csv(folder / "plain", delimiter)
    content = (folder / "plain").read_bytes()
    source.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    assert run("sanitize", *PAPER, source, target, "--column", "body").exit_code == 0
    if suffix.endswith(".gz"):
        assert target.read_bytes()[:2] == b"\x1f\x8b"
    after = read_csv(target, delimiter)
    assert [(row[0], row[2], row[3]) for row in after] == [(row[0], row[2], row[3]) for row in ROWS]
    check_texts([row[1] for row in ROWS], [row[1] for row in after], db)
    header, *rest = (gzip.decompress(target.read_bytes()) if suffix.endswith(".gz") else target.read_bytes()).split(
        b"\n"
    )
    assert header == content.split(b"\n")[0]
    assert b"1.50" in rest[0] and b"2020-01-01T00:00:00Z" in rest[0]


def test_json_lines_keep_their_other_values(db: Path, folder: Path) -> None:
    objects: list[dict[str, Any]] = [
        {"id": 12345678901234567890123, "body": "Alice met bob", "when": "2020-01-01T00:00:00Z", "x": {"a": [1, 2.5]}},
        {"id": 1, "body": None, "when": "soon", "x": None},
        {"id": 2, "body": "2020-01-01", "when": "10:00", "x": {"a": []}},
    ]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in objects))
    assert run("sanitize", *PAPER, "in.jsonl", "out.jsonl", "--column", "body").exit_code == 0
    found = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [{**row, "body": ""} for row in found] == [{**row, "body": ""} for row in objects]
    check_texts([row["body"] for row in objects], [row["body"] for row in found], db)


@pytest.mark.slow
def test_parquet_keeps_its_types_and_order(db: Path, folder: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT i AS id, CASE WHEN i % 7 = 0 THEN NULL ELSE 'alice bob ' || i END AS body, 'Carol' AS title, "
            "DATE '2020-01-01' + i::INT AS d, [i, i] AS list, {'a': i} AS s, i::DECIMAL(20, 3) AS n, 'x'::BLOB AS b "
            "FROM range(50000) r(i)) TO 'in.parquet' (FORMAT parquet)"
        )
        result = run("sanitize", *PAPER, "in.parquet", "out.parquet", "--column", "body", "--column", "title", "--json")
        assert result.exit_code == 0, result.output
        receipt = json.loads(result.stdout)["receipt"]
        types = [connection.execute(f"DESCRIBE FROM '{name}.parquet'").fetchall() for name in ("in", "out")]
        assert types[0] == types[1]
        same = "SELECT id, d, list, s, n, b FROM '{}.parquet'"
        assert connection.execute(same.format("in")).fetchall() == connection.execute(same.format("out")).fetchall()
        [(alike, missing)] = connection.execute(
            "SELECT count(*) FILTER (regexp_full_match(body, '\\w+ \\w+ \\d+')), count(*) FILTER (body IS NULL) "
            "FROM 'out.parquet'"
        ).fetchall()
    assert (alike, missing) == (50000 - 7143, 7143)
    assert (receipt["rows"], receipt["replaced"]) == (50000, 2 * (50000 - 7143) + 50000)
    assert (receipt["largest_row_eps"], receipt["mean_row_eps"]) == (3.0, pytest.approx((3 * 42857 + 7143) / 50000))


def test_folders_and_patterns_are_read_as_one(db: Path, folder: Path) -> None:
    parts = folder / "parts"
    (parts / "deep").mkdir(parents=True)
    for number, place in enumerate(("a.csv", "b.csv", "deep/c.csv")):
        (parts / place).write_text(f"id,body\n{number},alice\n")
    (parts / ".b.csv.999999999.draft").write_text("id,body\n8,alice\n")  # left by a killed run
    (parts / ".hidden.csv").write_text("id,body\n9,alice\n")
    assert run("sanitize", "parts", "all.csv", "--column", "body").exit_code == 0
    assert [row[0] for row in read_csv(folder / "all.csv")] == ["0", "1", "2"]
    assert run("sanitize", "parts/*.csv", "some.parquet", "--column", "body").exit_code == 0
    with duckdb.connect() as connection:
        assert connection.execute("SELECT id FROM 'some.parquet' ORDER BY id").fetchall() == [(0,), (1,)]
    unmatched = run("sanitize", "parts/*.json", "x.csv", "--column", "body")
    assert "parts/*.json: no file matches this pattern" in unmatched.output
    inside = run("sanitize", "parts", "parts/out.csv", "--column", "body")
    assert "is in the input folder parts" in inside.output and not (parts / "out.csv").exists()
    (parts / "d.jsonl").write_text("{}\n")
    assert "expected files of one format" in run("sanitize", "parts", "x.csv", "--column", "body").output


def test_files_of_a_folder_must_have_the_same_columns(db: Path, folder: Path) -> None:
    """Otherwise one column could be taken for another and stay in the clear."""
    for name, first, second in (
        ("order", "title,body\nx,alice\n", "body,title\nalice,x\n"),
        ("headless", "title,body\nx,alice\n", f"{MARKER},alice\n"),
        ("delimiter", "title,body\nx,alice\n", "title;body\nx;alice\n"),
    ):
        (folder / name).mkdir()
        (folder / name / "a.csv").write_text(first)
        (folder / name / "b.csv").write_text(second)
        refused = run("sanitize", name, "out.csv", "--column", "body")
        assert "the first line of b.csv does not match that of a.csv" in refused.output and MARKER not in refused.output
    with duckdb.connect() as connection:
        (folder / "parquet").mkdir()
        connection.execute("COPY (SELECT 1 AS id, 'alice' AS body) TO 'parquet/a.parquet'")
        connection.execute("COPY (SELECT 'bob' AS body, 1 AS id, 2 AS more) TO 'parquet/b.parquet'")
    refused = run("sanitize", "parquet", "out.parquet", "--column", "body")
    assert "the columns of b.parquet do not match those of a.parquet" in refused.output
    assert not list(folder.glob("out.*"))


def test_columns_that_differ_only_in_case_are_refused(db: Path, folder: Path) -> None:
    """DuckDB would rename one of them, and it would stay in the clear."""
    pq.write_table(pa.table({"Body": ["alice"], "body": ["bob"]}), folder / "in.parquet")
    (folder / "in.jsonl").write_text('{"Body": "alice", "body": "bob"}\n')
    (folder / "in.csv").write_text("Body,body\nalice,bob\n")
    (folder / "late.jsonl").write_text('{"body": "alice"}\n' * 50_000 + '{"BODY": "bob"}\n')
    for name in ("in.parquet", "in.jsonl", "in.csv", "late.jsonl"):
        refused = run("sanitize", name, "out.parquet", "--column", "body")
        assert "two columns have the same name, ignoring case" in refused.output, name


def test_no_line_is_taken_for_a_remark_nor_folder_for_a_value(db: Path, folder: Path) -> None:
    rows = [f"{number},alice #tag {number}" for number in range(200)]
    (folder / "in.csv").write_text("\n".join(["id,body", *rows, "#200,bob"]) + "\n")
    for target in ("out.csv", "out.parquet", "out.jsonl"):
        assert run("sanitize", "in.csv", target, "--column", "body").output.startswith(f"{target}: 201 rows")
    with duckdb.connect() as connection:
        query = "SELECT count(*) FROM 'out.parquet' WHERE regexp_full_match(body, '\\w+ <hashtag> <num>')"
        assert connection.execute(query).fetchall() == [(200,)]
        (folder / "hive" / "body=Boston").mkdir(parents=True)
        connection.execute("COPY (SELECT 'alice' AS body) TO 'hive/body=Boston/a.parquet'")
    assert run("sanitize", "hive", "hive.parquet", "--column", "body").exit_code == 0
    with duckdb.connect() as connection:
        [(found,)] = connection.execute("FROM 'hive.parquet'").fetchall()
    assert found in Sanitizer.load(db).distribution("alice", 1.0)


def test_a_name_that_looks_like_a_pattern_is_a_name(db: Path, folder: Path) -> None:
    (folder / "data[1].csv").write_text("id,body\n1,alice\n")
    (folder / "data1.csv").write_text("id,body\n9,zzz\n")
    assert run("sanitize", "data[1].csv", "out.csv", "--column", "body").exit_code == 0
    assert read_csv(folder / "out.csv")[0][0] == "1"


def test_headers_may_have_spaces_and_line_breaks(db: Path, folder: Path) -> None:
    (folder / "in.csv").write_text('id, body ,"a\nb"\n1,alice,x\n')
    for target in ("out.csv", "out.parquet"):
        result = run("sanitize", "in.csv", target, "--column", "body")
        assert result.exit_code == 0, result.output


def test_a_broken_gzip_file_is_said_to_be_one(db: Path, folder: Path) -> None:
    (folder / "cut.txt.gz").write_bytes(gzip.compress(b"alice\n" * 10_000)[:-20])
    (folder / "none.txt.gz").write_bytes(b"alice\n")
    for name in ("cut.txt.gz", "none.txt.gz"):
        refused = run("sanitize", name, "out.txt")
        assert f"{name}: expected a complete gzip file" in refused.output
    assert not (folder / "out.txt").exists()


def test_lines_keep_their_ends(db: Path, folder: Path) -> None:
    content = b"Alice met Bob\r\nthe carol\n\n  dave\x0b12345\r\nlast"
    (folder / "in.txt").write_bytes(content)
    assert run("sanitize", *PAPER, "in.txt", "out.txt").exit_code == 0
    streamed = run("sanitize", *PAPER, "-", input=content)
    through = run("sanitize", *PAPER, "in.txt", "-")
    assert run("sanitize", *PAPER, "in.txt", "out.txt.gz").exit_code == 0
    for found in (
        (folder / "out.txt").read_bytes(),
        streamed.stdout_bytes,
        through.stdout_bytes,
        gzip.decompress((folder / "out.txt.gz").read_bytes()),
    ):
        check_texts([content.decode()], [found.decode()], db)
        assert found.count(b"\n") == 4 and found.count(b"\r\n") == 2
    (folder / "latin.txt").write_bytes(b"alice\nbob\xe9\n")
    wrong = run("sanitize", "latin.txt", "other.txt")
    assert "latin.txt, line 2: not UTF-8" in wrong.output and not (folder / "other.txt").exists()


def test_streams_have_formats(db: Path, folder: Path) -> None:
    done = run("sanitize", "-", "-", "--format", "csv", "--column", "body", input=b"id,body\n01,Alice\n")
    assert done.stdout.startswith("id,body\n01,") and done.exit_code == 0
    done = run("sanitize", "-", "-", "--format", "json", "--column", "body", input=b'{"id": 1, "body": "Alice"}\n')
    assert json.loads(done.stdout)["id"] == 1
    done = run("sanitize", "-", "out.parquet", "--format", "csv", "--column", "body", input=b"id,body\n1,Alice\n")
    assert done.stdout == "out.parquet: 1 row\n"
    assert [release.dataset for release in list_releases(db)] == ["<stdin>"] * 3


@pytest.mark.slow
def test_tables_become_new_tables(db: Path, folder: Path) -> None:
    def make(table: str, output: str, *more: str) -> str:
        return run("sanitize", "--data", "shop.duckdb", "--table", table, output, "--column", "body", *more).output

    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE reviews AS SELECT i AS id, 'alice bob' AS body FROM range(1000) r(i)")
    assert make("reviews", "clean").startswith("shop.duckdb, table clean: 1,000 rows\n")
    assert "table 'review' does not exist; did you mean 'reviews'?" in make("review", "x")
    assert "table clean already exists; to overwrite it, use --force" in make("reviews", "clean")
    make("reviews", "clean", "--force")
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE VIEW seen AS SELECT * FROM clean")
    assert "the input is a view" in make("seen", "clean", "--force")
    assert "view seen already exists" in make("reviews", "seen", "--force")
    for same in ("reviews", "Reviews"):
        assert "is the input" in make("reviews", same, "--force")
    assert "no.duckdb does not exist; expected a DuckDB file" in make("t", "x", "--data", "no.duckdb")
    with hold_open(folder / "shop.duckdb"):
        assert "shop.duckdb is in use by another process" in make("reviews", "other")
    with duckdb.connect("shop.duckdb", read_only=True) as connection:
        tables = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
        assert tables == [("clean",), ("reviews",)]
        [(rows, distinct)] = connection.execute("SELECT count(*), count(DISTINCT body) FROM clean").fetchall()
    assert rows == 1000 and distinct > 1
    assert [release.dataset for release in list_releases(db)] == [f"{(folder / 'shop.duckdb').resolve()}:reviews"] * 2
