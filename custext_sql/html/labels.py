"""Labels of a chart: how much space texts take, and where they cover least."""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

TEXT, LINE = 22.0, 26.0  # largest font size and line height, in units of the viewBox; a 360 px phone halves them

Line = tuple[float, float, float, float]  # x and y of both ends


@dataclass(frozen=True)
class Box:
    """A rectangle in the viewBox."""

    left: float
    top: float
    right: float
    bottom: float

    def share(self, other: "Box") -> float:
        """Return the area of the overlap."""
        width = min(self.right, other.right) - max(self.left, other.left)
        return max(0.0, width) * max(0.0, min(self.bottom, other.bottom) - max(self.top, other.top))

    def cut(self, line: Line) -> float:
        """Return the length of a line within the box."""
        x, y, to_x, to_y = line
        first, last = 0.0, 1.0  # the part of the line that is in the box
        for start, step, low, high in ((x, to_x - x, self.left, self.right), (y, to_y - y, self.top, self.bottom)):
            if step:
                enter, leave = sorted(((low - start) / step, (high - start) / step))
                first, last = max(first, enter), min(last, leave)
            elif not low < start < high:
                return 0.0
        return max(0.0, last - first) * math.hypot(to_x - x, to_y - y)


@dataclass(frozen=True)
class Label:
    """A text right of, left of or centered at x (across: 1, -1, 0) and below, above or at y (down: 1, -1, 0)."""

    text: str
    x: float
    y: float
    across: int
    down: int

    @cached_property
    def box(self) -> Box:
        """The space that the text takes at the largest font size."""
        width = measure_text(self.text)
        left, top = self.x + width * (self.across - 1) / 2, self.y + LINE * (self.down - 1) / 2
        return Box(left, top, left + width, top + LINE)


def measure_text(text: str) -> float:
    """Return the largest width of a text in common sans-serif fonts, including bold ones."""
    wide = sum(sign in "mwMW%@…\N{MINUS SIGN}" or unicodedata.east_asian_width(sign) in "WF" for sign in text)
    narrow = sum(sign in "ijlI.,:;|' !" for sign in text)
    return TEXT * (0.7 * len(text) + 0.3 * wide - 0.3 * narrow)


class Placer:
    """Puts each label where it covers the least of other labels, markers and lines."""

    def __init__(self, plot: Box, markers: Sequence[Box], lines: Sequence[tuple[float, Line]]) -> None:
        self.plot, self.markers, self.lines, self.taken = plot, markers, lines, list[Box]()

    def place(self, choices: Iterable[tuple[Label, float]]) -> Label:
        """Return the label with the lowest cost: its penalty plus the cost of what it covers."""
        label = min(choices, key=lambda choice: choice[1] + self._weigh(choice[0].box))[0]
        box = label.box
        self.taken.append(Box(box.left - 5, box.top, box.right + 5, box.bottom))
        return label

    def _weigh(self, box: Box) -> float:
        outside = box.share(box) - box.share(self.plot)
        labels, markers = (sum(map(box.share, others)) for others in (self.taken, self.markers))
        lines = sum(weight * box.cut(line) for weight, line in self.lines)
        return 10 * outside + labels + 0.6 * markers + lines
