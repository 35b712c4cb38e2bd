"""Bytes of a file that may be plain, gzipped, or inside a zip archive."""

import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from custext_sql.errors import SourceError

_GZIP, _ZIP = b"\x1f\x8b", b"PK"


class Stream:
    """Uncompressed bytes from front to back, with a look ahead."""

    def __init__(self, label: str, raw: IO[bytes], body: Any, size: int) -> None:
        self.label = label
        self._raw, self._body, self._size = raw, body, size
        self._ahead = b""

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        parts = [self._ahead[:size]]
        self._ahead = self._ahead[size:]
        missing = size - len(parts[0])
        while missing:
            try:
                part = self._body.read(missing)
            except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
                raise SourceError(
                    f"{self.label}: the file is damaged or ends too early ({type(error).__name__}); get it again"
                ) from None
            if not part:
                break
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay to be read."""
        if len(self._ahead) < size:
            self._ahead += self.read_past_ahead(size - len(self._ahead))
        return self._ahead[:size]

    def read_past_ahead(self, size: int) -> bytes:
        ahead, self._ahead = self._ahead, b""
        try:
            return self.read(size)
        finally:
            self._ahead = ahead

    def share_read(self) -> float:
        return min(1.0, self._raw.tell() / self._size) if self._size else 1.0

    def close(self) -> None:
        self._body.close()
        self._raw.close()


def open_stream(path: Path, member: str | None = None) -> Stream:
    """The bytes of a file; gzip and zip are recognized by their first bytes."""
    try:
        raw = path.open("rb")
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from None
    label, size, magic = path.name, path.stat().st_size, raw.read(2)
    raw.seek(0)
    if magic == _ZIP:
        return _open_member(raw, label, size, member)
    if member is not None:
        raw.close()
        raise SourceError(f"{label} is not a zip archive, so it has no member {member!r}")
    if magic == _GZIP:
        return Stream(label, raw, pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "gzip"), size)
    return Stream(label, raw, raw, size)


def zip_members(path: Path) -> list[str]:
    """Names of the files in a zip archive; empty if it is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [info.filename for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, OSError):
        return []


def _open_member(raw: IO[bytes], label: str, size: int, member: str | None) -> Stream:
    try:
        archive = zipfile.ZipFile(raw)
        members = [info.filename for info in archive.infolist() if not info.is_dir()]
        if member is None:
            if len(members) != 1:
                names = ", ".join(members) or "none"
                raise SourceError(
                    f"{label}: expected one file in the archive, or its name with --member; found {names}"
                )
            member = members[0]
        elif member not in members:
            raise SourceError(f"{label} has no member {member!r}; it has {', '.join(members) or 'none'}")
        body = archive.open(member)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raw.close()
        raise SourceError(f"{label}: cannot open the zip archive: {error}") from None
    except SourceError:
        raw.close()
        raise
    return Stream(f"{label}/{member}", raw, body, size)
