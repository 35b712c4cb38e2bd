"""The texts of an experiment: a file's column or lines, or a sequence of texts, as columns or as a list."""

import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from custext_sql.errors import SettingError, SourceError
from custext_sql.release.duckdb_instances import open_instance
from custext_sql.release.inputs.data_files import open_files
from custext_sql.release.inputs.file_formats import tell_format
from custext_sql.release.inputs.input_files import list_files
from custext_sql.release.inputs.source import Source
from custext_sql.release.inputs.text_lines import open_text, read_line_blocks
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.files.quoting import quote_name
from custext_sql.text.columns import TextColumn, open_column
from custext_sql.text.utf8 import decode_lines

Texts = str | os.PathLike[str] | Sequence[str | None]  # the path of a file, or texts


def name_texts(texts: Texts) -> str:
    """Return what texts are called in results: the file's name, or "texts" where there is no file."""
    return Path(texts).name if isinstance(texts, (str, os.PathLike)) else "texts"


def stream_texts(texts: Texts, column: str | None, rows: int | None = None) -> Iterator[TextColumn]:
    """Yield texts in blocks, missing ones included.

    column: which column of a file; None for lines of text and for a sequence. rows: how many at most, from the top.
    SettingError if a column is named where there are none, or not named where there are some.
    """
    if isinstance(texts, (str, os.PathLike)):
        blocks = _stream_file(os.fspath(texts), column, rows)
    elif column is not None:
        raise SettingError("a sequence of texts has no columns; leave column out")
    else:
        blocks = iter([open_column(list(texts))[0]])
    seen = 0
    for block in blocks:
        some = block if rows is None else block[slice(0, min(len(block), rows - seen))]
        seen += len(some)
        yield some
        if rows is not None and seen >= rows:
            return


def list_texts(texts: Texts, column: str | None, rows: int | None = None) -> list[str | None]:
    """Return the texts that `stream_texts` yields as a list; lines keep their ends."""
    return [text for block in stream_texts(texts, column, rows) for text in block.to_arrow().to_pylist()]


def read_glue_columns(path: str, wanted: Sequence[str], *, label: bool = False) -> tuple[list[tuple[str, ...]], int]:
    """Return columns of TSV files as GLUE has them, and how many lines do not have them all.

    The first line has the names, tabs stand between fields, and quotes mean nothing. label: whether the last of the
    columns may not be empty (SourceError).
    """
    rows: list[tuple[str, ...]] = []
    left_out = 0
    for file in list_files(path):
        lines = _read_tsv_lines(file)
        header = lines[0].split("\t")
        source = Source(file.name, "tsv", "", dict.fromkeys(header, "VARCHAR"))
        places = [header.index(source.find_column(name, wanted)) for name in wanted]
        for number, line in enumerate(lines[1:], start=2):
            fields = line.split("\t")
            if not line:
                continue
            if len(fields) <= max(places):
                left_out += 1
            elif label and not fields[places[-1]]:
                raise SourceError(f"{file.name}, line {number}: expected a label, found none")
            else:
                rows.append(tuple(fields[place] for place in places))
    return rows, left_out


def _stream_file(path: str, column: str | None, rows: int | None) -> Iterator[TextColumn]:
    files = list_files(path)
    found = tell_format(files[0])
    if (found == "text") != (column is None):
        raise SettingError(
            f"{path}: lines have no columns; leave column (--column) out"
            if column is not None
            else f"{path}: name the column of the texts with column (--column NAME)"
        )
    return _stream_lines(path, files) if column is None else _stream_column(path, files, found, column, rows)


def _stream_lines(path: str, files: Sequence[Path]) -> Iterator[TextColumn]:
    for file in files:
        with open_text(file) as lines:
            yield from read_line_blocks(lines, path)


def _stream_column(
    path: str, files: Sequence[Path], format: str | None, column: str, rows: int | None
) -> Iterator[TextColumn]:
    if format == "tsv":
        yield open_column([text for (text,) in read_glue_columns(path, [column])[0]])[0]
        return
    with open_instance() as connection:
        source = open_files(connection, path, files)
        name = quote_name(source.find_text_column(column))
        limit = "" if rows is None else f" LIMIT {rows}"
        with safe_errors(names=source.list_names([column])):
            query = f"SELECT CAST({name} AS VARCHAR) FROM {source.reader}{limit}"
            reader = connection.sql(query).to_arrow_reader(1 << 16)
            for batch in reader:
                yield TextColumn.from_arrow(batch.column(0))


def _read_tsv_lines(file: Path) -> list[str]:
    try:
        content = gzip.decompress(file.read_bytes()) if file.suffix.lower() == ".gz" else file.read_bytes()
    except (OSError, EOFError, zlib.error):
        raise SourceError(f"{file.name}: the file cannot be read") from None
    if not content.strip():
        raise SourceError(f"{file.name}: the file is empty")
    return decode_lines(content, file.name)
