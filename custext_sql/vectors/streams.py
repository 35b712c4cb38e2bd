"""Reads the bytes of a file that may be plain, gzipped, or inside a zip archive."""

import lzma
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from custext_sql.errors import SourceError
from custext_sql.text.utf8 import decode_lines
from custext_sql.vectors.source import label_of, one_line

_GZIP = b"\x1f\x8b"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError)


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
