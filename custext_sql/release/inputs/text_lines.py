"""Plain text: every line is a text, and keeps its end as it is."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from custext_sql.errors import SourceError
from custext_sql.release.inputs.file_formats import is_zipped
from custext_sql.text.columns import TextColumn
from custext_sql.text.utf8 import decode_utf8

_CHUNK = 1 << 20  # bytes handled at a time, about


def open_text(file: Path) -> BinaryIO:
    """Open a file of lines to be read, gzipped if its name says so."""
    return cast(BinaryIO, gzip.open(file, "rb") if is_zipped(file) else file.open("rb"))


def read_line_blocks(source: BinaryIO, name: str) -> Iterator[TextColumn]:
    """Yield some lines at a time, each with its end. name: of the source, for errors."""
    number = 1
    while lines := _read_some(source, name):
        content = b"".join(lines)
        decode_utf8(content, name, first_line=number)
        offsets = np.zeros(len(lines) + 1, dtype=np.int64)
        np.cumsum([len(line) for line in lines], out=offsets[1:])
        yield TextColumn(np.frombuffer(content, dtype=np.uint8), offsets)
        number += len(lines)


def _read_some(source: BinaryIO, name: str) -> list[bytes]:
    try:
        return source.readlines(_CHUNK)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise SourceError(f"{name}: expected a whole gzip file") from None
