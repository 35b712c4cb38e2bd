"""The user's texts, however they are named: files, folders, patterns, tables of DuckDB files, or sequences."""

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from custext_sql.errors import ForeignFileError, SettingError, SourceError
from custext_sql.files.duckdb_instances import open_instance
from custext_sql.files.inputs.data_files import open_files
from custext_sql.files.inputs.encodings import files_as_utf8, find_encoding, open_text, read_line_blocks
from custext_sql.files.inputs.file_formats import STANDARD, check_csv_options, choose_format, list_files, tell_format
from custext_sql.files.inputs.source import Source, choose_reader, is_custext, open_table, read_record
from custext_sql.parameters import check_type
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.quoting import quote_name
from custext_sql.text.columns import TextColumn, open_column

AnyPath = str | os.PathLike[str]

_ROWS = 1 << 11  # rows of a block, as in DuckDB; many more rows of long texts would not fit into memory


@dataclass(frozen=True)
class DataTable:
    """A table or view of a DuckDB file, with its schema where needed; the file is only read."""

    path: str | os.PathLike[str]
    table: str


@dataclass(frozen=True)
class DataFiles:
    """A file, a folder or a pattern of files, with what their names and contents do not tell.

    format: csv, tsv, json, parquet or text; None if the names tell it. encoding: by Python's name for it, such as
    "latin-1"; None for UTF-8. quotes: False if quotes are ordinary characters in CSV or TSV files, as in GLUE's.
    header: False if the first line of CSV or TSV files is a row, as in GLUE's CoLA; columns are then "1", "2", ...
    """

    path: str | os.PathLike[str]
    format: str | None = None
    encoding: str | None = None
    quotes: bool = True
    header: bool = True


Texts = AnyPath | DataFiles | DataTable | Sequence[str | None]  # a path, a table, or the texts themselves


@dataclass(frozen=True)
class TextRows:
    """A block of rows. column: the name of the column of texts, if they have one. ids: the IDs in the record column.

    share: about what share of all rows has been read, up to the end of this block.
    """

    texts: TextColumn
    column: str | None = None
    ids: pa.Array | None = None
    share: float = 1.0


@dataclass(frozen=True)
class OpenTexts:
    """Texts that are open for reading: rows of a connection, or lines of files."""

    connection: duckdb.DuckDBPyConnection
    source: Source
    files: Sequence[Path] = ()


def name_texts(texts: Texts) -> str:
    """Return the name of texts in results: that of the file, with the table if there is one; "texts" for a sequence."""
    if isinstance(texts, DataTable):
        return f"{Path(texts.path).name}, table {texts.table}"
    path = texts.path if isinstance(texts, DataFiles) else texts
    return Path(path).name if isinstance(path, (str, os.PathLike)) else "texts"


def has_columns(texts: Texts) -> bool:
    """Return whether texts are in columns, rather than lines of text or a sequence."""
    if isinstance(texts, (str, os.PathLike, DataFiles)):
        return find_format(texts) != "text"
    return isinstance(texts, DataTable)


def list_columns(texts: AnyPath | DataFiles | DataTable) -> list[str]:
    """Return the names of the columns of files or of a table, as a release reads them; none for lines of text.

    SourceError if they cannot be read.
    """
    kinds = (str, os.PathLike, DataFiles, DataTable)
    check_type(texts, kinds, "expected the path of a file, DataFiles or a DataTable")
    with open_texts(texts) as opened:
        return [] if opened.source.format == "text" else list(opened.source.columns)


def find_format(files: AnyPath | DataFiles) -> str:
    """Return the format of files: the given one, else that of their names; SourceError if they do not tell it."""
    given = _as_files(files)
    name = os.fspath(given.path)
    if name == STANDARD:
        raise SettingError("standard input can only be sanitized; save the data to a file first")
    format = choose_format(name, given.format, "DataTable")
    check_csv_options(name, format, quotes=given.quotes, header=given.header)
    return format


@contextmanager
def open_texts(texts: AnyPath | DataFiles | DataTable, *, padded: bool = False) -> Iterator[OpenTexts]:
    """Open files or a table for reading, within bounded memory. Errors quote no data.

    padded: read columns that a line lacks as NULL, in CSV and TSV files without quoting; else such a line is an error.
    """
    if isinstance(texts, DataTable):
        with _open_data(Path(texts.path)) as connection:
            yield OpenTexts(connection, open_table(connection, os.fspath(texts.path), texts.table))
        return
    given, format = _as_files(texts), find_format(texts)
    name, encoding = os.fspath(given.path), find_encoding(given.encoding)
    with files_as_utf8(name, list_files(name), format, encoding) as files, open_instance() as connection:
        options = {"quotes": given.quotes, "header": given.header, "padded": padded and not given.quotes}
        yield OpenTexts(connection, open_files(connection, name, files, format=format, **options), files)


