"""Files of text: unpacked, in any encoding, as lines. What is not UTF-8 is copied as UTF-8 into a private folder."""

import codecs
import gzip
import io
import shutil
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from encodings.aliases import aliases
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from custext_sql.errors import CusTextError, QueryError, SettingError, SourceError
from custext_sql.files.inputs.file_formats import is_zipped
from custext_sql.parameters import check_type, find_closest
from custext_sql.store.outputs import named_full_disk, scratch_folder
from custext_sql.text.columns import TextColumn
from custext_sql.text.utf8 import SAMPLE, decode_utf8

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_UTF8 = "utf-8"
_COMMON = (
    "utf-8",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
    "latin-1",
    "cp1252",
    "iso8859-15",
    "cp1251",
    "gb18030",
)
_NO_FILES = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"})  # not for files
_MARK = "\ufeff"
_CHUNK = 1 << 20  # bytes read at a time, about
_LONGEST_LINE = 16 << 20  # bytes, as in CSV files
_NEW_LINE = ord("\n")


def find_encoding(name: str | None) -> str | None:
    """Return the name of an encoding if Python knows it, None for UTF-8; SettingError if there is no such encoding."""
    if name is None:
        return None
    check_type(name, str, "encoding must be a name such as latin-1")
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):  # the latter for a NUL in the name
        found = None
    if found is None:
        known = dict.fromkeys((*_COMMON, *aliases, *aliases.values()))
        known.pop(name.lower(), None)  # an encoding that only Windows has
        nearest = find_closest(name.lower(), _COMMON) or find_closest(name.lower(), known)
        hint = f"did you mean {nearest!r}?" if nearest else f"common encodings: {', '.join(_COMMON)}"
        raise SettingError(f"encoding {name[:40]!r} does not exist; {hint}")
    if not getattr(found, "_is_text_encoding", True) or found.name.replace("-", "_") in _NO_FILES:
        raise SettingError(f"{name!r} is not an encoding of text files; common encodings: {', '.join(_COMMON)}")
    return None if found.name in (_UTF8, "utf-8-sig") else name


def check_encoding_use(name: str, format: str | None) -> None:
    """Raise a SettingError if files of a format cannot have an encoding. name: what errors call the files."""
    if format == "parquet":
        raise SettingError(
            f"{name}: Parquet always stores text as UTF-8; leave out --encoding (in Python: encoding), which is for "
            "CSV, TSV, JSON and lines of text"
        )


def _check_encodings(labels: dict[Path, str]) -> None:
    """Raise a SourceError if a file starts with something other than UTF-8."""
    for file, label in labels.items():
        with _unpacked(file, label) as stream:
            start = stream.read(SAMPLE)
        decode_utf8(_cut_last_character(start) if len(start) == SAMPLE else start, label, has_option=True)


@contextmanager
def _explained_encodings(labels: dict[Path, str]) -> Iterator[None]:
    """Within it, an error of a reader becomes one that names the encoding, if a file turns out not to be UTF-8."""
    try:
        yield
    except QueryError:
        for file, label in labels.items():
            with _unpacked(file, label) as stream:
                number = 1
                while lines := stream.readlines(_CHUNK):
                    decode_utf8(b"".join(lines), label, first_line=number, has_option=True)
                    number += len(lines)
        raise


@contextmanager
def files_as_utf8(
    name: str, files: Sequence[Path], format: str | None, encoding: str | None = None
) -> Iterator[Sequence[Path]]:
    """Yield files that readers can take for UTF-8: the given ones, or copies of them in a private folder.

    name: what errors call the files. encoding: theirs, as `find_encoding` returns it; with None, they are checked.
    Within it, errors name the original files, and the encoding of one that turns out not to be UTF-8.
    """
    if encoding is not None:
        check_encoding_use(name, format)
    if format == "parquet":
        yield files
        return
    labels = {file: name if len(files) == 1 else str(file) for file in files}
    if encoding is None:
        _check_encodings(labels)
        if format != "json" or not any(map(_has_mark, files)):
            with _explained_encodings(labels):
                yield files
            return
    with scratch_folder() as folder:
        copies = []
        for number, (file, label) in enumerate(labels.items()):
            copy = folder / str(number) / (file.name[:-3] if is_zipped(file) else file.name)
            copy.parent.mkdir(mode=0o700)
            with _unpacked(file, label) as stream, named_full_disk(folder.parent), copy.open("wb") as made:
                shutil.copyfileobj(read_as_utf8(stream, encoding or _UTF8, label), made, _CHUNK)
            copies.append(copy)
        if format != "text":  # lines are checked as they are read
            _check_encodings(dict(zip(copies, labels.values(), strict=True)))
        with renamed_errors({str(copy): str(file) for copy, file in zip(copies, files, strict=True)}):
            yield copies


