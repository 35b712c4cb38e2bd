"""The interface of all readers: an opened source, its batches, and its errors."""

import hashlib
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from custext_sql.arrays import Points
from custext_sql.errors import SourceError

_KNOWN = (  # phrases of zipfile, zlib, NumPy and Arrow for files that are damaged or of another format
    "Bad CRC-32",
    "File is not a zip file",
    "password required",
    "That compression method is not supported",
    "Error -3 while decompressing data",
    "zlib inflate failed",
    "Truncated compressed stream",
    "Compressed file ended before the end-of-stream marker was reached",
    "Object arrays cannot be loaded when allow_pickle=False",
    "This file contains pickled (object) data",
    "Parquet magic bytes not found in footer",
    "Couldn't deserialize thrift",
    "Unexpected end of stream",
)


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a source. first: the number of the first row, as the source counts them."""

    words: Sequence[str]
    vectors: Points
    first: int


@dataclass(frozen=True)
class VectorSource:
    """An opened source of word vectors; a context manager that closes it.

    label: its name in messages. unit: what messages call its rows ("line", "row", "word").
    share_read: returns how much of it has been read, from 0 to 1. digest: returns the sha256 of the source, in hex.
    """

    label: str
    format: str
    unit: str
    batches: Generator[Batch, None, None]
    share_read: Callable[[], float]
    digest: Callable[[], str]
    close: Callable[[], None] | None = None

    def __enter__(self) -> "VectorSource":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.batches.close()
        if self.close is not None:
            self.close()

    def error(self, number: int, message: str) -> SourceError:
        """Return the error for one row."""
        return row_error(self.label, self.unit, number, message)


class FileDigest:
    """The sha256 of a file, computed when called; another thread may cancel it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cancelled = threading.Event()

    def __call__(self) -> str:
        digest = hashlib.sha256()
        with self._path.open("rb") as file:
            while not self._cancelled.is_set() and (part := file.read(1 << 20)):
                digest.update(part)
        return digest.hexdigest()

    def cancel(self) -> None:
        """Make a running computation end early; its result is then meaningless."""
        self._cancelled.set()


def row_error(label: str, unit: str, number: int, message: str) -> SourceError:
    """Return the error for a row: "vectors.txt, line 812: expected 300 numbers, found 299"."""
    return SourceError(f"{label}, {unit} {number}: {message}")


def one_line(error: BaseException) -> str:
    """Return on one line why a library failed: a known phrase of its message, else the type of the error.

    Other messages may quote the file: NumPy quotes the header of an array that it cannot read.
    """
    known = next((words for words in _KNOWN if words in str(error)), None)
    return known or getattr(error, "strerror", None) or type(error).__name__


def label_of(name: str) -> str:
    """Return a file name for messages and the database: printable and valid Unicode."""
    return "".join(character if character.isprintable() else "\ufffd" for character in name)
