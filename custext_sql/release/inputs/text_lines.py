"""Plain text: every line is a text and keeps its line end."""

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

_CHUNK = 1 << 20  # bytes read at a time, about


def open_text(file: Path) -> BinaryIO:
    """Open a file of lines for reading, unpacked if its name ends in .gz."""
    return cast(BinaryIO, gzip.open(file, "rb") if is_zipped(file) else file.open("rb"))


def read_line_blocks(source: BinaryIO, name: str, *, has_option: bool = False) -> Iterator[TextColumn]:
    """Yield some lines at a time, each with its line end.

    name: what errors call the source. has_option: whether the caller can be given an encoding.
    """
    number = 1
    while lines := _read_some(source, name):
        content = b"".join(lines)
        decode_utf8(content, name, first_line=number, has_option=has_option)
        offsets = np.zeros(len(lines) + 1, dtype=np.int64)
        np.cumsum([len(line) for line in lines], out=offsets[1:])
        yield TextColumn(np.frombuffer(content, dtype=np.uint8), offsets)
        number += len(lines)


def _read_some(source: BinaryIO, name: str) -> list[bytes]:
    try:
        return source.readlines(_CHUNK)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise SourceError(f"{name}: expected a complete gzip file") from None
