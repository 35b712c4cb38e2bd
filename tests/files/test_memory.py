"""DuckDB gets as much memory as the rows need: little for short ones, enough for a row group of long ones."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from custext_sql import sanitize_file
from custext_sql.files.duckdb_instances import limit_memory, open_instance
from custext_sql.files.inputs.source import open_table

ROWS = 100_000
LIMIT = "SELECT current_setting('memory_limit')"


@pytest.mark.slow
def test_a_row_group_of_long_rows_is_written_whole(mapped_db: Path, tmp_path: Path) -> None:
    long = pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int8()), ["x" * 3000])
    pq.write_table(pa.table({"text": ["alice"] * ROWS, "long": long}), tmp_path / "long.parquet", row_group_size=ROWS)
    output = tmp_path / "long.csv"
    assert sanitize_file(tmp_path / "long.parquet", output, columns="text", eps=1, database=mapped_db).rows == ROWS
    with output.open("rb") as lines:
        assert sum(len(line) > 3000 for line in lines) == ROWS
    output.unlink()


def test_a_release_of_short_rows_gets_little_memory() -> None:
    limits = []
    for length in (80, 8000):
        with open_instance() as connection:
            connection.execute("SET threads = 2")
            connection.execute(f"CREATE TABLE texts AS SELECT repeat('x', {length}) AS text, '' AS line FROM range(10)")
            [(usual,)] = connection.execute(LIMIT).fetchall()
            limit_memory(connection, open_table(connection, "memory", "texts"))
            limits += connection.execute(LIMIT).fetchall()
    [(short,), (long,)] = limits
    assert short.endswith("MiB") and float(short.split()[0]) < 200
    assert long == usual
