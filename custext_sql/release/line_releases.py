"""Releases of plain text: lines of files, or lines of a stream."""

import gzip
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from os import cpu_count
from pathlib import Path
from typing import BinaryIO, cast

from custext_sql.arrays import Bytes, Floats
from custext_sql.errors import SettingError
from custext_sql.release.inputs.file_formats import is_zipped
from custext_sql.release.inputs.text_lines import open_text, read_line_blocks
from custext_sql.release.release_plan import ReleasePlan, RowProgress, refuse_over
from custext_sql.release.release_report import ReleaseReport
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizing.sanitizer import Sanitizer
from custext_sql.store.files.atomic_outputs import atomic_output
from custext_sql.store.ledger.entry import LedgerEntry, receipt_beside
from custext_sql.text.columns import TextColumn


def release_lines(
    files: Sequence[Path],
    target: Path,
    plan: ReleasePlan,
    *,
    name: str,
    force: bool = False,
    progress: RowProgress | None = None,
) -> ReleaseReport:
    """Sanitize the lines of files into a new file, and return a report. name: what errors call the files."""
    entry = plan.open_entry(beside=receipt_beside(target))
    with atomic_output(target, force=force) as output:
        check_lines(files, plan, entry, name)
        tally, size, done = Tally(), sum(file.stat().st_size for file in files), 0
        with cast(BinaryIO, gzip.open(output.path, "wb") if is_zipped(target) else output.path.open("wb")) as written:
            for file in files:
                label = name if len(files) == 1 else str(file)
                with open_text(file) as lines:
                    told = progress and partial(_tell_lines, progress, tally, lines, done, size)
                    _sanitize_lines(lines, written, plan.sanitizer, name=label, tally=tally, progress=told)
                done += file.stat().st_size
        receipt = plan.publish(entry, output.publish, tally, name)
    return ReleaseReport(tally.rows, receipt, str(target), note=entry.note)


def release_stream(source: BinaryIO, target: BinaryIO, plan: ReleasePlan, *, name: str) -> ReleaseReport:
    """Sanitize lines as they arrive, and return a report.

    The release is in the ledger before the first line is written; its counts follow at the end.
    """
    entry = plan.open_entry()
    check_lines([], plan, entry, name)
    tally = Tally()
    entry.begin()
    try:
        _sanitize_lines(source, target, plan.sanitizer, name=name, tally=tally)
        target.flush()
    except BaseException:
        entry.break_off(plan.sanitizer.receipt(tally))
        raise
    receipt = plan.sanitizer.receipt(tally)
    entry.complete(receipt)
    return ReleaseReport(tally.rows, receipt, note=entry.note)


def find_spending(source: BinaryIO, sanitizer: Sanitizer, *, name: str) -> Iterator[Floats]:
    """Yield the eps that each line would spend, some lines at a time."""
    for column in read_line_blocks(source, name, has_option=True):
        yield sanitizer.spend(column)


def _sanitize_lines(
    source: BinaryIO,
    target: BinaryIO,
    sanitizer: Sanitizer,
    *,
    name: str,
    tally: Tally,
    progress: Callable[[], None] | None = None,
) -> None:
    """Sanitize one stream into another, some lines at a time, on all cores."""

    def work(column: TextColumn) -> Bytes:
        return sanitizer.sanitize_column(column, tally=tally).text

    workers = 1 if sanitizer.draws == "seeded" else cpu_count() or 1  # seeded draws repeat only if made in order
    waiting: deque[Future[Bytes]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for column in read_line_blocks(source, name, has_option=True):
            waiting.append(pool.submit(work, column))
            while len(waiting) > workers:
                target.write(waiting.popleft().result().tobytes())
                if progress is not None:
                    progress()
        while waiting:
            target.write(waiting.popleft().result().tobytes())


def _tell_lines(progress: RowProgress, tally: Tally, lines: BinaryIO, before: int, size: int) -> None:
    """Report the share done: the bytes read so far out of all. A gzipped file unpacks to more, hence the minimum."""
    progress(min(1.0, (before + lines.tell()) / max(size, 1)), tally.rows, tally.words)


def check_lines(files: Sequence[Path], plan: ReleasePlan, entry: LedgerEntry, name: str) -> None:
    """Raise a SettingError for columns or a key, which lines cannot have, and a BudgetError for lines over a limit."""
    if plan.sanitizer.key is not None:
        raise SettingError(
            f"{name}: draws from a key need a column of IDs, and plain text has no columns; use CSV, TSV, JSON or "
            "Parquet"
        )
    if plan.columns:
        raise SettingError(
            f"{name}: plain text has no columns; leave out --column (in Python: columns), or if it has columns, name "
            "its format: --format csv, tsv, json or parquet (in Python: format=...)"
        )
    if not plan.limits_rows or not files:
        return
    largest, over = 0.0, 0
    for file in files:
        label = name if len(files) == 1 else str(file)
        with open_text(file) as lines:
            for spent in find_spending(lines, plan.sanitizer, name=label):
                largest = max(largest, float(spent.max(initial=0.0)))
                over += 0 if plan.max_row_eps is None else int((spent > plan.max_row_eps).sum())
    if over and plan.max_row_eps is not None:
        refuse_over(name, plan.max_row_eps, largest, over)
    entry.check(largest)
