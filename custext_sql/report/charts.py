"""Numbers as inline SVG charts: axes, curves, error bars and labels that keep out of each other's way."""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from itertools import pairwise, product

_WIDTH, _PLOT_HEIGHT = 640.0, 330.0  # in the units of the viewBox; the figure's height grows with its labels
_TEXT, _LINE, _RADIUS = 22.0, 26.0, 7.0  # of letters, a line of text, a marker; a phone of 360 px halves them
_LARGEST = 1e100  # farther from 0, differences and steps overflow
_MINUS = "\N{MINUS SIGN}"
_SHAPES = (  # one for each colour, so that a chart can be read without colours
    "M-7 0A7 7 0 1 0 7 0A7 7 0 1 0 -7 0Z",  # circle
    "M-6.3 -6.3H6.3V6.3H-6.3Z",  # square
    "M0 -8.5L8 5.5H-8Z",  # triangle
    "M0 -9L8 0L0 9L-8 0Z",  # diamond
    "M0 8.5L8 -5.5H-8Z",  # triangle upside down
    "M-2.6 -8H2.6V-2.6H8V2.6H2.6V8H-2.6V2.6H-8V-2.6H-2.6Z",  # plus
    "M0 -9.5L2.5 -3L9 -2.9L3.9 1.3L5.6 7.7L0 4L-5.6 7.7L-3.9 1.3L-9 -2.9L-2.5 -3Z",  # star
    "M-7.6 -3.9L-3.9 -7.6L0 -3.7L3.9 -7.6L7.6 -3.9L3.7 0L7.6 3.9L3.9 7.6L0 3.7L-3.9 7.6L-7.6 3.9L-3.7 0Z",  # cross
)

# The colours stand 3:1 or more against white. Under simulated deuteranopia, protanopia and tritanopia (Machado et al.
# 2009, full severity) any two of them are at least 0.11 apart in OKLab; the first four, 0.15.
_COLORS = ("#2141aa", "#b94500", "#00888a", "#7c0053", "#b19211", "#3097fb", "#24300c", "#f837c6")

