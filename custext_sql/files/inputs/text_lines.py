"""Plain text: every line is a text and keeps its line end."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from custext_sql.errors import SourceError
from custext_sql.files.inputs.file_formats import is_zipped
from custext_sql.text.columns import TextColumn
from custext_sql.text.utf8 import decode_utf8

_CHUNK = 1 << 20  # bytes read at a time, about
_LONGEST_LINE = 16 << 20  # bytes, as in CSV files
_NEW_LINE = ord("\n")


def open_text(file: Path) -> BinaryIO:
    """Open a file of lines for reading, unpacked if its name ends in .gz."""
    return cast(BinaryIO, gzip.open(file, "rb") if is_zipped(file) else file.open("rb"))


def read_line_blocks(source: BinaryIO, name: str, *, has_option: bool = False) -> Iterator[TextColumn]:
    """Yield some lines at a time, each with its line end.

    name: what errors call the source. has_option: whether the caller can be given an encoding.
    """
    number = 1
    while content := _read_some(source, name):
        decode_utf8(content, name, first_line=number, has_option=has_option)
        text = np.frombuffer(content, dtype=np.uint8)
        ends = (text == _NEW_LINE).nonzero()[0] + 1
        rest = [] if len(ends) and ends[-1] == len(text) else [len(text)]
        yield TextColumn(text, np.concatenate([[0], ends, rest]).astype(np.int64))
        number += len(ends)


def _read_some(source: BinaryIO, name: str) -> bytes:
    """Return the next lines, all of them complete. SourceError if one is too long for memory."""
    try:
        content = source.read(_CHUNK)
        if content and not content.endswith(b"\n"):
            content += source.readline(_LONGEST_LINE + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise SourceError(f"{name}: expected a complete gzip file") from None
    if len(content) - content.rfind(b"\n", 0, -1) > _LONGEST_LINE + 2:
        raise SourceError(f"{name}: a line is longer than the 16 MB that can be read; split it into several lines")
    return content
