"""Data files of any format as a source of rows."""

import re
from collections.abc import Sequence
from pathlib import Path

import duckdb

from custext_sql.errors import SourceError
from custext_sql.release.inputs.csv_files import open_csv
from custext_sql.release.inputs.file_formats import EXPECTED_NAMES, tell_format
from custext_sql.release.inputs.json_files import open_json
from custext_sql.release.inputs.parquet_files import open_parquet
from custext_sql.release.inputs.source import Source
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.files.quoting import quote_text

_PATTERN = re.compile(r"[*?\[]")  # what DuckDB would take for a pattern
_OPENERS = {"csv": open_csv, "tsv": open_csv, "json": open_json, "parquet": open_parquet}


def open_files(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], *, format: str | None = None
) -> Source:
    """Return one or more files of one format and with the same columns as a source. name: for errors."""
    found = format or tell_format(files[0])
    if found is None:
        raise SourceError(
            f"{name}: cannot tell the format; expected {EXPECTED_NAMES}; or name it (--format, format=...)"
        )
    if found == "text":
        return Source(name, "text", "", {"text": "VARCHAR"})
    listed = "[" + ", ".join(quote_text(_PATTERN.sub(r"[\g<0>]", str(file))) for file in files) + "]"
    with safe_errors():
        return _OPENERS[found](connection, name, files, found, listed)
