"""The progress of releases and previews: the share done moves within a file, whatever its format."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from custext_sql import DataTable, find_leaks, sanitize_file, sanitize_table
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


@pytest.mark.parametrize("name", ["in.parquet", "in.csv", "data.duckdb"])
def test_the_share_of_a_release_moves_within_a_file(name: str, told: Told) -> None:
    options: dict[str, Any] = {"columns": "body", "progress": lambda *so_far: told.append(so_far)}
    if name == "data.duckdb":
        write_rows("CREATE TABLE t AS {}", name)
        sanitize_table(name, "t", "clean", **options)
    else:
        write_rows(f"COPY ({{}}) TO '{name}'")
        sanitize_file(name, f"out.{name}", **options)
    known = name != "in.csv"  # the number of its rows is estimated
    assert all(share == pytest.approx(min(rows / ROWS, 0.99), rel=0 if known else 0.2) for share, rows, _ in told)
    assert len({share for share, *_ in told if 0.0 < share < 0.99}) > 1


def test_the_share_of_a_release_of_lines_moves(told: Told) -> None:
    Path("long.txt").write_text("alice bob carol\n" * 300_000)
    sanitize_file("long.txt", "out.txt", progress=lambda *so_far: told.append(so_far))
    shares, rows, _ = zip(*told, strict=True)
    assert list(shares) == sorted(shares) and 0 < shares[0] < shares[-1] <= 1
    assert list(rows) == sorted(rows) and 0 < rows[0] <= rows[-1] <= 300_000


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
