"""JSON files: one object per line, or an array of objects."""

import gzip
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from custext_sql.errors import SourceError
from custext_sql.files.inputs.file_formats import has_object_per_line, is_zipped
from custext_sql.files.inputs.source import Source, check_column_names, describe_columns

_PART = 4096  # bytes read at a time


def open_json(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], format: str, listed: str
) -> Source:
    """Return JSON files as a source. listed: the files as a list in SQL."""
    if not any(file.stat().st_size for file in files):
        raise SourceError(f"{name}: the file is empty; expected JSON objects, one per line")
    is_array = all(map(_is_array, files))
    for file in files:
        _check_end(file)
    layout = "array" if is_array else "newline_delimited" if has_object_per_line(files[0]) else "auto"
    options = f"format = '{layout}', hive_partitioning = false"
    objects = f"SELECT unnest(json_keys(json)) AS key FROM read_json_objects({listed}, {options})"
    keys = dict(connection.execute(f"SELECT key, count(*) FROM ({objects}) GROUP BY key").fetchall())
    if not keys:
        raise SourceError(f"{name}: found no JSON objects with keys; expected one object per line, or an array of them")
    check_column_names(name, list(keys))
    everything = f"sample_size = -1, maximum_sample_files = {len(files) + 1}"
    columns = describe_columns(connection, f"read_json({listed}, {options}, {everything})")
    rows = max(keys.values())  # objects with the most frequent key, which are usually all
    return Source(name, format, f"read_json({listed}, {options})", columns, is_array=is_array, rows=rows)


def _is_array(file: Path) -> bool:
    """Return whether a JSON file is an array, by its first character that is not a space."""
    opener: Any = gzip.open if is_zipped(file) else open
    try:
        with opener(file, "rb") as content:
            start = content.read(_PART).removeprefix(b"\xef\xbb\xbf")
            while start and not start.strip():
                start = content.read(_PART)
    except (OSError, EOFError, zlib.error):
        return False  # DuckDB says what is wrong
    return bool(start.lstrip().startswith(b"["))


def _check_end(file: Path) -> None:
    """Raise a SourceError for an array that is cut off, which DuckDB would read up to there. gzip checks its own."""
    if is_zipped(file) or not _is_array(file):
        return
    with file.open("rb") as content:
        end = content.seek(0, os.SEEK_END)
        rest = b""
        while end and not rest.strip():
            end = content.seek(max(end - _PART, 0))
            rest = content.read(_PART)
    if not rest.rstrip().endswith(b"]"):
        raise SourceError(f"{file}: the array of JSON objects does not end with ]; the file seems to be incomplete")
