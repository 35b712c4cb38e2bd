"""Output that commands share: JSON for programs; tables, progress bars and receipts for people."""

import json
import os
import re
import shlex
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import date, datetime
from datetime import time as time_of_day
from typing import TYPE_CHECKING, Any, Literal

import click

from custext_sql.cli.table_layout import lay_out
from custext_sql.errors import PrivacyWarning, ReleaseWarning
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.replacing.receipt import Receipt

_EIGHTHS = " ▏▎▍▌▋▊▉"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # control codes of a terminal


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    click.echo(to_json(value))


def to_json(value: Any) -> str:
    """Return a value as indented JSON: dataclasses as objects, times in ISO format, other types as strings."""

    def default(item: Any) -> Any:
        if is_dataclass(item) and not isinstance(item, type):
            return asdict(item)
        if isinstance(item, (date, datetime, time_of_day)):
            return item.isoformat()
        return str(item)  # decimals, UUIDs, intervals and the like

    return json.dumps(value, default=default, ensure_ascii=False, indent=2)


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    spare: Sequence[int] = (),
    fixed: int = 1,
    struck: Collection[int] = (),
) -> None:
    """Print a plain table that fits the terminal; as wide as it is if the output goes elsewhere, unless COLUMNS is set.

    right: the indexes of right-aligned columns. If there is not enough room, texts go on in the next line; then columns
    are left out, and a message says so; then the last columns follow below. spare: the indexes of columns to leave out,
    in this order. fixed: how many first columns are repeated below. struck: the indexes of rows to strike through.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[show_control(cell) for cell in row] for row in rows]
    width = find_width()
    layout = lay_out(columns, cells, width=width, right=right, spare=spare, fixed=fixed, measure=cell_len)
    for number, widths in enumerate(layout.blocks):
        table = Table(box=None, pad_edge=False, header_style="bold")
        for place, room in widths.items():
            alignment: Literal["left", "right"] = "right" if place in right else "left"
            table.add_column(columns[place], justify=alignment, overflow="fold", width=room)
        for place, row in enumerate(cells):
            table.add_row(*(Text(row[column], "strike" if place in struck else "") for column in widths))
        if number:
            click.echo()
        console = Console(highlight=False, markup=False, emoji=False, width=sum(widths.values()) + 2 * len(widths))
        console.print(table)
    if layout.left_out:
        names = ", ".join(columns[place] for place in layout.left_out)
        note = f"Not shown at {width} columns: {names} (for all: COLUMNS=160, or --json)."
        click.echo(click.wrap_text(note, width or 80), err=True)


def find_width() -> int | None:
    """Return the number of characters that a line has room for: COLUMNS, else that of the terminal; None if neither."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return None


def show_control(text: str) -> str:
    """Return a text with its control characters written as codes such as \\x1b."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float], None] | None]:
    """Yield a function that shows a share of work done as a bar on standard error.

    Yield None if standard error is not a terminal.
    """
    with _bar(label) as update:
        yield None if update is None else lambda share: update(share, "")


@contextmanager
def counting_bar(label: str) -> Iterator[Callable[[float, int, int], None] | None]:
    """Yield a function that shows the share done, and the rows and words so far; None as in progress_bar."""
    first: tuple[float, int] | None = None  # the time and the words of the first call
    with _bar(label) as update:

        def show(share: float, rows: int, words: int) -> None:
            nonlocal first
            assert update is not None
            now = time.monotonic()
            first = first or (now, words)
            seconds, more = now - first[0], words - first[1]
            update(share, count_of(rows, "row") + (f", {more / seconds:,.0f} words/s" if seconds else ""))

        yield None if update is None else show


@contextmanager
def _bar(label: str) -> Iterator[Callable[[float, str], None] | None]:
    """Yield a function that shows the share done and a remark. The bar appears when it is first called."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[remark]}", markup=False),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task(label, total=1.0, remark="")

    def update(share: float, remark: str) -> None:
        progress.start()  # not earlier: work that never reports a share, such as a stream, shows no bar
        progress.update(task, completed=share, remark=remark)

    try:
        yield update
    finally:
        if progress.live.is_started:
            progress.stop()


def draw_bar(share: float, width: int) -> str:
    """Return a bar that fills a share of a width, in eighths of a character if standard output is UTF-8."""
    if "utf" not in (sys.stdout.encoding or "").lower():
        return "#" * round(share * width)
    whole, rest = divmod(round(share * width * 8), 8)
    return "█" * whole + (_EIGHTHS[rest] if rest else "")


def show_draws(count: int | None, error: float | None) -> str:
    """Return a number of draws with its standard error, unless that is negligible."""
    if count is None:
        return "never"
    if error is None or error < 0.05:
        return f"{count:,}"
    return f"{count:,} ± {error:,.0f}" if error >= 0.95 else f"{count:,} ± {error:.1f}"


def show_sizes(smallest: int, largest: int) -> str:
    """Return a range of sizes: "9 to 20", or "20" if they are equal."""
    return f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"


def show_share(mean: float, spread: float | None) -> str:
    """Return a value between 0 and 1, with its spread if there is one: "0.8123 ± 0.0040"."""
    return f"{mean:.4f}" if spread is None else f"{mean:.4f} ± {spread:.4f}"


def tell_receipt(receipt: "Receipt", *, with_receipt: bool = True) -> None:
    """Print a receipt and its warnings on standard error. with_receipt: False if it was already printed as JSON."""
    if with_receipt:
        click.echo(receipt.describe(), err=True)
    for warning in receipt.warnings:
        warn(warning)


def report_skipped(skipped: Mapping[str, int]) -> None:
    """Print on standard error how many rows were skipped. skipped: their number, by the name of the data."""
    for name, count in skipped.items():
        if count:
            click.echo(f"{name}: skipped {count_of(count, 'row')} with missing values", err=True)


@contextmanager
def printed_warnings() -> Iterator[None]:
    """Print our warnings as they occur, except those about a finished release, which are printed with its receipt."""
    show = warnings.showwarning

    def print_ours(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
        if issubclass(category, PrivacyWarning):
            warn(str(message))
        else:
            show(message, category, *place, **options)

    with warnings.catch_warnings():
        warnings.simplefilter("always", PrivacyWarning)
        warnings.simplefilter("ignore", ReleaseWarning)
        warnings.showwarning = print_ours
        yield


def warn(message: str) -> None:
    """Print a warning on standard error."""
    click.echo(f"Warning: {message}", err=True)


def again(db: str | None, command: str) -> str:
    """Return a command for the same database, to suggest as the next step."""
    return name_database(f"custext {command}", db)


def name_database(message: str, db: str | None) -> str:
    """Return a message in which every suggested command has the user's --db option."""
    if db is None:
        return message
    return re.sub(r"(^|: )custext (?=[a-z])", lambda match: f"{match[1]}custext --db {shlex.quote(db)} ", message)
