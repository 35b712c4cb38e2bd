"""Output that commands share: JSON for programs; tables that fit the terminal, progress bars and hints for people."""

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
from dataclasses import asdict, dataclass, is_dataclass
from datetime import date, datetime
from datetime import time as time_of_day
from itertools import chain
from typing import Any, Literal

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
    width = _find_width()
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


@dataclass(frozen=True)
class Layout:
    """How a table is shown. blocks: one or more tables, each as columns with their widths. left_out: other columns."""

    blocks: list[dict[int, int]]
    left_out: list[int]


def lay_out(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None,
    right: Collection[int] = (),
    spare: Sequence[int] = (),
    fixed: int = 1,
    measure: Callable[[str], int] = len,
) -> Layout:
    """Return how a table fits into a width, in characters; None for any width.

    right: right-aligned columns, whose cells are never broken. spare: columns to leave out, in this order, if the table
    does not fit. fixed: how many first columns are repeated, if others have to follow below. measure: returns how wide
    a text is.
    """
    content = [
        max((measure(line) for row in rows for line in row[place].splitlines()), default=0)
        for place in range(len(columns))
    ]
    natural = [max(measure(column), found) for column, found in zip(columns, content, strict=True)]
    places, least = list(range(len(columns))), natural
    left_out: list[int] = []
    for text in _TEXTS:
        least = [
            max(_narrow(column, measure), found if place in right else min(text, found))
            for place, (column, found) in enumerate(zip(columns, content, strict=True))
        ]
        for place in spare[len(left_out) :]:
            if width is None or _add_up(least, places) <= width:
                break
            places.remove(place)
            left_out.append(place)
        if width is None or _add_up(least, places) <= width:
            break
    blocks = [_widen(natural, least, block, width) for block in _split(least, places, fixed, width)]
    return Layout(blocks, sorted(left_out))


def _narrow(header: str, measure: Callable[[str], int]) -> int:
    """Return the least width of a header on two lines, such as 6 for "in the" and "clear"."""
    words = header.split()
    halves = [(" ".join(words[:place]), " ".join(words[place:])) for place in range(len(words))]
    return min((max(map(measure, half)) for half in halves), default=0)


def _add_up(widths: Sequence[int], places: Sequence[int]) -> int:
    return sum(widths[place] for place in places) + _GAP * (len(places) - 1)


def _split(least: Sequence[int], places: list[int], fixed: int, width: int | None) -> list[list[int]]:
    """Return the columns of each block: as many as fit, but at least one besides the fixed ones."""
    blocks = [places[:fixed]]
    for place in places[fixed:]:
        if width is not None and len(blocks[-1]) > fixed and _add_up(least, [*blocks[-1], place]) > width:
            blocks.append(places[:fixed])
        blocks[-1].append(place)
    return blocks


def _widen(natural: Sequence[int], least: Sequence[int], places: Sequence[int], width: int | None) -> dict[int, int]:
    """Return the width of each column: that of its content if there is room, first for those that need little more."""
    widths = {}
    room = _add_up(natural, places) if width is None else max(0, width - _add_up(least, places))
    for place in sorted(places, key=lambda place: natural[place] - least[place]):
        more = min(natural[place] - least[place], room)
        widths[place] = least[place] + more
        room -= more
    return {place: widths[place] for place in places}


def _find_width() -> int | None:
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


def again(command: str) -> str:
    """Return a command for the same database and ledger, to suggest as the next step."""
    return name_places(f"custext {command}")


def name_places(message: str) -> str:
    """Return a message in which every suggested command has the user's --db and --ledger options.

    The URL of a ledger is left out, because it may have a password.
    """
    given = click.get_current_context().find_root().params
    places = {f"--{name}": given[name] for name in ("db", "ledger") if given[name] and "://" not in given[name]}
    named = shlex.join(["custext", *chain(*places.items())])
    return re.sub(r"(^|: )custext (?=[a-z])", lambda match: f"{match[1]}{named} ", message)
