"""Data files as a source of rows: CSV, TSV, JSON and Parquet. No line is skipped; copied columns stay unchanged."""

import csv
import gzip
import os
import re
import zlib
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

import duckdb
import pyarrow as pa

from custext_sql.errors import SourceError
from custext_sql.files.inputs.encodings import open_text
from custext_sql.files.inputs.file_formats import has_object_per_line, is_zipped
from custext_sql.files.inputs.source import Source, describe_columns
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.quoting import quote_text

_PATTERN = re.compile(r"[*?\[]")  # characters that DuckDB takes for a pattern
_UNREADABLE = (OSError, EOFError, zlib.error)
_LONGEST_LINE = 16 << 20  # bytes of a row; DuckDB's own limit is 2 MB, and that for a JSON object is this
_BUFFER = 32 << 20  # DuckDB's own size, which it would otherwise raise to 16 lines
_SAMPLE = 1 << 20  # bytes in which lines are counted
_PART = 4096  # bytes of a JSON file read at a time


def open_files(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    files: Sequence[Path],
    *,
    format: str,
    quotes: bool = True,
    header: bool = True,
    padded: bool = False,
) -> Source:
    """Return one or more files of one format, in UTF-8 and with the same columns, as a source of rows.

    name: what errors call the files. quotes: False if they are ordinary characters in CSV and TSV files, so that no
    field can be quoted. header: whether their first line, the same in all files, names the columns; else they are "1",
    "2", ... padded: whether columns that a line lacks are NULL, rather than an error.
    """
    if format == "text":
        return Source(name, "text", "", {"text": "VARCHAR"})
    listed = "[" + ", ".join(quote_text(_PATTERN.sub(r"[\g<0>]", str(file))) for file in files) + "]"
    with safe_errors():
        if format == "json":
            return _open_json(connection, name, files, listed)
        if format == "parquet":
            return _open_parquet(connection, name, files, listed)
        return _open_csv(connection, name, files, format, listed, quotes=quotes, header=header, padded=padded)


def _check_column_names(name: str, columns: Sequence[str]) -> None:
    """Raise a SourceError for names that DuckDB, which ignores case, would change: it could mix up two columns."""
    if len({column.lower() for column in columns}) < len(columns):
        raise SourceError(f"{name}: two columns have the same name, ignoring case; rename one of them")


def _open_csv(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    files: Sequence[Path],
    format: str,
    listed: str,
    *,
    quotes: bool,
    header: bool,
    padded: bool,
) -> Source:
    delimiters = ("\t",) if format == "tsv" else (",", ";", "\t", "|")
    delimiter, names = _read_names(files[0], delimiters, quotes=quotes, header=header)
    if not all(names):
        raise SourceError(f"{name}: the first line must name every column; one has no name")
    _check_column_names(name, names)
    for file in files[1:]:
        if _read_names(file, delimiters, quotes=quotes, header=header) != (delimiter, names):
            raise SourceError(f"{name}: the first line of {file.name} does not match that of {files[0].name}")
    quote = quote_text('"' if quotes else "")
    options = (
        f"header = {header}, delim = {quote_text(delimiter)}, quote = {quote}, escape = {quote}, comment = '', "
        f"skip = 0, allow_quoted_nulls = false, null_padding = {padded}, hive_partitioning = false, "
        f"max_line_size = {_LONGEST_LINE}, buffer_size = {_BUFFER}"
    )
    kinds = ", ".join(f"{quote_text(column)}: 'VARCHAR'" for column in names)
    exact = f"read_csv({listed}, {options}, auto_detect = false, columns = {{{kinds}}})"
    typed = f"read_csv({listed}, {options}, names = [{', '.join(map(quote_text, names))}])"
    try:
        columns = describe_columns(connection, typed)
    except duckdb.Error:
        connection.execute(f"SELECT count(*) FROM {exact}").fetchall()  # this error names the line
        raise
    rows = _estimate_rows(files)
    return Source(name, format, typed, columns, exact, delimiter, quotes=quotes, header=header, rows=rows)


