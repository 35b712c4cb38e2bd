"""Output that commands share: JSON for programs; tables that fit the terminal, progress bars and hints for people."""

import json
import math
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
from itertools import chain
from typing import Any

import click

from custext_sql.errors import PrivacyWarning, ReleaseWarning
from custext_sql.parameters import count_of

_EIGHTHS = " ▏▎▍▌▋▊▉"
_GAP = 2  # spaces between two columns
_TEXTS = (24, 16)  # characters that a column of text keeps; what is longer goes on in the next line
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # control codes of a terminal


def print_json(value: Any, *, err: bool = False) -> None:
    """Print a value as JSON on standard output. err: on standard error instead."""
    click.echo(to_json(value), err=err)


def to_json(value: Any) -> str:
    """Return a value as indented JSON: dataclasses as objects, times in ISO format, other types as strings."""

    def default(item: Any) -> Any:
        if is_dataclass(item) and not isinstance(item, type):
            return item.to_dict() if hasattr(item, "to_dict") else asdict(item)
        return item.isoformat() if hasattr(item, "isoformat") else str(item)  # decimals, UUIDs, intervals and the like

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
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[show_control(cell) for cell in row] for row in rows]
    on_terminal = sys.stdout.isatty() or os.environ.get("COLUMNS")
    width = shutil.get_terminal_size().columns if on_terminal else math.inf
    blocks, left_out = lay_out(columns, cells, width, right, spare, fixed)
    for number, widths in enumerate(blocks):
        table = Table(box=None, pad_edge=False, header_style="bold")
        for place, room in widths.items():
            table.add_column(columns[place], justify="right" if place in right else "left", overflow="fold", width=room)
        for place, row in enumerate(cells):
            table.add_row(*(Text(row[column], "strike" if place in struck else "") for column in widths))
        if number:
            click.echo()
        Console(highlight=False, markup=False, emoji=False, width=sum(widths.values()) + _GAP * len(widths)).print(
            table
        )
    if left_out:
        names = ", ".join(columns[place] for place in sorted(left_out))
        note = f"Not shown at {width} columns: {names} (for all: COLUMNS=160, or --json)."
        click.echo(click.wrap_text(note, int(width)), err=True)


def lay_out(
    columns: Sequence[str],
    cells: Sequence[Sequence[str]],
    width: float,
    right: Collection[int],
    spare: Sequence[int],
    fixed: int,
) -> tuple[list[dict[int, int]], list[int]]:
    """Return how `print_table` makes a table fit: tables below each other, as columns with widths; columns left out.

    Rich would break numbers in two, and shorten every column alike.
    """
    from rich.cells import cell_len

    def narrow(header: str) -> int:
        """Return the least width of a header on two lines, such as 6 for "in the" and "clear"."""
        words = header.split()
        halves = ((" ".join(words[:place]), " ".join(words[place:])) for place in range(len(words)))
        return min((max(map(cell_len, half)) for half in halves), default=0)

    def add_up(widths: Sequence[int], some: Sequence[int]) -> int:
        return sum(widths[place] for place in some) + _GAP * (len(some) - 1)

    places, left_out = list(range(len(columns))), list[int]()
    lines = ([line for row in cells for line in row[place].splitlines()] for place in places)
    content = [max(map(cell_len, some), default=0) for some in lines]
    natural = [max(cell_len(column), found) for column, found in zip(columns, content, strict=True)]
    least = natural
    for longest in _TEXTS:
        rooms = [found if place in right else min(longest, found) for place, found in enumerate(content)]
        least = [max(narrow(column), room) for column, room in zip(columns, rooms, strict=True)]
        while add_up(least, places) > width and len(left_out) < len(spare):
            left_out.append(spare[len(left_out)])
            places.remove(left_out[-1])
        if add_up(least, places) <= width:
            break
    blocks = [places[:fixed]]
    for place in places[fixed:]:  # as many as fit, but at least one besides the fixed ones
        if len(blocks[-1]) > fixed and add_up(least, [*blocks[-1], place]) > width:
            blocks.append(places[:fixed])
        blocks[-1].append(place)
    tables = []
    for block in blocks:
        free = max(0, width - add_up(least, block))
        widths = dict.fromkeys(block, 0)
        for place in sorted(block, key=lambda place: natural[place] - least[place]):  # first what needs little more
            widths[place] = int(min(natural[place], least[place] + free))
            free -= widths[place] - least[place]
        tables.append(widths)
    return tables, left_out


def show_control(text: str) -> str:
    """Return a text with its control characters written as codes such as \\x1b."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[..., None] | None]:
    """Yield a function that shows the share of work done as a bar on standard error, and the rows and words if given.

    Yield None if standard error is not a terminal.
    """
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
    first: tuple[float, int] | None = None  # the time and the words of the first call

    def update(share: float, rows: int | None = None, words: int = 0) -> None:
        nonlocal first
        now = time.monotonic()
        first = first or (now, words)
        seconds, more = now - first[0], words - first[1]
        speed = f", {more / seconds:,.0f} words/s" if seconds else ""
        progress.start()  # not earlier: work that never reports a share, such as a stream, shows no bar
        progress.update(task, completed=share, remark="" if rows is None else count_of(rows, "row") + speed)

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


def name_places(message: str) -> str:
    """Return a message in which every suggested command has the user's --db and --ledger options.

    The URL of a ledger is left out, because it may have a password.
    """
    given = click.get_current_context().find_root().params
    places = {f"--{name}": given[name] for name in ("db", "ledger") if given[name] and "://" not in given[name]}
    named = shlex.join(["custext", *chain(*places.items())])
    return re.sub(r"(^|: )custext (?=[a-z])", lambda match: f"{match[1]}{named} ", message)
