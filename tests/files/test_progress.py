"""The progress of releases and previews: the share done moves within a file, whatever its format."""

import gzip
from pathlib import Path

import duckdb
import pytest

from custext_sql import DataTable, find_leaks, sanitize_file, sanitize_table
from custext_sql.files.inputs.data_files import open_files
from custext_sql.files.inputs.file_formats import tell_format
from custext_sql.files.inputs.source import open_table
from custext_sql.sql import queries

ROWS = 60_000  # one row group of a Parquet file, and of a table

Told = list[tuple[float, int, int]]


@pytest.fixture
def told(mapped_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """Return what is told as progress, and ask for it often."""
    monkeypatch.setenv("CUSTEXT_DB", str(mapped_db))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(queries, "_TICK", 0.001)
    return []


def write_rows(statement: str, path: str | None = None) -> None:
    with duckdb.connect(path or ":memory:") as connection:
        rows = f"SELECT range AS id, 'alice met bob, carol met dave' AS body FROM range({ROWS})"
        connection.execute(statement.format(rows))


def check_moves(told: Told) -> None:
    assert all(share == min(rows / ROWS, 0.99) for share, rows, _ in told)
    assert len({share for share, *_ in told if 0.0 < share < 0.99}) > 3


def test_a_single_parquet_file_moves(told: Told) -> None:
    write_rows("COPY ({}) TO 'in.parquet'")
    sanitize_file("in.parquet", "out.parquet", columns="body", progress=lambda *so_far: told.append(so_far))
    check_moves(told)


def test_a_single_table_moves(told: Told) -> None:
    write_rows("CREATE TABLE t AS {}", "data.duckdb")
    sanitize_table("data.duckdb", "t", "clean", columns="body", progress=lambda *so_far: told.append(so_far))
    check_moves(told)


@pytest.mark.parametrize("name", ["in.csv", "in.txt", "data.duckdb"])
def test_the_search_for_leaks_moves(name: str, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custext_sql.files.inputs.encodings._CHUNK", 1 << 16)
    if name == "data.duckdb":
        write_rows("CREATE TABLE t AS {}", name)
    else:
        write_rows(f"COPY ({{}}) TO '{name}' {'(FORMAT csv)' if name == 'in.txt' else ''}")
    data = DataTable(name, "t") if name == "data.duckdb" else name
    leaks = find_leaks(data, column=None if name == "in.txt" else "body", progress=lambda *so_far: told.append(so_far))
    shares = [share for share, *_ in told]
    assert shares == sorted(shares) and len(set(shares)) > 3 and 0.8 < shares[-1] <= 1.0
    assert told[-1][1:] == (leaks.rows, leaks.words) and leaks.rows >= ROWS


@pytest.mark.parametrize("name", ["in.parquet", "in.csv", "in.csv.gz", "in.tsv", "in.json", "in.jsonl"])
def test_about_how_many_rows_files_have(name: str, tmp_path: Path) -> None:
    options = {"in.tsv": "(FORMAT csv, DELIMITER '\t')", "in.json": "(ARRAY true)"}.get(name, "")
    write_rows(f"COPY ({{}}) TO '{tmp_path / name.removesuffix('.gz')}' {options}")
    files = [tmp_path / name]
    if name.endswith(".gz"):
        files[0].write_bytes(gzip.compress(files[0].with_suffix("").read_bytes()))
    with duckdb.connect() as connection:
        rows = open_files(connection, name, files * 2, format=str(tell_format(name))).rows
    assert rows is not None and abs(rows / (2 * ROWS) - 1.0) < (0.2 if "sv" in name else 1e-9)


def test_about_how_many_rows_tables_have(tmp_path: Path) -> None:
    write_rows("CREATE TABLE t AS {}; CREATE VIEW v AS FROM t", str(tmp_path / "data.duckdb"))
    with duckdb.connect(tmp_path / "data.duckdb") as connection:
        assert open_table(connection, "data.duckdb", "t").rows == ROWS
        assert open_table(connection, "data.duckdb", "v").rows is None
