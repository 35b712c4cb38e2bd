"""JSON files: one object per line, or an array of objects."""

from collections.abc import Sequence
from pathlib import Path

import duckdb

from custext_sql.errors import SourceError
from custext_sql.release.inputs.source import Source, check_column_names, describe_columns


def open_json(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], format: str, listed: str
) -> Source:
    """Return JSON files as a source. listed: the files as a list in SQL."""
    if not any(file.stat().st_size for file in files):
        raise SourceError(f"{name}: the file is empty; expected JSON objects, one per line")
    layout = "newline_delimited" if _has_object_per_line(files[0]) else "auto"
    options = f"format = '{layout}', hive_partitioning = false"
    keys = connection.execute(
        f"SELECT DISTINCT unnest(json_keys(json)) FROM read_json_objects({listed}, {options})"
    ).fetchall()
    check_column_names(name, [key for (key,) in keys])
    everything = f"sample_size = -1, maximum_sample_files = {len(files) + 1}"
    columns = describe_columns(connection, f"read_json({listed}, {options}, {everything})")
    return Source(name, format, f"read_json({listed}, {options})", columns)


def _has_object_per_line(file: Path) -> bool:
    """Return whether a JSON file has one object per line, by its name."""
    return not file.name.lower().removesuffix(".gz").endswith(".json")
