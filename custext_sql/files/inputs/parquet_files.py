"""Parquet files, which carry the names and types of their columns."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from custext_sql.errors import SourceError
from custext_sql.files.inputs.source import Source, check_column_names, describe_columns


def open_parquet(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], format: str, listed: str
) -> Source:
    """Return Parquet files, which must have the same columns, as a source. listed: the files as a list in SQL."""
    reader = f"read_parquet({listed}, hive_partitioning = false)"
    columns = describe_columns(connection, reader)
    first, rows = None, 0
    for file in files:
        names, count = _read_footer(file)
        rows += count
        check_column_names(name, names)
        if first is None:
            first = set(names)
        elif set(names) != first:
            raise SourceError(f"{name}: the columns of {file.name} do not match those of {files[0].name}")
    return Source(name, format, reader, columns, rows=rows)


def _read_footer(file: Path) -> tuple[list[str], int]:
    """Return the names of the columns and the number of rows."""
    import pyarrow.parquet as pq

    try:
        footer = pq.read_metadata(file)
        return list(footer.schema.to_arrow_schema().names), footer.num_rows
    except (OSError, UnicodeDecodeError, pa.ArrowException):
        raise SourceError(f"{file}: expected a complete Parquet file") from None
