"""Numbers as inline SVG charts: axes, curves, error bars, markers, labels and a legend, drawn in one figure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from custext_sql.experiments.report.axes import Axis, lay_x_axis, lay_y_axis
from custext_sql.experiments.report.chart_style import CHART_STYLE, LINE, PLOT_HEIGHT, RADIUS, WIDTH, style_series
from custext_sql.experiments.report.labels import Box, Label, clean, measure, shorten, wrap
from custext_sql.experiments.report.placement import Placer, propose_level, propose_note, raise_flags
from custext_sql.experiments.report.series import Mark, Point, Series, check_values, is_finite, reach

__all__ = ["CHART_STYLE", "Mark", "Point", "Series", "draw_chart"]


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
    def box(self) -> Box:
        """The marker and its error bar."""
        top, bottom = min(self.top, self.y - RADIUS), max(self.bottom, self.y + RADIUS)
        return Box(self.x - RADIUS, top, self.x + RADIUS, bottom)


@dataclass(frozen=True)
class _Curve:
    """A series as it is drawn."""

    series: Series
    spots: Sequence[_Spot]
    kind: str  # its class
    shape: str  # the outline of its markers


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
    series = [replace(one, points=[point for point in one.points if is_finite(point.x, point.y)]) for one in series]
    marks = [mark for mark in marks if is_finite(mark.at)]
    check_values(series, marks, x_log=x_log, y_range=y_range)
    points = [point for one in series for point in one.points]
    styles = [style_series(place) for place in range(len(series))]
    if points:
        heights = [height for point in points for height in reach(point, percent_y)]
        heights += [*(y_range or ()), *(mark.at for mark in marks if mark.axis == "y")]
        y_axis = lay_y_axis(y_label, heights, percent=percent_y)
        widths = [point.x for point in points] + [mark.at for mark in marks if mark.axis == "x"]
        left = max(measure(tick.text) for tick in y_axis.ticks) + 14
        x_axis = lay_x_axis(x_label, widths, left, percent=percent_x, log=x_log)
        curves = [
            _Curve(one, [_locate(one, point, x_axis, y_axis) for point in one.points], *style)
            for one, style in zip(series, styles, strict=True)
        ]
        plot = _draw_plot(title, curves, x_axis, y_axis, marks)
    else:
        plot = '<p class="chart-empty">nothing measured yet</p>'
    legend = "".join(_draw_key(one, *style) for one, style in zip(series, styles, strict=True))
    return (
        f'<figure class="chart"><figcaption>{clean(title)}</figcaption>\n{plot}\n'
        + (f'<ul class="chart-legend">{legend}</ul>' if legend else "")
        + "</figure>"
    )


def _locate(one: Series, point: Point, x_axis: Axis, y_axis: Axis) -> _Spot:
    low, high = reach(point, y_axis.percent)
    spread = f" ± {y_axis.write(point.spread)}" if high > low else ""
    tip = [
        one.name + (f" ({point.label})" if point.label else ""),
        f"{x_axis.name}: {x_axis.write(point.x)}",
        f"{y_axis.name}: {y_axis.write(point.y)}{spread}",
    ]
    cut = (high < point.y + point.spread, low > point.y - point.spread)
    x, y, top, bottom = x_axis.place(point.x), *map(y_axis.place, (point.y, high, low))
    return _Spot(point, x, y, top, bottom, cut, "\n".join(map(clean, tip)))


def _draw_plot(title: str, curves: Sequence[_Curve], x_axis: Axis, y_axis: Axis, marks: Sequence[Mark]) -> str:
    """The SVG: the plot begins at y = 0, and what stands above it is negative."""
    left, right = x_axis.start, x_axis.end
    flags = raise_flags([mark for mark in marks if mark.axis == "x"], x_axis)
    levels = [mark for mark in marks if mark.axis == "y"]
    top = min([label.box.top for _, label in flags], default=-12.0)
    y_name = Label(wrap(y_axis.name, WIDTH - 4), 2, top - 4, "start", "bottom")
    x_name = Label(wrap(x_axis.name, WIDTH - 4), (left + right) / 2, PLOT_HEIGHT + 14 + LINE, "middle", "top")
    if x_name.box.right > WIDTH or x_name.box.left < 0:
        x_name = replace(x_name, x=WIDTH / 2)

    segments = [(a.x, a.y, b.x, b.y) for curve in curves if curve.series.joined for a, b in pairwise(curve.spots)]
    segments += [(x, 0.0, x, PLOT_HEIGHT) for x, _ in flags]
    segments += [(left, y_axis.place(mark.at), right, y_axis.place(mark.at)) for mark in levels]
    markers = [spot.box for curve in curves for spot in curve.spots]
    placer = Placer(Box(left, 0, WIDTH, PLOT_HEIGHT), markers, segments)
    mark_labels = [label for _, label in flags]
    mark_labels += [placer.place(propose_level(mark, x_axis, y_axis)) for mark in levels]

    parts = [
        *_draw_axes(x_axis, y_axis),
        *(f'<path class="mark" d="M{x:.1f} {PLOT_HEIGHT:.1f}V{label.box.top + 4:.1f}"/>' for x, label in flags),
        *(f'<path class="mark" d="M{left:.1f} {y_axis.place(mark.at):.1f}H{right:.1f}"/>' for mark in levels),
        *(label.draw("mark-label halo") for label in mark_labels),
        *map(_draw_lines, curves),
        # under the markers: no label may hide a measured value
        *(_draw_notes(curve, placer, right - left) for curve in curves),
        *map(_draw_markers, curves),
        y_name.draw("axis-label"),
        x_name.draw("axis-label"),
    ]
    above, below = y_name.box.top - 2, x_name.box.bottom + 2
    told = f"{title}: {y_axis.name} over {x_axis.name}; {', '.join(curve.series.name for curve in curves)}"
    return (
        f'<div class="chart-plot"><svg viewBox="0 {above:.1f} {WIDTH:.0f} {below - above:.1f}" role="img" '
        f'aria-label="{clean(told)}"><title>{clean(title)}</title>\n'
        + "\n".join(filter(None, parts))
        + "\n</svg></div>"
    )


def _draw_axes(x_axis: Axis, y_axis: Axis) -> Iterator[str]:
    left, right = x_axis.start, x_axis.end
    for tick in y_axis.ticks:
        y = y_axis.place(tick.value)
        yield f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>'
        yield Label([tick.text], left - 12, y, "end").draw("tick y")
    for tick in x_axis.ticks:
        x = x_axis.place(tick.value)
        yield f'<path class="grid" d="M{x:.1f} 0V{PLOT_HEIGHT:.1f}"/>'
        yield Label([tick.text], x, PLOT_HEIGHT + 10, "middle", "top").draw("tick x")
    yield f'<path class="frame" d="M{left:.1f} 0V{PLOT_HEIGHT:.1f}H{right:.1f}"/>'


def _draw_lines(curve: _Curve) -> str:
    """The line through the markers, and the error bars."""
    steps = " ".join(f"{spot.x:.1f},{spot.y:.1f}" for spot in curve.spots)
    line = f'<polyline class="{_name_line(curve.series)}" points="{steps}"/>'
    barred = [spot for spot in curve.spots if spot.top < spot.bottom]
    bars = [f"M{spot.x:.1f} {spot.top:.1f}V{spot.bottom:.1f}" for spot in barred]
    bars += [
        f"M{spot.x - 6:.1f} {end:.1f}h12"
        for spot in barred
        for end, cut in zip((spot.top, spot.bottom), spot.cut, strict=True)
        if not cut
    ]
    return _group(
        curve,
        line if curve.series.joined and len(curve.spots) > 1 else "",
        f'<path class="spread" d="{"".join(bars)}"/>' if bars else "",
    )


def _draw_notes(curve: _Curve, placer: Placer, room: float) -> str:
    """The labels beside the markers, with a thin line to those that had to move away."""
    parts = []
    for spot in curve.spots:
        text = spot.point.label.strip()
        if text:
            label = placer.place(propose_note(shorten(text, room * 0.45), spot.x, spot.y, spot.box))
            if math.hypot(label.x - spot.x, label.y - spot.y) > 2 * RADIUS:
                parts.append(f'<path class="leader" d="M{spot.x:.1f} {spot.y:.1f}L{label.x:.1f} {label.y:.1f}"/>')
            parts.append(label.draw("point-label halo"))
    return _group(curve, *parts)


def _draw_markers(curve: _Curve) -> str:
    return _group(
        curve,
        *(
            f'<path class="marker" d="{curve.shape}" transform="translate({spot.x:.1f} {spot.y:.1f})"'
            + (f' data-measurement="{clean(spot.point.source)}"' if spot.point.source else "")
            + f"><title>{spot.tip}</title></path>"
            for spot in curve.spots
        ),
    )


def _group(curve: _Curve, *parts: str) -> str:
    """The parts in the colour of the series; nothing if they are empty."""
    return f'<g class="{curve.kind}">{"".join(parts)}</g>' if any(parts) else ""


def _name_line(one: Series) -> str:
    return "curve dashed" if one.dashed else "curve"


def _draw_key(one: Series, kind: str, shape: str) -> str:
    """The line of a series in the legend."""
    width = 40 if one.joined else 20
    line = f'<path class="{_name_line(one)}" d="M0 10H40"/>' if one.joined else ""
    return (
        f'<li class="{kind}"><svg viewBox="0 0 {width} 20" width="{width * 0.9:.0f}" height="18" aria-hidden="true">'
        f'{line}<path class="marker" d="{shape}" transform="translate({width // 2} 10)"/></svg>'
        f"<span>{clean(one.name)}{'' if one.points else ' (nothing measured yet)'}</span></li>"
    )
