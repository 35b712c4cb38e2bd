"""Decides how a table fits a width: which columns stand side by side, and how wide each one is."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

_GAP = 2  # spaces between two columns
_TEXTS = (24, 16)  # characters that a column of text keeps; what is longer goes on in the next line


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