def _read_names(file: Path, delimiters: Sequence[str], *, quotes: bool, header: bool) -> tuple[str, list[str]]:
    """Return the delimiter that gives the most fields in the first line, and the names of the columns."""
    found = {}
    try:
        for delimiter in delimiters:
            with TextIOWrapper(open_text(file), "utf-8-sig", "replace", "") as lines:
                fields = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE)
                found[delimiter] = [field.strip() for field in next(fields, [])]
                has_more = bool(lines.read(1))
    except (*_UNREADABLE, csv.Error):
        raise SourceError(f"{file}: the first line cannot be read") from None
    best = max(found, key=lambda delimiter: len(found[delimiter]))
    if not found[best]:
        empty = "the first line" if has_more else "the file"
        raise SourceError(f"{file}: {empty} is empty; expected a first line that names the columns")
    return best, found[best] if header else [str(number + 1) for number in range(len(found[best]))]


def _estimate_rows(files: Sequence[Path]) -> int | None:
    """Return about how many lines some files have, by the start of the first one; None if it cannot be told."""
    try:
        with files[0].open("rb") as raw:
            sample = (gzip.GzipFile(fileobj=raw) if is_zipped(files[0]) else raw).read(_SAMPLE)
            read = raw.tell()  # of a gzipped file, packed bytes
    except _UNREADABLE:
        return None
    return round(sum(file.stat().st_size for file in files) * sample.count(b"\n") / max(read, 1))


def _open_json(connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], listed: str) -> Source:
    if not any(file.stat().st_size for file in files):
        raise SourceError(f"{name}: the file is empty; expected JSON objects, one per line")
    are_arrays = [_is_array(file) for file in files]
    for file, is_array in zip(files, are_arrays, strict=True):
        if is_array and not is_zipped(file):  # gzip checks its own end
            _check_end(file)
    layout = "array" if all(are_arrays) else "newline_delimited" if has_object_per_line(files[0]) else "auto"
    options = f"format = '{layout}', hive_partitioning = false"
    objects = f"SELECT unnest(json_keys(json)) AS key FROM read_json_objects({listed}, {options})"
    keys = dict(connection.execute(f"SELECT key, count(*) FROM ({objects}) GROUP BY key").fetchall())
    if not keys:
        raise SourceError(f"{name}: found no JSON objects with keys; expected one object per line, or an array of them")
    _check_column_names(name, list(keys))
    everything = f"sample_size = -1, maximum_sample_files = {len(files) + 1}"
    columns = describe_columns(connection, f"read_json({listed}, {options}, {everything})")
    rows = max(keys.values())  # objects with the most frequent key, which are usually all
    return Source(name, "json", f"read_json({listed}, {options})", columns, is_array=all(are_arrays), rows=rows)


def _is_array(file: Path) -> bool:
    """Return whether a JSON file is an array, by its first character that is not a space."""
    try:
        with open_text(file) as content:
            start = content.read(_PART).removeprefix(b"\xef\xbb\xbf")
            while start and not start.strip():
                start = content.read(_PART)
    except _UNREADABLE:
        return False  # DuckDB says what is wrong
    return start.lstrip().startswith(b"[")


def _check_end(file: Path) -> None:
    """Raise a SourceError for an array that is cut off, which DuckDB would read up to there."""
    with file.open("rb") as content:
        end = content.seek(0, os.SEEK_END)
        rest = b""
        while end and not rest.strip():
            end = content.seek(max(end - _PART, 0))
            rest = content.read(_PART)
    if not rest.rstrip().endswith(b"]"):
        raise SourceError(f"{file}: the array of JSON objects does not end with ]; the file seems to be incomplete")


def _open_parquet(connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], listed: str) -> Source:
    import pyarrow.parquet as pq

    reader = f"read_parquet({listed}, hive_partitioning = false)"
    columns = describe_columns(connection, reader)
    first, rows = None, 0
    for file in files:
        try:
            footer = pq.read_metadata(file)
            names = list(footer.schema.to_arrow_schema().names)
        except (OSError, UnicodeDecodeError, pa.ArrowException):
            raise SourceError(f"{file}: expected a complete Parquet file") from None
        rows += footer.num_rows
        _check_column_names(name, names)
        first = first or set(names)
        if set(names) != first:
            raise SourceError(f"{name}: the columns of {file.name} do not match those of {files[0].name}")
    return Source(name, "parquet", reader, columns, rows=rows)
