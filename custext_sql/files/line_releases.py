"""Releases of plain text: one text, lines of files, or lines of a stream."""

import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from os import cpu_count
from pathlib import Path
from typing import BinaryIO, Unpack

from custext_sql.arrays import Bytes
from custext_sql.errors import DatabaseError, SettingError
from custext_sql.files.inputs.encodings import open_text, read_line_blocks
from custext_sql.files.inputs.file_formats import STANDARD
from custext_sql.files.opening import ReleaseOptions, ReleaseReport, RowProgress, open_release
from custext_sql.ledger.dataset import ARGUMENT
from custext_sql.ledger.release import Release
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.store.outputs import atomic_output
from custext_sql.text.columns import TextColumn, open_column


def sanitize_text(text: str, **options: Unpack[ReleaseOptions]) -> tuple[str, ReleaseReport]:
    """Sanitize one text, enter the release in the ledger, and return the text and a report with its `receipt`.

    options: those of `sanitize_file`; so are errors and warnings.
    """
    release = open_release("the text", **options)
    release.dataset = release.dataset.or_called(ARGUMENT)
    _check_lines(release)
    column, rebuild = open_column([text])
    [result] = rebuild(release.sanitizer.sanitize_column(column, tally=release.tally))
    report = ReleaseReport(1, release.publish())
    report.warn()
    return str(result), report


def release_lines(
    files: Sequence[Path],
    target: Path,
    release: Release[Sanitizer],
    *,
    force: bool = False,
    progress: RowProgress | None = None,
) -> ReleaseReport:
    """Sanitize the lines of files into a new file, and return a report."""
    _check_lines(release)
    tally, size, done = release.tally, sum(file.stat().st_size for file in files), 0

    def tell() -> None:
        if progress is not None:  # a gzipped file unpacks to more than its size
            progress(min(1.0, (done + lines.tell()) / max(size, 1)), tally.rows, tally.words)

    with atomic_output(target, force=force) as output:
        with open_text(output.path, "wb") as written:
            for file in files:
                label = release.name if len(files) == 1 else str(file)
                with open_text(file) as lines:
                    _sanitize_lines(lines, written.write, release, name=label, tell=tell)
                done += file.stat().st_size
        receipt = release.publish(output.publish, output.describe())
    return ReleaseReport(tally.rows, receipt, str(target))


def release_stream(source: BinaryIO, target: BinaryIO, release: Release[Sanitizer]) -> ReleaseReport:
    """Sanitize lines as they arrive, and return a report.

    The release is in the ledger before the first line is written; its counts follow at the end.
    """
    _check_lines(release)
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
    tell: Callable[[], None] = lambda: None,
) -> None:
    """Sanitize a stream, some lines at a time, on all cores. name: what errors call it."""
    sanitizer = release.sanitizer

    def work(column: TextColumn) -> Bytes:
        return sanitizer.sanitize_column(column, tally=release.tally).text

    workers = 1 if sanitizer.draws == "seeded" else cpu_count() or 1  # seeded draws repeat only if made in order
    waiting: deque[Future[Bytes]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for column in read_line_blocks(source, name):
            waiting.append(pool.submit(work, column))
            while len(waiting) > workers:
                write(waiting.popleft().result().tobytes())
                tell()
        while waiting:
            write(waiting.popleft().result().tobytes())


def _check_lines(release: Release[Sanitizer]) -> None:
    """Raise a SettingError for columns or a key, which lines cannot have; a BudgetError if the ledger forbids it."""
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
    release.check()
