"""The first texts of a file before and after, for the eyes of their owner; nothing is released."""

import os
from typing import Any

from custext_sql.errors import SettingError
from custext_sql.release.duckdb_instances import open_instance
from custext_sql.release.inputs.data_files import open_files
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
    database: Database = None,
    **settings: Any,
) -> list[list[Piece]]:
    """Return the first texts of a file before and after, each as pieces; missing texts have none.

    column: which column of the file; lines of text have none. settings: those of `Sanitizer.load`. Nothing is entered
    in the ledger: what is returned holds the originals.
    """
    sanitizer = Sanitizer.load(database, **settings)
    return sanitizer.compare(read_first_texts(os.fspath(input), column, rows))


def read_first_texts(given: str, column: str | None, rows: int) -> list[str | None]:
    """Return the first texts of a column of files, or the first lines without their ends."""
    files = list_files(given)
    with open_instance() as connection:
        source = open_files(connection, given, files)
        if source.format == "text":
            if column is not None:
                raise SettingError(f"{given}: lines have no columns; name none (--column, column)")
            with open_text(files[0]) as lines:
                first = next(read_line_blocks(lines, given), None)
            return [] if first is None else [line.rstrip("\r\n") for line in first.to_arrow().to_pylist()[:rows]]
        if column is None:
            raise SettingError(f"{given}: name the column to show (--column NAME, column=...); {source.tell_columns()}")
        name = quote_name(source.find_text_column(column))
        with safe_errors():
            found = fetch(connection, f"SELECT CAST({name} AS VARCHAR) FROM {source.reader} LIMIT {rows}")
    return [text for (text,) in found]
