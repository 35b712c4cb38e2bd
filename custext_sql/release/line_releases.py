"""Releases of plain text: lines of files, a stream of lines, one text."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

from custext_sql.errors import SettingError
from custext_sql.release.lines import find_spending, open_lines, open_text, sanitize_lines
from custext_sql.release.release_settings import Outcome, Progress, Settings, refuse_over
from custext_sql.replacing.tally import Tally
from custext_sql.store.database import Database
from custext_sql.store.files.atomic_outputs import draft_of
from custext_sql.store.ledger.entry import Entry, receipt_beside
from custext_sql.text.columns import open_column


def release_lines(
    files: Sequence[Path],
    target: Path,
    settings: Settings,
    database: Database,
    *,
    name: str,
    force: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Sanitize the lines of files, into a new file."""
    entry = settings.open_entry(database, beside=receipt_beside(target))
    with draft_of(target, force=force) as draft:
        _check_lines(files, settings, entry, name)
        tally, size, done = Tally(), sum(file.stat().st_size for file in files), 0
        with open_lines(draft.path, "wb", zipped=target.suffix.lower() == ".gz") as written:
            for file in files:
                with open_text(file) as lines:
                    told = progress and partial(_tell_lines, progress, tally, lines, done, size)
                    _sanitize(lines, written, settings, name, tally, told)
                done += file.stat().st_size
        receipt = settings.publish(entry, draft.publish, tally, name)
    return Outcome(tally.rows, receipt, made=str(target), note=entry.note)


def release_stream(source: BinaryIO, target: BinaryIO, settings: Settings, database: Database) -> Outcome:
    """Sanitize lines as they come. The ledger knows of it from the beginning, and its counts in the end."""
    entry = settings.open_entry(database)
    _check_lines([], settings, entry, "standard input")
    tally = Tally()
    entry.begin()
    try:
        _sanitize(source, target, settings, "standard input", tally, None)
        target.flush()
    except BaseException:
        entry.break_off(settings.sanitizer.receipt(tally, settings.eps, settings.plus))
        raise
    receipt = settings.sanitizer.receipt(tally, settings.eps, settings.plus)
    entry.complete(receipt)
    return Outcome(tally.rows, receipt, note=entry.note)


def release_text(text: str, settings: Settings, database: Database) -> tuple[str, Outcome]:
    """Sanitize one text."""
    entry = settings.open_entry(database)
    _check_lines([], settings, entry, "the text")
    tally = Tally()
    column, rebuild = open_column([text])
    [result] = rebuild(settings.sanitizer.sanitize_column(column, settings.eps, settings.plus, tally=tally))
    receipt = settings.publish(entry, lambda: None, tally, "the text")
    return str(result), Outcome(1, receipt, note=entry.note)


def _sanitize(
    lines: BinaryIO,
    written: BinaryIO,
    settings: Settings,
    name: str,
    tally: Tally,
    progress: Callable[[], None] | None,
) -> None:
    sanitizer, eps, plus = settings.sanitizer, settings.eps, settings.plus
    sanitize_lines(lines, written, sanitizer, eps, plus, name=name, tally=tally, progress=progress)


def _tell_lines(progress: Progress, tally: Tally, lines: BinaryIO, before: int, size: int) -> None:
    """How far we are, by the bytes read (of a gzipped file, those that it unpacks to, so at most all)."""
    progress(min(1.0, (before + lines.tell()) / max(size, 1)), tally.rows, tally.words)


def _check_lines(files: Sequence[Path], settings: Settings, entry: Entry, name: str) -> None:
    """Check what the settings ask of lines."""
    if settings.sanitizer.key is not None:
        raise SettingError(f"{name}: lines have no ids by which a key could know them; use a format with columns")
    if settings.columns:
        raise SettingError(f"{name}: lines have no columns; leave --column out, or say another --format")
    if not settings.limits_rows or not files:
        return
    largest, over = 0.0, 0
    for file in files:
        with open_text(file) as lines:
            for spent in find_spending(lines, settings.sanitizer, settings.eps, settings.plus, name=name):
                largest = max(largest, float(spent.max(initial=0.0)))
                over += 0 if settings.max_row_eps is None else int((spent > settings.max_row_eps).sum())
    if over and settings.max_row_eps is not None:
        refuse_over(name, settings.max_row_eps, largest, over)
    entry.check(largest)
