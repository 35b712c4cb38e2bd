"""Plain text: every line is a text, and keeps its end as it is."""

import gzip
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from os import cpu_count
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from custext_sql.arrays import Bytes, Floats
from custext_sql.errors import SourceError
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizer import Sanitizer
from custext_sql.text.columns import TextColumn

_CHUNK = 1 << 20  # bytes handled at a time, about


def open_lines(path: Path, mode: str, *, zipped: bool) -> BinaryIO:
    """A file of lines, gzipped or not."""
    return cast(BinaryIO, gzip.open(path, mode) if zipped else path.open(mode))


def open_text(file: Path) -> BinaryIO:
    """A file of lines to be read, gzipped if its name says so."""
    return open_lines(file, "rb", zipped=file.suffix.lower() == ".gz")


def sanitize_lines(
    source: BinaryIO,
    target: BinaryIO,
    sanitizer: Sanitizer,
    eps: float,
    plus: bool,
    *,
    name: str,
    tally: Tally,
    progress: Callable[[], None] | None = None,
) -> None:
    """From one stream to another, some lines at a time and on all cores; name: of the source, for errors."""

    def work(column: TextColumn) -> Bytes:
        return sanitizer.sanitize_column(column, eps, plus, tally=tally).text

    workers = 1 if sanitizer.draws == "seeded" else cpu_count() or 1  # seeded draws repeat only in order
    waiting: deque[Future[Bytes]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for column in read_lines(source, name):
            waiting.append(pool.submit(work, column))
            while len(waiting) > workers:
                target.write(waiting.popleft().result().tobytes())
                if progress is not None:
                    progress()
        while waiting:
            target.write(waiting.popleft().result().tobytes())


def find_spending(source: BinaryIO, sanitizer: Sanitizer, eps: float, plus: bool, *, name: str) -> Iterator[Floats]:
    """What lines would spend, some at a time."""
    for column in read_lines(source, name):
        yield sanitizer.spend(column, eps, plus)


def read_lines(source: BinaryIO, name: str) -> Iterator[TextColumn]:
    """Some lines at a time, each with its end."""
    number = 0
    while lines := _read_some(source, name):
        content = b"".join(lines)
        try:
            content.decode()
        except UnicodeDecodeError:
            wrong = next(place for place, line in enumerate(lines, start=1) if not _is_unicode(line))
            raise SourceError(f"{name}, line {number + wrong}: expected UTF-8") from None
        offsets = np.zeros(len(lines) + 1, dtype=np.int64)
        np.cumsum([len(line) for line in lines], out=offsets[1:])
        yield TextColumn(np.frombuffer(content, dtype=np.uint8), offsets)
        number += len(lines)


def _read_some(source: BinaryIO, name: str) -> list[bytes]:
    try:
        return source.readlines(_CHUNK)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise SourceError(f"{name}: expected a whole gzip file") from None


def _is_unicode(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
