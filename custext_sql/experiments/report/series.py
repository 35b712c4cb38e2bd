"""What a chart shows: points, series and marks, and which of them can be shown."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LARGEST = 1e100  # farther from 0, differences and steps overflow


@dataclass(frozen=True)
class Point:
    """One measured value; a point with an x or y that is not a finite number (or is beyond 1e100) is left out."""

    x: float
    y: float
    spread: float = 0.0  # half the height of an error bar; 0: none
    label: str = ""  # a word or number, shown beside the marker and in its tooltip
    source: str = ""  # which measurement the number is from: data-measurement="..." on the marker


@dataclass(frozen=True)
class Series:
    """Points that share a colour, a marker and a line in the legend."""

    name: str
    points: Sequence[Point]
    dashed: bool = False
    joined: bool = True  # a line through the points in the given order; otherwise markers alone


@dataclass(frozen=True)
class Mark:
    """A line across the whole plot that marks a value on one axis, with a label."""

    at: float
    label: str
    axis: str = "x"  # or "y"


def is_finite(*values: float) -> bool:
    """Whether a chart can show all of them."""
    return all(math.isfinite(value) and abs(value) <= LARGEST for value in values)


def reach(point: Point, percent: bool) -> tuple[float, float]:
    """Both ends of the error bar; that of a share ends at 0% and 100%, where no share can be beyond."""
    spread = point.spread if is_finite(point.spread) and point.spread > 0 else 0.0
    low, high = point.y - spread, point.y + spread
    return (max(0.0, low), min(1.0, high)) if percent and 0 <= point.y <= 1 else (low, high)


def check_values(
    series: Iterable[Series], marks: Iterable[Mark], *, x_log: bool, y_range: tuple[float, float] | None
) -> None:
    """ValueError: what cannot be drawn, as in draw_chart; points and marks that are not finite are left out before."""
    if y_range is not None and not (is_finite(*y_range) and y_range[0] < y_range[1]):
        raise ValueError(f"y_range: expected two finite numbers, the smaller one first, found {y_range}.")
    for mark in marks:
        if mark.axis not in ("x", "y"):
            raise ValueError(f"mark {mark.label!r}: expected the axis 'x' or 'y', found {mark.axis!r}.")
    if x_log:
        places = [(f"series {one.name!r}", point.x) for one in series for point in one.points]
        places += [(f"mark {mark.label!r}", mark.at) for mark in marks if mark.axis == "x"]
        for where, x in places:
            if x < 1 / LARGEST:
                raise ValueError(
                    f"{where}: expected x above 0 on a logarithmic axis, found {x:g}; "
                    "leave it out, or draw the chart with x_log=False."
                )
