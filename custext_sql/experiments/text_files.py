"""The texts of an experiment: as for a release, except that public TSV files are read in GLUE's format."""

import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from custext_sql.errors import SettingError, SourceError
from custext_sql.release.inputs import texts as release_texts
from custext_sql.release.inputs.encodings import files_as_utf8, find_encoding
from custext_sql.release.inputs.input_files import list_files
from custext_sql.release.inputs.source import Source
from custext_sql.release.inputs.texts import DataFiles, DataTable, Texts, find_format, has_columns, name_texts
from custext_sql.text.columns import TextColumn, open_column
from custext_sql.text.utf8 import decode_lines

__all__ = [
    "DataFiles",
    "DataTable",
    "Texts",
    "check_column_use",
    "has_columns",
    "list_texts",
    "name_texts",
    "read_glue_columns",
    "stream_texts",
]


def stream_texts(
    texts: Texts, column: str | None, rows: int | None = None, *, public: bool = False
) -> Iterator[TextColumn]:
    """Yield texts in blocks as the function of that name for releases does, so that what would be released is measured.

    public: the texts are public. TSV files are then read in GLUE's format, and errors name the parameter public_column.
    """
    if (
        not public
        or column is None
        or not isinstance(texts, (str, os.PathLike, DataFiles))
        or find_format(texts) != "tsv"
    ):
        parameter = "public_column" if public else "column"
        yield from release_texts.stream_texts(texts, column, rows, parameter=parameter)
        return
    given = texts if isinstance(texts, DataFiles) else DataFiles(texts)
    path = os.fspath(given.path)
    with files_as_utf8(path, list_files(path), "tsv", find_encoding(given.encoding)) as files:
        found, _ = read_glue_columns(files, [column])
    yield open_column([text for (text,) in found[:rows]])[0]


def list_texts(texts: Texts, column: str | None, rows: int | None = None, *, public: bool = False) -> list[str | None]:
    """Return the texts that `stream_texts` yields as a list."""
    blocks = stream_texts(texts, column, rows, public=public)
    return [text for block in blocks for text in block.to_arrow().to_pylist()]


def check_column_use(texts: Texts | None, column: str | None, *, public: bool = False) -> None:
    """Raise SettingError if a column is named, but no texts."""
    if column is not None and texts is None:
        option = "--public-column (in Python: public_column)" if public else "--column (in Python: column)"
        raise SettingError(f"{option} names a column of texts, but no texts were given")


def read_glue_columns(
    files: Sequence[Path], wanted: Sequence[str], *, label: bool = False, header: bool = True
) -> tuple[list[tuple[str, ...]], int]:
    """Return columns of TSV files in GLUE's format, and the number of lines skipped because they lack some of them.

    The first line has the names, fields are separated by tabs, and quotes have no meaning. label: the last column holds
    labels; SourceError if one is empty. header: False if all lines are rows; columns are then numbers, from 1.
    """
    rows: list[tuple[str, ...]] = []
    left_out = 0
    for file in files:
        lines = _read_tsv_lines(file)
        places = _find_places(file.name, lines[0].split("\t"), wanted, header=header, label=label)
        for number, line in enumerate(lines, start=1):
            fields = line.split("\t")
            if not line or (header and number == 1):
                continue
            if len(fields) <= max(places):
                left_out += 1
            elif label and not fields[places[-1]]:
                raise SourceError(f"{file.name}, line {number}: expected a label, found none")
            else:
                rows.append(tuple(fields[place] for place in places))
    return rows, left_out


def _find_places(name: str, first: list[str], wanted: Sequence[str], *, header: bool, label: bool) -> list[int]:
    """Return the places of the wanted columns among the fields of the first line."""
    if header:
        source = Source(name, "tsv", "", dict.fromkeys(first, "VARCHAR"))
        try:
            return [first.index(source.find_column(column, wanted)) for column in wanted]
        except SourceError:
            if label and len(first) == 4 and first[1] in ("0", "1") and first[2] in ("", "*"):
                raise SourceError(
                    f"{name}: the first line does not name the columns, as in GLUE's CoLA; number them: --no-header "
                    '--text 4 --label 2 (in Python: header=False, text="4", label="2")'
                ) from None
            raise
    for column in wanted:
        if not column.isdecimal() or not 1 <= int(column) <= len(first):
            raise SourceError(
                f"{name}: column {column!r} does not exist; without a header, columns are numbers from 1 to "
                f"{len(first)} (--text, --label; in Python: text, label)"
            )
    return [int(column) - 1 for column in wanted]


def _read_tsv_lines(file: Path) -> list[str]:
    try:
        content = gzip.decompress(file.read_bytes()) if file.suffix.lower() == ".gz" else file.read_bytes()
    except (OSError, EOFError, zlib.error):
        raise SourceError(f"{file.name}: cannot read the file") from None
    if not content.strip():
        raise SourceError(f"{file.name}: the file is empty")
    return decode_lines(content, file.name)
