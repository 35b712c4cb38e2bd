"""What every reader of vectors hands on, and the bytes of files that may be plain, gzipped, or in a zip archive."""

import hashlib
import lzma
import threading
import zipfile
import zlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import pyarrow as pa

from custext_sql.arrays import Points
from custext_sql.errors import SourceError
from custext_sql.text.utf8 import decode_lines

_GZIP = b"\x1f\x8b"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError)
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


class Stream:
    """A forward-only stream of uncompressed bytes, with lookahead."""

    def __init__(self, label: str, raw: IO[bytes], body: Any, size: int) -> None:
        self.label = label
        self._raw, self._body, self._size = raw, body, size
        self._ahead = b""

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes; fewer only at the end. Raise SourceError if the file is damaged."""
        ahead, self._ahead = self._ahead[:size], self._ahead[size:]
        return ahead + self._fetch(size - len(ahead)) if len(ahead) < size else ahead

    def peek(self, size: int) -> bytes:
        """Return the next `size` bytes without consuming them; fewer only at the end."""
        if len(self._ahead) < size:
            self._ahead += self._fetch(size - len(self._ahead))
        return self._ahead[:size]

    def share_read(self) -> float:
        """Return how much of the file has been read, from 0 to 1."""
        return min(1.0, self._raw.tell() / self._size) if self._size else 1.0

    def line_error(self, number: int, message: str) -> SourceError:
        """Return the error for a line."""
        return row_error(self.label, "line", number, message)

    def close(self) -> None:
        """Close the file."""
        self._body.close()
        self._raw.close()

    def _fetch(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            try:
                part = self._body.read(size)
            except _DAMAGE as error:
                raise SourceError(
                    f"{self.label}: the file is damaged or incomplete ({one_line(error)}); download or copy it again"
                ) from None
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def open_stream(path: Path, member: str | None = None) -> Stream:
    """Open a file as a stream of bytes. Gzip and zip are detected by their first bytes.

    member: the file to read in a zip archive. Raise SourceError if the file or the member cannot be read.
    """
    label = label_of(path.name)
    try:
        raw = path.open("rb")
        size, magic = path.stat().st_size, raw.read(4)
        raw.seek(0)
    except OSError as error:
        raise SourceError(f"cannot read {label or 'the file'}: {error.strerror}") from None
    if magic.startswith(_ZIP):
        return _open_member(raw, label, size, member)
    if member is not None:
        raw.close()
        raise SourceError(f"{label}: expected a zip archive, because a member is named; found another kind of file")
    if magic.startswith(_GZIP):
        return Stream(label, raw, pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "gzip"), size)
    return Stream(label, raw, raw, size)


def zip_members(path: Path) -> list[str]:
    """Return the names of the files in a zip archive; empty if the file is not a zip archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _members(archive)
    except (*_DAMAGE, ValueError):
        return []


def _members(archive: zipfile.ZipFile) -> list[str]:
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    return [name for name in names if not name.startswith("__MACOSX/")]  # added by macOS


def _open_member(raw: IO[bytes], label: str, size: int, member: str | None) -> Stream:
    try:
        archive = zipfile.ZipFile(raw)
        members = _members(archive)
        found = ", ".join(map(label_of, members[:10])) + (f" and {len(members) - 10} more" if members[10:] else "")
        if member is None and len(members) != 1:
            raise SourceError(
                f"{label}: expected one file in the archive; name one with --member (in Python: member=...); "
                f"found {found or 'no files'}"
            )
        if member is not None and member not in members:
            raise SourceError(f"{label}: member {member!r} does not exist; members: {found or 'none'}")
        member = member or members[0]
        body = archive.open(member)
    except SourceError:
        raw.close()
        raise
    except (*_DAMAGE, ValueError) as error:
        raw.close()
        raise SourceError(f"{label}: cannot open the zip archive: {one_line(error)}") from None
    return Stream(f"{label}/{label_of(member)}", raw, body, size)


def read_all_lines(path: Path) -> tuple[str, list[str]]:
    """Return the name of a file for messages, and all its lines without line ends."""
    stream = open_stream(path)
    try:
        content = bytearray()
        while chunk := stream.read(1 << 24):
            content += chunk
    finally:
        stream.close()
    return stream.label, decode_lines(content, stream.label)