def stream_texts(texts: Texts, column: str | None, rows: int | None = None) -> Iterator[TextColumn]:
    """Yield texts in blocks, including missing ones. Lines keep their line ends.

    column: the column of files or of a table; None for lines of text and for a sequence. rows: how many at most, from
    the top. SettingError if a column is named but there are none, or if there are columns and none is named.
    """
    with closing(stream_rows(texts, column)) as blocks:
        for block in blocks:
            if rows is None:
                yield block.texts
                continue
            yield block.texts[slice(0, min(rows, len(block.texts)))]
            rows -= len(block.texts)
            if rows <= 0:
                return


def list_texts(texts: Texts, column: str | None, rows: int | None = None) -> list[str | None]:
    """Return the texts that `stream_texts` yields as a list."""
    return [text for block in stream_texts(texts, column, rows) for text in block.to_arrow().to_pylist()]


def stream_rows(texts: Texts, column: str | None, record_column: str | None = None) -> Generator[TextRows]:
    """Yield texts in blocks as `stream_texts` does, each with the IDs in the record column, as a release reads them."""
    if not isinstance(texts, (str, os.PathLike, DataFiles, DataTable)):
        yield TextRows(_open_sequence(texts, column, record_column))
        return
    with open_texts(texts) as opened:
        source = opened.source
        if source.format == "text":
            if column is not None or record_column is not None:
                name = "record_column" if column is None else "column"
                option = f"--{name.replace('_', '-')}"
                raise SettingError(f"{source.name}: plain text has no columns; leave out {option} (in Python: {name})")
            yield from _stream_lines(source.name, opened.files)
            return
        if column is None:
            raise SettingError(
                f"{source.name}: name the column of the texts: --column NAME (in Python: column=...); "
                f"{source.tell_columns()}"
            )
        yield from _stream_columns(opened, column, record_column)


def _stream_columns(opened: OpenTexts, column: str, record_column: str | None) -> Iterator[TextRows]:
    source = opened.source
    typed = [column, *([] if record_column is None else [record_column])]
    chosen = source.find_text_column(column, typed)
    record = None if record_column is None else source.find_column(record_column, typed)
    reader = choose_reader(source, [chosen], record, source.format)
    fields = [f"CAST({quote_name(chosen)} AS VARCHAR) AS custext_text"]
    fields += [] if record is None else [f"{read_record(source, record, source.format)} AS custext_record"]
    with safe_errors(names=source.list_names(typed)):
        query = f"SELECT {', '.join(fields)} FROM {reader}"
        read = 0
        for batch in opened.connection.sql(query).to_arrow_reader(_ROWS):
            read += batch.num_rows
            share = min(1.0, read / source.rows) if source.rows else 1.0
            ids = None if record is None else batch.column(1)
            yield TextRows(TextColumn.from_arrow(batch.column(0)), chosen, ids, share)


def _stream_lines(name: str, files: Sequence[Path]) -> Iterator[TextRows]:
    sizes = [file.stat().st_size for file in files]
    total, before = max(sum(sizes), 1), 0
    for file, size in zip(files, sizes, strict=True):
        with open_text(file) as lines:
            for block in read_line_blocks(lines, name if len(files) == 1 else str(file)):
                share = min(1.0, (before + lines.tell()) / total)  # a gzipped file unpacks to more than its size
                yield TextRows(block, share=share)
        before += size


def _open_sequence(texts: Any, column: str | None, record_column: str | None) -> TextColumn:
    if not hasattr(texts, "__iter__"):
        raise SettingError(
            f"expected the path of a file, a DataTable or a sequence of texts; found {type(texts).__name__}"
        )
    for given, name in ((column, "column"), (record_column, "record_column")):
        if given is not None:
            raise SettingError(f"a sequence of texts has no columns; leave out {name}")
    return open_column(list(texts))[0]


def _as_files(files: AnyPath | DataFiles) -> DataFiles:
    return files if isinstance(files, DataFiles) else DataFiles(files)


@contextmanager
def _open_data(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB file for reading; SourceError for a custext database, which contains no texts of users."""
    if not path.exists():
        raise SourceError(f"{path} does not exist; expected a DuckDB file")
    try:
        with open_instance(path, read_only=True) as connection:
            if is_custext(connection):
                raise SourceError(f"{path} is a custext database; expected a DuckDB file with your texts")
            yield connection
    except ForeignFileError:
        hint = "; to read a file of texts, leave out --table (in Python: pass its path)" if tell_format(path) else ""
        raise SourceError(f"{path} is not a DuckDB file{hint}") from None
