"""CSV and TSV files: the first line usually names the columns, no line is skipped, copied columns stay unchanged."""

import csv
import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from custext_sql.errors import SourceError
from custext_sql.files.inputs.file_formats import is_zipped
from custext_sql.files.inputs.source import Source, check_column_names, describe_columns
from custext_sql.store.quoting import quote_text

_LONGEST_LINE = 16 << 20  # bytes of a row; DuckDB's own limit is 2 MB, and that for a JSON object is this
_BUFFER = 32 << 20  # DuckDB's own size, which it would otherwise raise to 16 lines
_SAMPLE = 1 << 20  # bytes in which lines are counted


def open_csv(
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
    """Return CSV or TSV files as a source.

    listed: the files as a list in SQL. quotes: False if they are ordinary characters, so that no field can be quoted.
    header: whether the first line, the same in all files, names the columns; else they are "1", "2", ... padded:
    whether columns that a line lacks are NULL.
    """
    delimiters = ("\t",) if format == "tsv" else (",", ";", "\t", "|")
    delimiter, names = _read_names(files[0], delimiters, quotes=quotes, header=header)
    if not all(names):
        raise SourceError(f"{name}: the first line must name every column; one has no name")
    check_column_names(name, names)
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
    listed_names = ", ".join(map(quote_text, names))
    exact = f"read_csv({listed}, {options}, auto_detect = false, columns = {{{kinds}}})"
    typed = f"read_csv({listed}, {options}, names = [{listed_names}])"
    try:
        columns = describe_columns(connection, typed)
    except duckdb.Error:
        connection.execute(f"SELECT count(*) FROM {exact}").fetchall()  # this error names the line
        raise
    rows = _estimate_rows(files)
    return Source(name, format, typed, columns, exact, delimiter, quotes=quotes, header=header, rows=rows)


def _read_names(file: Path, delimiters: Sequence[str], *, quotes: bool, header: bool) -> tuple[str, list[str]]:
    """Return the delimiter that gives the most fields in the first line, and the names of the columns."""
    opener: Any = gzip.open if is_zipped(file) else open
    found = {}
    try:
        for delimiter in delimiters:
            with opener(file, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
                fields = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE)
                found[delimiter] = [field.strip() for field in next(fields, [])]
                has_more = bool(lines.read(1))
    except (OSError, EOFError, zlib.error, csv.Error):
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
    except (OSError, EOFError, zlib.error):
        return None
    return round(sum(file.stat().st_size for file in files) * sample.count(b"\n") / max(read, 1))
