"""The texts of an experiment: a column or the lines of a file, or a sequence of texts."""

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
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
    """Return the name of texts in results: the name of the file, or "texts" if there is no file."""
    return Path(texts).name if isinstance(texts, (str, os.PathLike)) else "texts"


def has_columns(texts: Texts) -> bool:
    """Return whether texts are a file with columns, rather than lines of text or a sequence."""
    return isinstance(texts, (str, os.PathLike)) and tell_format(os.fspath(texts)) != "text"


def stream_texts(
    texts: Texts, column: str | None, rows: int | None = None, *, parameter: str = "column"
) -> Iterator[TextColumn]:
    """Yield texts in blocks, including missing ones.

    column: a column of the file; None for lines of text and for a sequence. rows: how many at most, from the top.
    parameter: the parameter in which callers name the column. SettingError if a column is named but there are none, or
    if the file has columns and none is named.
    """
    if isinstance(texts, (str, os.PathLike)):
        blocks = _stream_file(os.fspath(texts), column, rows, parameter)
    elif not isinstance(texts, Iterable):
        raise SettingError(f"expected the path of a file or a sequence of texts; found {type(texts).__name__}")
    elif column is not None:
        raise SettingError(f"a sequence of texts has no columns; leave out {parameter}")
    else:
        blocks = iter([open_column(list(texts))[0]])
    seen = 0
    for block in blocks:
        some = block if rows is None else block[slice(0, min(len(block), rows - seen))]
        seen += len(some)
        yield some
        if rows is not None and seen >= rows:
            return


def list_texts(
    texts: Texts, column: str | None, rows: int | None = None, *, parameter: str = "column"
) -> list[str | None]:
    """Return the texts that `stream_texts` yields as a list. Lines keep their line ends."""
    blocks = stream_texts(texts, column, rows, parameter=parameter)
    return [text for block in blocks for text in block.to_arrow().to_pylist()]


def read_glue_columns(path: str, wanted: Sequence[str], *, label: bool = False) -> tuple[list[tuple[str, ...]], int]:
    """Return columns of TSV files in GLUE's format, and the number of lines skipped because they lack some of them.

    The first line has the names, fields are separated by tabs, and quotes have no meaning. label: the last column holds
    labels; SourceError if one is empty.
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


def _stream_file(path: str, column: str | None, rows: int | None, parameter: str) -> Iterator[TextColumn]:
    files = list_files(path)
    found = tell_format(files[0])
    if (found == "text") != (column is None):
        option = f"--{parameter.replace('_', '-')}"
        raise SettingError(
            f"{path}: plain text has no columns; leave out {option} (in Python: {parameter})"
            if column is not None
            else f"{path}: name the column of the texts: {option} NAME (in Python: {parameter}=...)"
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
        raise SourceError(f"{file.name}: cannot read the file") from None
    if not content.strip():
        raise SourceError(f"{file.name}: the file is empty")
    return decode_lines(content, file.name)
