"""Data files of any format as a source of rows."""

import re
from collections.abc import Sequence
from pathlib import Path

import duckdb

from custext_sql.files.inputs.csv_files import open_csv
from custext_sql.files.inputs.encodings import check_encodings
from custext_sql.files.inputs.file_formats import explain_unknown_format, tell_format
from custext_sql.files.inputs.json_files import open_json
from custext_sql.files.inputs.parquet_files import open_parquet
from custext_sql.files.inputs.source import Source
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.quoting import quote_text

_PATTERN = re.compile(r"[*?\[]")  # characters that DuckDB takes for a pattern
_OPENERS = {"json": open_json, "parquet": open_parquet}


def open_files(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    files: Sequence[Path],
    *,
    format: str | None = None,
    quotes: bool = True,
    header: bool = True,
    padded: bool = False,
) -> Source:
    """Return one or more files of one format and with the same columns as a source of rows.

    name: what errors call the files. format: the one that their names stand for if not given. quotes: whether
    fields of CSV and TSV files can be quoted. header: whether their first line names the columns. padded: whether
    columns that a line lacks are NULL, rather than an error. A SourceError names a file that does not start like UTF-8.
    """
    found = format or tell_format(files[0])
    if found is None:
        raise explain_unknown_format(name)
    if found == "text":
        return Source(name, "text", "", {"text": "VARCHAR"})
    if found != "parquet":
        check_encodings(name, files)
    listed = "[" + ", ".join(quote_text(_PATTERN.sub(r"[\g<0>]", str(file))) for file in files) + "]"
    with safe_errors():
        if found in ("csv", "tsv"):
            return open_csv(connection, name, files, found, listed, quotes=quotes, header=header, padded=padded)
        return _OPENERS[found](connection, name, files, found, listed)