CHART_STYLE = (
    f".chart {{ {' '.join(f'--chart-{place}: {color};' for place, color in enumerate(_COLORS, 1))}"
    f" --chart-text: {_TEXT:g}px;"
    """
  --chart-ink: #1c2733; --chart-soft: #5c6b7a; --chart-line: #dde3e9; --chart-paper: #ffffff;
  margin: 0 0 1.75rem; max-width: 44rem; min-width: 0; color: var(--chart-ink); break-inside: avoid; }
.chart figcaption { font-weight: 600; line-height: 1.35; margin: 0 0 .5rem; overflow-wrap: anywhere; }
.chart-plot { container-type: inline-size; }
.chart-plot svg { display: block; width: 100%; height: auto; font-family: inherit; font-size: var(--chart-text);
  fill: var(--chart-ink); }
@container (min-width: 26rem) { .chart-plot svg { font-size: 18px; } }
@container (min-width: 32rem) { .chart-plot svg { font-size: 16px; } }
@container (min-width: 38rem) { .chart-plot svg { font-size: 14px; } }
@container (min-width: 42rem) { .chart-plot svg { font-size: 13px; } }
.chart text { pointer-events: none; font-variant-numeric: tabular-nums; }
.chart .tick, .chart .axis-label, .chart .mark-label { fill: var(--chart-soft); }
.chart .halo { paint-order: stroke; stroke: var(--chart-paper); stroke-width: 5px; stroke-linejoin: round; }
.chart .grid { stroke: var(--chart-line); stroke-width: 1.25; fill: none; }
.chart .frame { stroke: var(--chart-soft); stroke-width: 1.5; fill: none; }
.chart .mark { stroke: var(--chart-soft); stroke-width: 1.75; stroke-dasharray: 3 4; fill: none; }
.chart .curve { stroke: var(--chart-color); stroke-width: 2.75; stroke-linejoin: round; fill: none; }
.chart .dashed { stroke-dasharray: 10 6; }
.chart .spread { stroke: var(--chart-color); stroke-width: 2; fill: none; }
.chart .leader { stroke: var(--chart-color); stroke-width: 1.25; fill: none; }
.chart .marker { fill: var(--chart-color); stroke: var(--chart-paper); stroke-width: 1.5; }
.chart .point-label { fill: color-mix(in srgb, var(--chart-color) 65%, #000); font-weight: 600; }
.chart-legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: .5rem 0 0; padding: 0; list-style: none;
  font-size: .8125rem; line-height: 1.4; }
.chart-legend li { display: flex; align-items: flex-start; gap: .5rem; min-width: 0; margin: 0; }
.chart-legend svg { flex: none; }
.chart-legend span { min-width: 0; overflow-wrap: anywhere; }
.chart-empty { margin: 0; padding: 2.5rem 1rem; border: 1px dashed var(--chart-line); border-radius: .5rem;
  text-align: center; color: var(--chart-soft); }
@media print { .chart { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
    + "\n".join(
        f".chart .series-{place} {{ --chart-color: var(--chart-{place}); }}" for place in range(1, len(_COLORS) + 1)
    )
)


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


@dataclass(frozen=True)
class _Axis:
    """The values between two ends of the plot, and the ticks, of which the first and the last are the ends."""

    ticks: Sequence[float]
    labels: Sequence[str]
    log: bool
    start: float = 0.0
    end: float = 0.0

    def place(self, value: float) -> float:
        """Where a value lies in the viewBox; what is beyond an end lies at that end."""
        low, high, at = (math.log10(v) if self.log else v for v in (self.ticks[0], self.ticks[-1], value))
        return self.start + (self.end - self.start) * min(1.0, max(0.0, (at - low) / (high - low)))


@dataclass(frozen=True)
class _Box:
    """A rectangle of the viewBox; without width or height, a line."""

    left: float
    top: float
    right: float
    bottom: float

    def share(self, other: "_Box") -> float:
        """The area that both cover."""
        width = min(self.right, other.right) - max(self.left, other.left)
        return max(0.0, width) * max(0.0, min(self.bottom, other.bottom) - max(self.top, other.top))


@dataclass(frozen=True)
class _Label:
    """Lines of text that start, end or are centred at (x, y), and stand above, below or level with it."""

    lines: Sequence[str]
    x: float
    y: float
    anchor: str = "middle"  # start, middle or end, as in SVG
    side: str = "middle"  # top: the text is below (x, y); bottom: above it; or middle
    bold: bool = False

    @cached_property
    def box(self) -> _Box:
        """The space it takes at the largest size that CHART_STYLE gives to text."""
        width, height = max(map(_measure, self.lines)) * (1.12 if self.bold else 1.0), _LINE * len(self.lines)
        left = self.x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]
        top = self.y - height * {"top": 0.0, "middle": 0.5, "bottom": 1.0}[self.side]
        return _Box(left, top, left + width, top + height)

    def draw(self, kind: str) -> str:
        """The text; all steps are in em, since the page gives smaller letters to wider charts."""
        rise = {"top": 0.9, "middle": 0.35 - 0.6 * (len(self.lines) - 1), "bottom": -0.25 - 1.2 * (len(self.lines) - 1)}
        shifts = [rise[self.side]] + [1.2] * (len(self.lines) - 1)
        spans = "".join(
            f'<tspan x="{self.x:.1f}" dy="{shift:.2f}em">{_clean(line)}</tspan>'
            for line, shift in zip(self.lines, shifts, strict=True)
        )
        return f'<text class="{kind}" x="{self.x:.1f}" y="{self.y:.1f}" text-anchor="{self.anchor}">{spans}</text>'


@dataclass(frozen=True)
class _Spot:
    """A point as it is drawn: in the units of the viewBox, with what its tooltip says."""

    point: Point
    x: float
    y: float
    top: float
    bottom: float
    cut: tuple[bool, bool]  # whether the error bar ends at 100% or 0% before its measured end: above, below
    tip: str

    @property
    def box(self) -> _Box:
        """The marker and its error bar."""
        top, bottom = min(self.top, self.y - _RADIUS), max(self.bottom, self.y + _RADIUS)
        return _Box(self.x - _RADIUS, top, self.x + _RADIUS, bottom)


_Segment = tuple[float, float, float, float]


def draw_chart(
    series: Sequence[Series],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_log: bool = False,
    y_range: tuple[float, float] | None = None,
    percent_y: bool = False,
    percent_x: bool = False,
    marks: Sequence[Mark] = (),
) -> str:
    """A figure with a caption, the chart and a legend; the page's style needs CHART_STYLE, once.

    series: eight differ in colour and in marker; from the ninth on colours come again, with other markers.
    y_range: what the y axis shows at least; values, error bars and marks beyond it widen it, so that nothing is hidden.
    percent_x, percent_y: values are shares (0.25) and are written as percentages (25%).

    ValueError: an x of 0 or less with x_log, a y_range that does not ascend, a mark on an axis other than x and y.
    """
    drawn = [(one, [point for point in one.points if _is_finite(point.x, point.y)]) for one in series]
    points = [point for _, some in drawn for point in some]
    marks = [mark for mark in marks if _is_finite(mark.at)]
    _check(drawn, marks, x_log=x_log, y_range=y_range)
    if not points:
        plot = '<p class="chart-empty">nothing measured yet</p>'
    else:
        heights = [height for point in points for height in _reach(point, percent_y)]
        heights += [*(y_range or ()), *(mark.at for mark in marks if mark.axis == "y")]
        y_axis = _fit(_choose_ticks(*_widen(heights), percent=percent_y), _PLOT_HEIGHT, upright=True)
        left = max(map(_measure, y_axis.labels)) + 14
        widths = [point.x for point in points] + [mark.at for mark in marks if mark.axis == "x"]
        choices = _choose_ticks(*_widen(widths, log=x_log), percent=percent_x, log=x_log)
        x_axis = _fit(choices, _WIDTH - left, left=left)
        names, percent = (title, x_label, y_label), (percent_x, percent_y)
        spots = [[_locate(one, point, x_axis, y_axis, names[1:], percent) for point in some] for one, some in drawn]
        plot = _draw_plot(series, spots, x_axis, y_axis, names, marks)
    legend = "".join(_draw_key(place, one, bool(some)) for place, (one, some) in enumerate(drawn))
    return (
        f'<figure class="chart"><figcaption>{_clean(title)}</figcaption>\n{plot}\n'
        + (f'<ul class="chart-legend">{legend}</ul>' if legend else "")
        + "</figure>"
    )


_Drawn = Sequence[tuple[Series, Sequence[Point]]]


def _check(drawn: _Drawn, marks: Iterable[Mark], *, x_log: bool, y_range: tuple[float, float] | None) -> None:
    if y_range is not None and not (_is_finite(*y_range) and y_range[0] < y_range[1]):
        raise ValueError(f"y_range: expected two finite numbers, the smaller one first, found {y_range}.")
    for mark in marks:
        if mark.axis not in ("x", "y"):
            raise ValueError(f"mark {mark.label!r}: expected the axis 'x' or 'y', found {mark.axis!r}.")
    if x_log:
        places = [(f"series {one.name!r}", point.x) for one, some in drawn for point in some]
        places += [(f"mark {mark.label!r}", mark.at) for mark in marks if mark.axis == "x"]
        for where, x in places:
            if x < 1 / _LARGEST:
                raise ValueError(
                    f"{where}: expected x above 0 on a logarithmic axis, found {x:g}; "
                    "leave it out, or draw the chart with x_log=False."
                )


def _is_finite(*values: float) -> bool:
    return all(math.isfinite(value) and abs(value) <= _LARGEST for value in values)


def _reach(point: Point, percent: bool) -> tuple[float, float]:
    """Both ends of the error bar; that of a share ends at 0% and 100%, where no share can be beyond."""
    spread = point.spread if _is_finite(point.spread) and point.spread > 0 else 0.0
    low, high = point.y - spread, point.y + spread
    return (max(0.0, low), min(1.0, high)) if percent and 0 <= point.y <= 1 else (low, high)


def _widen(values: Sequence[float], *, log: bool = False) -> tuple[float, float]:
    """The least and the greatest value, or a range about the value when all are the same."""
    low, high = min(values), max(values)
    if log:
        return (low, high) if high / low > 1 + 1e-9 else (low / 2, high * 2)
    if high - low > max(1e-9 * max(abs(low), abs(high)), 1 / _LARGEST):
        return low, high
    room = abs(high) / 2 if abs(high) > 1 / _LARGEST else 1.0
    return low - room, high + room


def _choose_ticks(low: float, high: float, *, percent: bool, log: bool = False) -> Iterator[_Axis]:
    """Ticks that cover low to high, the finest first: 1-2-5 times a power of ten, or powers of ten alone."""
    if log:
        ladder = _climb(low, high, (1, 2, 5), 1)
        if len(ladder) < 3:  # the values are too close for steps of 2: even steps, which a log scale can show too
            yield from (axis for axis in _choose_even_ticks(low, high, percent, log) if axis.ticks[0] > 0)
        for ticks in [ladder, *(_climb(low, high, (1,), stride) for stride in (1, 2, 3, 4, 6, 10, 20, 50))]:
            yield _Axis(ticks, [_write(tick, tick, tick, percent) for tick in ticks], log)
    else:
        yield from _choose_even_ticks(low, high, percent, log)


def _climb(low: float, high: float, digits: Sequence[int], stride: int) -> list[float]:
    first, last = (math.floor(math.log10(value) / stride) for value in (low, high))
    steps = [d * 10.0 ** (stride * power) for power in range(first - 1, last + 3) for d in digits]
    start = max(place for place, step in enumerate(steps) if step <= low * (1 + 1e-9))
    end = min(place for place, step in enumerate(steps) if step >= high * (1 - 1e-9))
    return steps[start : end + 1]


def _choose_even_ticks(low: float, high: float, percent: bool, log: bool) -> Iterator[_Axis]:
    for count in range(7, 0, -1):
        raw = (high - low) / count
        power = math.floor(math.log10(raw))
        digit = next(digit for digit in (1, 2, 5, 10) if raw <= digit * 10.0**power * (1 + 1e-9))
        step = digit * 10.0**power
        numbers = range(math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6) + 1)
        ticks = [round(number * step, max(0, 1 - power)) for number in numbers]
        largest = max(map(abs, ticks))
        yield _Axis(ticks, [_write(tick, step, largest, percent) for tick in ticks], log)


def _fit(choices: Iterable[_Axis], room: float, *, left: float = 0.0, upright: bool = False) -> _Axis:
    """The finest ticks whose labels have space between them, with the axis laid into the room."""
    for choice in choices:
        if upright:
            axis = _Axis(choice.ticks, choice.labels, choice.log, room, 0.0)
            half = [_LINE / 2] * len(choice.ticks)
        else:
            half = [_measure(label) / 2 for label in choice.labels]
            start = max(left, half[0])
            axis = _Axis(choice.ticks, choice.labels, choice.log, start, left + room - max(half[-1] + 2, _RADIUS + 3))
            half = [width + _TEXT / 3 for width in half]
        places = [axis.place(tick) for tick in axis.ticks]
        if all(abs(b - a) >= m + n for (a, b), (m, n) in zip(pairwise(places), pairwise(half), strict=True)):
            break
    return axis


def _write(value: float, step: float, largest: float, percent: bool) -> str:
    """A number with the digits that a step can change; with an exponent if the largest of its axis needs one."""
    if percent:
        value, step, largest = 100 * value, 100 * step, 100 * largest
    last = math.floor(math.log10(step) + 1e-9)
    if value == 0:
        text = "0"
    elif step < 1e-5 or largest >= (1e7 if step >= 1e4 else 1e15):
        digits = max(0, math.floor(math.log10(abs(value)) + 1e-9) - last)
        mantissa, exponent = f"{value:.{digits}e}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    else:
        text = f"{value:,.{max(0, -last)}f}"
    return text.replace("-", _MINUS) + ("%" if percent else "")


def _locate(
    one: Series, point: Point, x_axis: _Axis, y_axis: _Axis, labels: tuple[str, str], percent: tuple[bool, bool]
) -> _Spot:
    low, high = _reach(point, percent[1])
    spread = f" ± {_round(point.spread, percent[1])}" if high > low else ""
    tip = [
        one.name + (f" ({point.label})" if point.label else ""),
        f"{labels[0]}: {_round(point.x, percent[0])}",
        f"{labels[1]}: {_round(point.y, percent[1])}{spread}",
    ]
    cut = (high < point.y + point.spread, low > point.y - point.spread)
    x, y, top, bottom = x_axis.place(point.x), *(y_axis.place(value) for value in (point.y, high, low))
    return _Spot(point, x, y, top, bottom, cut, "\n".join(map(_clean, tip)))


def _round(value: float, percent: bool) -> str:
    """A number to four digits."""
    value = 100 * value if percent else value
    text = f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
    return text.replace("-", _MINUS) + ("%" if percent else "")


def _draw_plot(
    series: Sequence[Series],
    spots: Sequence[Sequence[_Spot]],
    x_axis: _Axis,
    y_axis: _Axis,
    names: tuple[str, str, str],
    marks: Sequence[Mark],
) -> str:
    """The SVG: the plot begins at y = 0, and what stands above it is negative."""
    title, x_label, y_label = names
    left, right = x_axis.start, x_axis.end
    flags = _raise_flags([mark for mark in marks if mark.axis == "x"], x_axis)
    levels = [mark for mark in marks if mark.axis == "y"]
    top = min([label.box.top for _, label in flags], default=-12.0)
    y_name = _Label(_wrap(y_label, _WIDTH - 4), 2, top - 4, "start", "bottom")
    x_name = _Label(_wrap(x_label, _WIDTH - 4), (left + right) / 2, _PLOT_HEIGHT + 14 + _LINE, "middle", "top")
    if x_name.box.right > _WIDTH or x_name.box.left < 0:
        x_name = replace(x_name, x=_WIDTH / 2)

    segments = [
        (a.x, a.y, b.x, b.y) for one, some in zip(series, spots, strict=True) if one.joined for a, b in pairwise(some)
    ]
    segments += [(x, 0.0, x, _PLOT_HEIGHT) for x, _ in flags]
    segments += [(left, y_axis.place(mark.at), right, y_axis.place(mark.at)) for mark in levels]
    placer = _Placer(_Box(left, 0, _WIDTH, _PLOT_HEIGHT), [spot.box for some in spots for spot in some], segments)
    level_labels = [placer.place(_propose_level(mark, x_axis, y_axis)) for mark in levels]
    notes = [_draw_notes(place, some, placer, right - left) for place, some in enumerate(spots)]

    parts = [
        *_draw_axes(x_axis, y_axis),
        *(f'<path class="mark" d="M{x:.1f} {_PLOT_HEIGHT:.1f}V{label.box.top + 4:.1f}"/>' for x, label in flags),
        *(f'<path class="mark" d="M{left:.1f} {y_axis.place(mark.at):.1f}H{right:.1f}"/>' for mark in levels),
        *(label.draw("mark-label halo") for label in [*(label for _, label in flags), *level_labels]),
        *(_draw_lines(place, one, some) for place, (one, some) in enumerate(zip(series, spots, strict=True))),
        *notes,  # under the markers: no label may hide a measured value
        *(_draw_markers(place, some) for place, some in enumerate(spots)),
        y_name.draw("axis-label"),
        x_name.draw("axis-label"),
    ]
    above, below = y_name.box.top - 2, x_name.box.bottom + 2
    told = _clean(f"{title}: {y_label} over {x_label}; {', '.join(one.name for one in series)}")
    return (
        f'<div class="chart-plot"><svg viewBox="0 {above:.1f} {_WIDTH:.0f} {below - above:.1f}" role="img" '
        f'aria-label="{told}"><title>{_clean(title)}</title>\n' + "\n".join(filter(None, parts)) + "\n</svg></div>"
    )


def _draw_axes(x_axis: _Axis, y_axis: _Axis) -> Iterator[str]:
    left, right = x_axis.start, x_axis.end
    for tick, text in zip(y_axis.ticks, y_axis.labels, strict=True):
        y = y_axis.place(tick)
        yield f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>'
        yield _Label([text], left - 12, y, "end").draw("tick y")
    for tick, text in zip(x_axis.ticks, x_axis.labels, strict=True):
        x = x_axis.place(tick)
        yield f'<path class="grid" d="M{x:.1f} 0V{_PLOT_HEIGHT:.1f}"/>'
        yield _Label([text], x, _PLOT_HEIGHT + 10, "middle", "top").draw("tick x")
    yield f'<path class="frame" d="M{left:.1f} 0V{_PLOT_HEIGHT:.1f}H{right:.1f}"/>'


def _style(place: int) -> tuple[str, str]:
    """The class of a series and the outline of its markers."""
    turn, color = divmod(place, len(_COLORS))
    return f"series-{color + 1}", _SHAPES[(color + turn) % len(_SHAPES)]


def _draw_key(place: int, one: Series, measured: bool) -> str:
    name, shape = _style(place)
    width = 40 if one.joined else 20
    line = f'<path class="curve{" dashed" * one.dashed}" d="M0 10H40"/>' if one.joined else ""
    return (
        f'<li class="{name}"><svg viewBox="0 0 {width} 20" width="{width * 0.9:.0f}" height="18" aria-hidden="true">'
        f'{line}<path class="marker" d="{shape}" transform="translate({width // 2} 10)"/></svg>'
        f"<span>{_clean(one.name)}{'' if measured else ' (nothing measured yet)'}</span></li>"
    )


def _draw_lines(place: int, one: Series, spots: Sequence[_Spot]) -> str:
    steps = " ".join(f"{spot.x:.1f},{spot.y:.1f}" for spot in spots)
    bars = [f"M{spot.x:.1f} {spot.top:.1f}V{spot.bottom:.1f}" for spot in spots if spot.top < spot.bottom]
    caps = [
        f"M{spot.x - 6:.1f} {end:.1f}h12"
        for spot in spots
        for end, cut in zip((spot.top, spot.bottom), spot.cut, strict=True)
        if spot.top < spot.bottom and not cut
    ]
    curve = f'<polyline class="curve{" dashed" * one.dashed}" points="{steps}"/>' if one.joined and spots[1:] else ""
    spread = f'<path class="spread" d="{"".join(bars + caps)}"/>' if bars else ""
    return f'<g class="{_style(place)[0]}">{curve}{spread}</g>' if curve or spread else ""


def _draw_markers(place: int, spots: Sequence[_Spot]) -> str:
    name, shape = _style(place)
    markers = "".join(
        f'<path class="marker" d="{shape}" transform="translate({spot.x:.1f} {spot.y:.1f})"'
        + (f' data-measurement="{_clean(spot.point.source)}"' if spot.point.source else "")
        + f"><title>{spot.tip}</title></path>"
        for spot in spots
    )
    return f'<g class="{name}">{markers}</g>' if markers else ""


def _draw_notes(place: int, spots: Sequence[_Spot], placer: "_Placer", room: float) -> str:
    """The labels beside the markers, with a thin line to those that had to move away."""
    parts = []
    for spot in spots:
        if spot.point.label.strip():
            label = placer.place(_propose_note(spot, _shorten(spot.point.label.strip(), room * 0.45)))
            if math.hypot(label.x - spot.x, label.y - spot.y) > 2 * _RADIUS:
                parts.append(f'<path class="leader" d="M{spot.x:.1f} {spot.y:.1f}L{label.x:.1f} {label.y:.1f}"/>')
            parts.append(label.draw("point-label halo"))
    return f'<g class="{_style(place)[0]}">{"".join(parts)}</g>' if parts else ""


def _propose_note(spot: _Spot, text: str) -> Iterator[tuple[_Label, float]]:
    """Where the label of a marker may stand, each place with what is held against it."""
    for way, gap in enumerate((_RADIUS + 3, 24.0, 42.0, 64.0)):
        for turn in range(8):
            across, down = round(math.cos(turn * math.pi / 4), 3), round(math.sin(turn * math.pi / 4), 3)
            anchor = "middle" if across == 0 else "start" if across > 0 else "end"
            side = "middle" if down == 0 else "top" if down > 0 else "bottom"
            end = spot.box.bottom - spot.y if down > 0 else spot.y - spot.box.top  # straight up or down: beyond the bar
            label = _Label(
                [text],
                spot.x + gap * across,
                spot.y + down * max(gap, 0 if across else end + 2),
                anchor,
                side,
                bold=True,
            )
            yield label, 12.0 * way + 0.1 * turn + turn % 2


def _propose_level(mark: Mark, x_axis: _Axis, y_axis: _Axis) -> Iterator[tuple[_Label, float]]:
    """Where the label of a mark on the y axis may stand: on either side of its line, at the ends and between them."""
    left, right = x_axis.start + 8, x_axis.end - 6
    lines = _wrap(mark.label, right - left)
    half = max(map(_measure, lines)) / 2
    between = [left + half + (right - left - 2 * half) * part / 8 for part in range(7, 0, -1)]
    for against, (anchor, x) in enumerate([("end", right), ("start", left), *(("middle", x) for x in between)]):
        for side, gap in (("bottom", -1.0), ("top", 1.0)):
            yield _Label(lines, x, y_axis.place(mark.at) + gap, anchor, side), against + 0.5 * (side == "top")


class _Placer:
    """Gives each label the place where it covers least, and remembers it."""

    def __init__(self, plot: _Box, markers: Sequence[_Box], segments: Sequence[_Segment]) -> None:
        self.plot, self.markers, self.segments = plot, markers, segments
        self.taken: list[_Box] = []

    def place(self, choices: Iterable[tuple[_Label, float]]) -> _Label:
        """Of the choices, each with a penalty of its own, the one that costs least."""
        label = min(choices, key=lambda choice: choice[1] + self._weigh(choice[0].box))[0]
        self.taken.append(replace(label.box, left=label.box.left - 5, right=label.box.right + 5))
        return label

    def _weigh(self, box: _Box) -> float:
        outside = (box.right - box.left) * (box.bottom - box.top) - box.share(self.plot)
        return (
            10 * outside
            + sum(box.share(other) for other in self.taken)
            + 0.6 * sum(box.share(other) for other in self.markers)
            + 0.5 * sum(_measure_crossing(segment, box) for segment in self.segments)
        )


def _measure_crossing(segment: _Segment, box: _Box) -> float:
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


_Flag = tuple[float, _Label]  # where the line of a mark is, and its label


def _raise_flags(marks: Sequence[Mark], axis: _Axis) -> list[_Flag]:
    """Labels of marks on the x axis: above the plot, beside their lines, in as many rows as they need."""
    ordered = sorted((axis.place(mark.at), mark.label) for mark in marks)
    plans = product(("start", "end"), repeat=len(ordered)) if len(ordered) <= 5 else [("start",) * len(ordered)]
    tries = [_stack_flags(ordered[::way], anchors, axis) for anchors in plans for way in (-1, 1)]
    return min(tries, key=lambda weighed: weighed[0])[1]


def _stack_flags(
    ordered: Sequence[tuple[float, str]], anchors: Sequence[str], axis: _Axis
) -> tuple[float, list[_Flag]]:
    """Each label on the side of its line that it is given (unless there is no space), in the row where it fits best."""
    flags: list[_Flag] = []
    cost = 0.0
    for (x, text), wanted in zip(ordered, anchors, strict=True):
        rooms = {"start": axis.end - x - 6, "end": x - axis.start - 6}
        anchor = wanted if rooms[wanted] >= 120 else max(rooms, key=lambda side: rooms[side])
        lines = _wrap(text, rooms[anchor])
        rows = 1 + sum(len(label.lines) for _, label in flags)
        labels = [
            _Label(lines, x + (6 if anchor == "start" else -6), -8 - row * _LINE, anchor, "bottom")
            for row in range(rows)
        ]
        weights = [_weigh_flag(x, label, flags) + 4 * row for row, label in enumerate(labels)]
        cost += min(weights) + 5 * len(lines) + (anchor == "end")
        flags.append((x, labels[weights.index(min(weights))]))
    return cost, flags


def _weigh_flag(x: float, label: _Label, flags: Iterable[_Flag]) -> float:
    """What speaks against a flag: labels that cover each other, and lines that go through labels."""
    return sum(
        100 * label.box.share(other.box)
        + _measure_crossing((x, 0.0, x, label.box.top), other.box)
        + _measure_crossing((line, 0.0, line, other.box.top), label.box)
        for line, other in flags
    )


def _clean(text: str) -> str:
    """The text for HTML and XML: escaped, and without the characters that neither may hold."""
    return escape(" ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", " ", text).split()))


def _measure(text: str) -> float:
    """The width of a text, as wide as common sans-serif letters get (those of DejaVu Sans and Verdana)."""
    return _TEXT * sum(map(_measure_letter, text))


def _measure_letter(letter: str) -> float:
    if letter in "ijlI.,:;|' !":
        return 0.36
    if letter in "frt()[]-/":
        return 0.43
    if letter in "mwMW%@…" + _MINUS or unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.72 if letter.isupper() else 0.64


def _wrap(text: str, width: float) -> list[str]:
    """The text in lines that are no wider than the width; a word that is wider by itself is cut short."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if _measure(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(_shorten(word, width))
    return [line for line in lines if line] or [""]


def _shorten(text: str, width: float) -> str:
    if _measure(text) <= width:
        return text
    while text and _measure(text + "…") > width:
        text = text[:-1]
    return text.rstrip() + "…"