@contextmanager
def renamed_errors(names: dict[str, str]) -> Iterator[None]:
    """Within it, errors call files by other names: those that the user knows instead of private copies."""
    try:
        yield
    except CusTextError as error:
        message = str(error)
        for private, known in names.items():
            message = message.replace(private, known)
        if message == str(error):
            raise
        raise type(error)(message) from None


def read_as_utf8(stream: BinaryIO, encoding: str, label: str) -> BinaryIO:
    """Return a stream that reads another one, in the given encoding, as UTF-8 without a byte order mark.

    Bytes that cannot be decoded are a SourceError with the label and the line. The other stream stays open.
    """
    return io.BufferedReader(_Transcoder(stream, encoding, label), _CHUNK)


class _Transcoder(io.RawIOBase):
    """Reads a stream in some encoding as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str, label: str) -> None:
        self._stream, self._encoding, self._label = stream, encoding, label
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = memoryview(b"")
        self._line = 1
        self._is_start, self._is_end = True, False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        while not self._ready and not self._is_end:
            chunk = self._stream.read(_CHUNK)
            self._is_end = not chunk
            self._ready = memoryview(self._convert(chunk))
        target = memoryview(buffer).cast("B")
        size = min(len(target), len(self._ready))
        target[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _convert(self, chunk: bytes) -> bytes:
        try:
            text = self._decoder.decode(chunk, final=self._is_end)
            if self._is_start and text:
                text, self._is_start = text.removeprefix(_MARK), False
            self._line += text.count("\n")
            return text.encode()
        except UnicodeError as error:
            raise SourceError(
                f"{self._label}, line {self._line + _count_before(error)}: not {self._encoding}; name another encoding "
                "with --encoding (in Python: encoding=...)"
            ) from None


def _count_before(error: UnicodeError) -> int:
    """Return the number of line ends between the start of a chunk and the bytes that cannot be decoded."""
    if not isinstance(error, UnicodeDecodeError):
        return 0
    return error.object[: error.start].decode(error.encoding, errors="replace").count("\n")


def open_text(file: Path, mode: str = "rb") -> BinaryIO:
    """Open a file of text as bytes, unpacked or packed if its name ends in .gz."""
    return cast(BinaryIO, gzip.open(file, mode) if is_zipped(file) else file.open(mode))


@contextmanager
def _explained_gzip(label: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise SourceError(f"{label}: expected a complete gzip file") from None


@contextmanager
def _unpacked(file: Path, label: str) -> Iterator[BinaryIO]:
    with _explained_gzip(label), open_text(file) as stream:
        yield stream


def read_line_blocks(source: BinaryIO, name: str) -> Iterator[TextColumn]:
    """Yield some lines at a time, each a text with its line end. name: what errors call the source."""
    number = 1
    while content := _read_lines(source, name):
        decode_utf8(content, name, first_line=number, has_option=True)
        text = np.frombuffer(content, dtype=np.uint8)
        ends = (text == _NEW_LINE).nonzero()[0] + 1
        rest = [] if len(ends) and ends[-1] == len(text) else [len(text)]
        yield TextColumn(text, np.concatenate([[0], ends, rest]).astype(np.int64))
        number += len(ends)


def _read_lines(source: BinaryIO, name: str) -> bytes:
    """Return the next lines, all of them complete. SourceError if one is too long for memory."""
    with _explained_gzip(name):
        content = source.read(_CHUNK)
        if content and not content.endswith(b"\n"):
            content += source.readline(_LONGEST_LINE + 1)
    if len(content) - content.rfind(b"\n", 0, -1) > _LONGEST_LINE + 2:
        raise SourceError(f"{name}: a line is longer than the 16 MB that can be read; split it into several lines")
    return content


def _has_mark(file: Path) -> bool:
    """Return whether a file starts with the byte order mark of UTF-8, which DuckDB does not accept in JSON."""
    with _unpacked(file, str(file)) as stream:
        return stream.read(3) == _MARK.encode()


def _cut_last_character(start: bytes) -> bytes:
    """Return bytes of UTF-8 without the last character, which may be incomplete."""
    end = len(start) - 1
    while end > 0 and start[end] & 0xC0 == 0x80:
        end -= 1
    return start[:end]
