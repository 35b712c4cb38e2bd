"""The first texts of a file before and after, for their owner to look at; nothing is released."""

import os
from typing import Any

from custext_sql.errors import SettingError
from custext_sql.release.duckdb_instances import open_instance
from custext_sql.release.inputs.data_files import open_files
from custext_sql.release.inputs.encodings import files_as_utf8, find_encoding
from custext_sql.release.inputs.file_formats import check_format, check_no_database, explain_unknown_format, tell_format
from custext_sql.release.inputs.input_files import list_files
from custext_sql.release.inputs.text_lines import open_text, read_line_blocks
from custext_sql.replacing.replacer import Piece
from custext_sql.sanitizer import Sanitizer
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.database import Database
from custext_sql.store.files.quoting import quote_name


def compare_file(
    input: str | os.PathLike[str],
    *,
    column: str | None = None,
    rows: int = 5,
    format: str | None = None,
    encoding: str | None = None,
    database: Database = None,
    **settings: Any,
) -> list[list[Piece]]:
    """Return the first texts of a file before and after, each as a list of pieces; a missing text has no pieces.

    column: the column of the file; lines of text have none. rows: how many texts at most. format, encoding: as for
    `sanitize_file`. settings: those of `Sanitizer.load`. Nothing is entered in the ledger, because the result holds the
    originals.
    """
    if os.fspath(input) == "-":
        raise SettingError("standard input cannot be compared; save the data to a file first")
    sanitizer = Sanitizer.load(database, **settings)
    return sanitizer.compare(_read_first_texts(os.fspath(input), column, rows, format, find_encoding(encoding)))


def _read_first_texts(
    given: str, column: str | None, rows: int, format: str | None, encoding: str | None
) -> list[str | None]:
    """Return the first texts of a column of files, or the first lines without their line ends."""
    originals = list_files(given)
    check_no_database(given)
    known = tell_format(originals[0]) if format is None else check_format(format)
    if known is None:
        raise explain_unknown_format(given, has_option=True)
    with files_as_utf8(given, originals, known, encoding) as files, open_instance() as connection:
        source = open_files(connection, given, files, format=known)
        if source.format == "text":
            if column is not None:
                raise SettingError(f"{given}: plain text has no columns; leave out --column")
            with open_text(files[0]) as lines:
                first = next(read_line_blocks(lines, given, has_option=True), None)
            return [] if first is None else [line.rstrip("\r\n") for line in first.to_arrow().to_pylist()[:rows]]
        if column is None:
            raise SettingError(f"{given}: name the column to show: --column NAME; {source.tell_columns()}")
        name = quote_name(source.find_text_column(column))
        with safe_errors():
            found = fetch(connection, f"SELECT CAST({name} AS VARCHAR) FROM {source.reader} LIMIT {rows}")
    return [text for (text,) in found]
