"""Releases of plain text: lines of files, or lines of a stream."""

import gzip
import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from os import cpu_count
from pathlib import Path
from typing import BinaryIO, cast

from custext_sql.arrays import Bytes
from custext_sql.errors import DatabaseError, SettingError
from custext_sql.files.inputs.file_formats import is_zipped
from custext_sql.files.inputs.text_lines import open_text, read_line_blocks
from custext_sql.files.opening import RowProgress
from custext_sql.files.release_report import ReleaseReport
from custext_sql.files.spooled_streams import STANDARD
from custext_sql.ledger.release import Release
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sanitizer.tally import Tally
from custext_sql.store.outputs import atomic_output
from custext_sql.text.columns import TextColumn


def release_lines(
    files: Sequence[Path],
    target: Path,
    release: Release[Sanitizer],
    *,
    force: bool = False,
    progress: RowProgress | None = None,
) -> ReleaseReport:
    """Sanitize the lines of files into a new file, and return a report."""
    check_lines(release)
    release.check()
    with atomic_output(target, force=force) as output:
        tally, size, done = release.tally, sum(file.stat().st_size for file in files), 0
        with cast(BinaryIO, gzip.open(output.path, "wb") if is_zipped(target) else output.path.open("wb")) as written:
            for file in files:
                label = release.name if len(files) == 1 else str(file)
                with open_text(file) as lines:
                    told = progress and partial(_tell_lines, progress, tally, lines, done, size)
                    _sanitize_lines(lines, written.write, release, name=label, progress=told)
                done += file.stat().st_size
        receipt = release.publish(output.publish, output.describe())
    return ReleaseReport(tally.rows, receipt, str(target))


def release_stream(source: BinaryIO, target: BinaryIO, release: Release[Sanitizer]) -> ReleaseReport:
    """Sanitize lines as they arrive, and return a report.

    The release is in the ledger before the first line is written; its counts follow at the end.
    """
    check_lines(release)
    release.check()
    release.runs = True
    digest = hashlib.sha256()

    def write(text: bytes) -> None:
        digest.update(text)
        target.write(text)

    try:
        with release.drawing():
            _sanitize_lines(source, write, release, name=release.name)
            target.flush()
    except BaseException:
        with suppress(DatabaseError):  # its counts stay unknown
            release.settle(complete=False)
        raise
    release.describe(outputs=[{"name": STANDARD, "sha256": digest.hexdigest()}])
    release.settle()
    return ReleaseReport(release.tally.rows, release.receipt)


def _sanitize_lines(
    source: BinaryIO,
    write: Callable[[bytes], object],
    release: Release[Sanitizer],
    *,
    name: str,
    progress: Callable[[], None] | None = None,
) -> None:
    """Sanitize a stream, some lines at a time, on all cores. name: what errors call it."""
    sanitizer = release.sanitizer

    def work(column: TextColumn) -> Bytes:
        return sanitizer.sanitize_column(column, tally=release.tally).text

    workers = 1 if sanitizer.draws == "seeded" else cpu_count() or 1  # seeded draws repeat only if made in order
    waiting: deque[Future[Bytes]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for column in read_line_blocks(source, name, has_option=True):
            waiting.append(pool.submit(work, column))
            while len(waiting) > workers:
                write(waiting.popleft().result().tobytes())
                if progress is not None:
                    progress()
        while waiting:
            write(waiting.popleft().result().tobytes())


def _tell_lines(progress: RowProgress, tally: Tally, lines: BinaryIO, before: int, size: int) -> None:
    """Report the share done: the bytes read so far out of all. A gzipped file unpacks to more, hence the minimum."""
    progress(min(1.0, (before + lines.tell()) / max(size, 1)), tally.rows, tally.words)


def check_lines(release: Release[Sanitizer]) -> None:
    """Raise a SettingError for columns or a key, which lines cannot have."""
    if release.sanitizer.key is not None:
        raise SettingError(
            f"{release.name}: draws from a key need a column of IDs, and plain text has no columns; use CSV, TSV, JSON "
            "or Parquet"
        )
    if release.columns:
        raise SettingError(
            f"{release.name}: plain text has no columns; leave out --column (in Python: columns), or if it has "
            "columns, name its format: --format csv, tsv, json or parquet (in Python: format=...)"
        )
