"""Chart layout: the position of every tick, line, marker and label. templates/chart.html writes them as SVG."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from custext_sql.html.labels import LINE, TEXT, Box, Label, Placer, measure_text

WIDTH, HEIGHT = 640, 330  # width of a chart, height of its plot, in units of the viewBox; the plot starts at y = 0
RADIUS = 7.0  # of a marker
_PERCENT = {percent / 100: f"{percent}%" for percent in range(0, 101, 20)}
_ON_CURVE, _ON_MARK = 15.0, 0.5  # what it costs that a label lies on a unit of a curve, or of a line across the plot
_AROUND = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))  # directions: across, down


@dataclass(frozen=True)
class Point:
    """A measured value. spread: half the height of its error bar."""

    x: float
    y: float
    spread: float = 0.0
    label: str = ""


@dataclass(frozen=True)
class Series:
    """Points that share a color, a marker and an entry in the legend."""

    name: str
    points: Sequence[Point]
    dashed: bool = False


@dataclass(frozen=True)
class Mark:
    """A labeled line across the whole plot, at a value of one axis."""

    at: float
    label: str


@dataclass(frozen=True)
class Axis:
    """An axis. ticks: their labels by value, in ascending order; the first and the last are the ends of the plot."""

    name: str
    ticks: dict[float, str]
    start: float
    end: float
    log: bool = False
    percent: bool = False

    def place(self, value: float) -> float:
        """Return the position of a value in the viewBox. A logarithmic axis has a place for 0, left of the rest."""
        values = (min(self.ticks), max(self.ticks), value)
        zero = min(filter(None, self.ticks)) / 3.0
        low, high, at = (math.log10(one or zero) for one in values) if self.log else values
        return self.start + (self.end - self.start) * (at - low) / (high - low)

    def write(self, value: float) -> str:
        """Return a value with up to four digits."""
        return f"{100 * value:.4g}%" if self.percent else f"{value:.4g}"


@dataclass(frozen=True)
class Spot:
    """A point as drawn. box: the space of its marker and error bar."""

    point: Point
    x: float
    y: float
    bar: str
    box: Box


@dataclass(frozen=True)
class Curve:
    """A series as drawn. notes: the labels of its markers, with lines to labels that are far away."""

    place: int  # among the series; it determines the color and the marker
    series: Series
    spots: Sequence[Spot] = ()
    notes: Sequence[tuple[Label, str]] = ()


@dataclass(frozen=True)
class Plot:
    """Everything around the curves. view: the whole viewBox. marks: lines across the plot and their labels."""

    view: Box
    x_axis: Axis
    y_axis: Axis
    marks: Sequence[tuple[str, Label]]


@dataclass(frozen=True)
class Chart:
    """A figure for templates/chart.html. plot: None if there are no points."""

    title: str
    curves: Sequence[Curve]
    plot: Plot | None


def draw_chart(
    series: Sequence[Series],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_log: bool = False,
    x_limits: tuple[float, float] = (-math.inf, math.inf),
    y_limits: tuple[float, float] = (0.0, 1.0),
    y_percent: bool = False,
    x_mark: Mark | None = None,
    y_marks: Sequence[Mark] = (),
) -> Chart:
    """Return the layout of a chart.

    x_log: a logarithmic axis, for positive values that span a decade or more, and 0.
    x_limits, y_limits: the possible values; axes and error bars end there. y_percent: an axis from 0% to 100%.
    """
    points = [point for one in series for point in one.points]
    if not points:
        return Chart(title, [Curve(place, one) for place, one in enumerate(series)], None)
    heights = [end for point in points for end in _reach(point, y_limits)]
    y_ticks = _PERCENT if y_percent else _choose_even_ticks(heights, 7, y_limits)
    y_axis = Axis(y_label, y_ticks, HEIGHT, 0, percent=y_percent)
    widths = [*(point.x for point in points), *([x_mark.at] if x_mark else [])]
    x_axis = _lay_x_axis(x_label, widths, x_limits, max(map(measure_text, y_axis.ticks.values())) + 14, log=x_log)
    spots = [[_locate(point, x_axis, y_axis, y_limits) for point in one.points] for one in series]
    left, right = x_axis.start, x_axis.end
    lines = [(_ON_CURVE, (a.x, a.y, b.x, b.y)) for some in spots for a, b in pairwise(some)]
    levels = [(mark, y_axis.place(mark.at)) for mark in y_marks]
    lines += [(_ON_MARK, (left, y, right, y)) for _, y in levels]
    lines += [(_ON_MARK, (x, 0, x, HEIGHT)) for x in ([x_axis.place(x_mark.at)] if x_mark else [])]
    placer = Placer(Box(left, 0, WIDTH, HEIGHT), [spot.box for some in spots for spot in some], lines)
    marks = [_raise_flag(x_mark, x_axis)] if x_mark else []
    for mark, y in levels:
        marks.append((f"M{left:.1f} {y:.1f}H{right:.1f}", placer.place(_propose_level(mark.label, y, left, right))))
    notes = [[_tie_note(spot, placer) for spot in some if spot.point.label] for some in spots]
    curves = [Curve(*drawn) for drawn in zip(range(len(series)), series, spots, notes, strict=True)]
    view = Box(0, -18 - LINE * (2 if x_mark else 1), WIDTH, HEIGHT + 16 + 2 * LINE)
    return Chart(title, curves, Plot(view, x_axis, y_axis, marks))


def _reach(point: Point, limits: tuple[float, float]) -> tuple[float, float]:
    """Return both ends of an error bar."""
    return max(limits[0], point.y - point.spread), min(limits[1], point.y + point.spread)


def _choose_even_ticks(values: Sequence[float], count: int, limits: tuple[float, float]) -> dict[float, str]:
    """Return ticks that cover the values in about that many steps of 1, 2 or 5 times a power of ten."""
    low, high = min(values), max(values)
    if high - low < 1e-4:  # one value, or differences that no experiment can resolve
        low, high = max(limits[0], low - 0.05), min(limits[1], high + 0.05)
    power = math.floor(math.log10((high - low) / count))
    step = next(10.0**power * digit for digit in (1, 2, 5, 10) if 10.0**power * digit * count > (high - low) * 0.999999)
    numbers = range(math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6) + 1)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    ticks = [round(number * step, digits) for number in numbers]
    return {tick: f"{tick:.{digits}f}".replace("-", "\N{MINUS SIGN}") if tick else "0" for tick in ticks}


def _choose_log_ticks(values: Sequence[float], digits: Sequence[int]) -> dict[float, str]:
    """Return ticks that cover the values: the digits, times powers of ten, and 0 if it is one of the values."""
    above = [value for value in values if value] or [1.0]
    low, high = min(above) * (1 + 1e-9), max(above) * (1 - 1e-9)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = [digit * 10.0**power for power in powers for digit in digits]
    first, last = max(step for step in steps if step <= low), min(step for step in steps if step >= high)
    return ({0.0: "0"} if 0.0 in values else {}) | {step: f"{step:g}" for step in steps if first <= step <= last}


def _lay_x_axis(name: str, values: Sequence[float], limits: tuple[float, float], left: float, *, log: bool) -> Axis:
    """Return the axis with the most ticks whose labels do not overlap. left: the width of the labels of the y axis."""
    choices = [_choose_even_ticks(values, count, limits) for count in range(7, 0, -1)]
    if log:
        choices = [_choose_log_ticks(values, digits) for digits in ((1, 2, 5), (1,))]
    for ticks in choices:
        halves = [measure_text(text) / 2 + TEXT / 4 for text in ticks.values()]
        axis = Axis(name, ticks, max(left, halves[0]), WIDTH - max(halves[-1], RADIUS + 3), log)
        ends = [(axis.place(value) - half, axis.place(value) + half) for value, half in zip(ticks, halves, strict=True)]
        if all(a[1] <= b[0] for a, b in pairwise(ends)):
            break
    return axis


def _locate(point: Point, x_axis: Axis, y_axis: Axis, limits: tuple[float, float]) -> Spot:
    """Return a point as drawn. Its error bar has caps, except at an end that is cut off by a limit."""
    low, high = _reach(point, limits)
    x, y, top, bottom = x_axis.place(point.x), *map(y_axis.place, (point.y, high, low))
    bar = f"M{x:.1f} {top:.1f}V{bottom:.1f}" if point.spread else ""
    for place, end, value in ((top, point.y + point.spread, high), (bottom, point.y - point.spread, low)):
        bar += f"M{x - 6:.1f} {place:.1f}h12" if point.spread and end == value else ""
    box = Box(x - RADIUS, min(top, y - RADIUS), x + RADIUS, max(bottom, y + RADIUS))
    return Spot(point, x, y, bar, box)


def _tie_note(spot: Spot, placer: Placer) -> tuple[Label, str]:
    """Return the label of a point, and a line to it if it is far away."""
    label = placer.place(_propose_note(spot))
    far = math.hypot(label.x - spot.x, label.y - spot.y) > 2 * RADIUS
    return label, f"M{spot.x:.1f} {spot.y:.1f}L{label.x:.1f} {label.y:.1f}" if far else ""


def _propose_note(spot: Spot) -> Iterator[tuple[Label, float]]:
    """Yield places around a marker and its error bar, each with a penalty."""
    for ring, gap in enumerate((RADIUS + 3, 24.0, 42.0, 64.0)):
        for turn, (across, down) in enumerate(_AROUND):
            reach = gap * math.sqrt(0.5) if across and down else gap
            if not across:
                reach = max(gap, 2 + (spot.box.bottom - spot.y if down > 0 else spot.y - spot.box.top))
            label = Label(spot.point.label, spot.x + reach * across, spot.y + reach * down, across, down)
            yield label, 12.0 * ring + 0.1 * turn + turn % 2


def _propose_level(text: str, y: float, left: float, right: float) -> Iterator[tuple[Label, float]]:
    """Yield places above and below a line across the plot, each with a penalty; the right end is the best."""
    while measure_text(text) > right - left - 14:
        text = text.removesuffix("…")[:-1] + "…"
    places = [(right - 6, -1), (left + 8, 1), *((left + (right - left) * part / 8, 0) for part in range(6, 1, -1))]
    gaps = ((1, 0), (RADIUS + 2, 1), (RADIUS + 3 + LINE, 60))  # at the line, past markers on it, past a label at it
    for order, (x, across) in enumerate(places):
        for gap, penalty in gaps:
            yield Label(text, x, y - gap, across, -1), order + penalty
            yield Label(text, x, y + gap, across, 1), order + penalty + 0.5


def _raise_flag(mark: Mark, axis: Axis) -> tuple[str, Label]:
    """Return a line through the plot and the label above it, on the side that has space."""
    x = axis.place(mark.at)
    side = 1 if x + 6 + measure_text(mark.label) <= WIDTH else -1
    return f"M{x:.1f} {HEIGHT:.1f}V{-4 - LINE:.1f}", Label(mark.label, x + 6 * side, -8, side, -1)
