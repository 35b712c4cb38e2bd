"""Places for labels: where each covers least of the others, of the markers and of the lines."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from custext_sql.experiments.report.axes import Axis
from custext_sql.experiments.report.chart_style import LINE, RADIUS
from custext_sql.experiments.report.labels import Box, Label, measure, wrap
from custext_sql.experiments.report.series import Mark

Choice = tuple[Label, float]  # a label at one of its places, and what is held against that place
Segment = tuple[float, float, float, float]  # a line: x and y of its ends
Flag = tuple[float, Label]  # where the line of a mark is, and its label

_AROUND = (  # the eight ways from a marker, and which part of a text is next to it there
    (1.0, 0.0, "start", "middle"),
    (0.707, 0.707, "start", "top"),
    (0.0, 1.0, "middle", "top"),
    (-0.707, 0.707, "end", "top"),
    (-1.0, 0.0, "end", "middle"),
    (-0.707, -0.707, "end", "bottom"),
    (0.0, -1.0, "middle", "bottom"),
    (0.707, -0.707, "start", "bottom"),
)


class Placer:
    """Gives each label the place where it covers least, and remembers it."""

    def __init__(self, plot: Box, markers: Sequence[Box], segments: Sequence[Segment]) -> None:
        self.plot, self.markers, self.segments = plot, markers, segments
        self.taken: list[Box] = []

    def place(self, choices: Iterable[Choice]) -> Label:
        """The choice that costs least: what is held against it, and what it covers."""
        label = min(choices, key=lambda choice: choice[1] + self._weigh(choice[0].box))[0]
        self.taken.append(replace(label.box, left=label.box.left - 5, right=label.box.right + 5))
        return label

    def _weigh(self, box: Box) -> float:
        outside = (box.right - box.left) * (box.bottom - box.top) - box.share(self.plot)
        return (
            10 * outside
            + sum(box.share(other) for other in self.taken)
            + 0.6 * sum(box.share(other) for other in self.markers)
            + 0.5 * sum(_measure_crossing(segment, box) for segment in self.segments)
        )


def _measure_crossing(segment: Segment, box: Box) -> float:
    """The length of a line within a box (Liang and Barsky 1984)."""
    x, y, across, down = segment[0], segment[1], segment[2] - segment[0], segment[3] - segment[1]
    enter, leave = 0.0, 1.0
    for speed, room in ((-across, x - box.left), (across, box.right - x), (-down, y - box.top), (down, box.bottom - y)):
        if speed == 0 and room < 0:
            return 0.0
        if speed < 0:
            enter = max(enter, room / speed)
        elif speed > 0:
            leave = min(leave, room / speed)
    return max(0.0, leave - enter) * math.hypot(across, down)


def propose_note(text: str, x: float, y: float, marker: Box) -> Iterator[Choice]:
    """Where the label of a point at (x, y) may stand: around its marker, which includes the error bar."""
    for way, gap in enumerate((RADIUS + 3, 24.0, 42.0, 64.0)):
        for turn, (across, down, anchor, side) in enumerate(_AROUND):
            bar = 0.0 if across else 2 + (marker.bottom - y if down > 0 else y - marker.top)
            label = Label([text], x + gap * across, y + down * max(gap, bar), anchor, side, bold=True)
            yield label, 12.0 * way + 0.1 * turn + turn % 2


def propose_level(mark: Mark, x_axis: Axis, y_axis: Axis) -> Iterator[Choice]:
    """Where the label of a mark on the y axis may stand: on either side of its line, at the ends and between them."""
    left, right = x_axis.start + 8, x_axis.end - 6
    lines = wrap(mark.label, right - left)
    half = max(map(measure, lines)) / 2
    between = [left + half + (right - left - 2 * half) * part / 8 for part in range(7, 0, -1)]
    for against, (anchor, x) in enumerate([("end", right), ("start", left), *(("middle", x) for x in between)]):
        for side, gap in (("bottom", -1.0), ("top", 1.0)):
            yield Label(lines, x, y_axis.place(mark.at) + gap, anchor, side), against + 0.5 * (side == "top")


def raise_flags(marks: Sequence[Mark], axis: Axis) -> list[Flag]:
    """Labels of marks on the x axis: above the plot, beside their lines, in as many rows as they need."""
    ordered = sorted((axis.place(mark.at), mark.label) for mark in marks)
    plans = product(("start", "end"), repeat=len(ordered)) if len(ordered) <= 5 else [("start",) * len(ordered)]
    tries = [_stack_flags(ordered[::way], anchors, axis) for anchors in plans for way in (-1, 1)]
    return min(tries, key=lambda weighed: weighed[0])[1]


def _stack_flags(ordered: Sequence[tuple[float, str]], anchors: Sequence[str], axis: Axis) -> tuple[float, list[Flag]]:
    """Each label on the side of its line that it is given (unless there is no space), in the row where it fits best."""
    flags: list[Flag] = []
    cost = 0.0
    for (x, text), wanted in zip(ordered, anchors, strict=True):
        rooms = {"start": axis.end - x - 6, "end": x - axis.start - 6}
        anchor = wanted if rooms[wanted] >= 120 else max(rooms, key=lambda side: rooms[side])
        lines = wrap(text, rooms[anchor])
        rows = 1 + sum(len(label.lines) for _, label in flags)
        labels = [
            Label(lines, x + (6 if anchor == "start" else -6), -8 - row * LINE, anchor, "bottom") for row in range(rows)
        ]
        weights = [_weigh_flag(x, label, flags) + 4 * row for row, label in enumerate(labels)]
        cost += min(weights) + 5 * len(lines) + (anchor == "end")
        flags.append((x, labels[weights.index(min(weights))]))
    return cost, flags


def _weigh_flag(x: float, label: Label, flags: Iterable[Flag]) -> float:
    """What speaks against a flag: labels that cover each other, and lines that go through labels."""
    return sum(
        100 * label.box.share(other.box)
        + _measure_crossing((x, 0.0, x, label.box.top), other.box)
        + _measure_crossing((line, 0.0, line, other.box.top), label.box)
        for line, other in flags
    )
