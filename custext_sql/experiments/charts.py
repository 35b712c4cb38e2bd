"""Charts: matplotlib draws them, as figures that it could also write as PDF or PNG, and pages show them as SVG."""

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from xml.etree import ElementTree

from custext_sql.errors import SettingError
from custext_sql.experiments.extras import import_library
from custext_sql.html.escaped_pages import replace_forbidden, show_svg

_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
# The contrast of the colors with white is at least 3:1. Under simulated deuteranopia, protanopia and tritanopia
# (Machado et al. 2009, full severity), any two of them are at least 0.11 apart in OKLab; the first four, 0.15.
COLORS = ("#2141aa", "#b94500", "#00888a", "#7c0053", "#b19211", "#3097fb", "#24300c", "#f837c6")
_MARKERS = "os^Dv*XP"
_SOFT, _GRID = "#5c6b7a", "#dde3e9"
_MARK: dict[str, Any] = {"color": _SOFT, "linestyle": ":", "linewidth": 1.2}  # a line across the plot
_SETTINGS = {
    "svg.fonttype": "none",  # text stays text
    "text.parse_math": False,  # names may have a $
    "font.size": 10.0,
    "axes.edgecolor": _SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _GRID,
    "text.color": _SOFT,
    "axes.labelcolor": _SOFT,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "lines.linewidth": 2.0,
    "lines.markersize": 7.0,
    "lines.markeredgecolor": "white",
    "legend.frameon": False,
    "legend.labelcolor": "#1c2733",
}


class Point(NamedTuple):
    """A measured value. spread: half the height of its error bar. label: a text beside it."""

    x: float
    y: float
    spread: float = 0.0
    label: str = ""


class Series(NamedTuple):
    """Points that share a color, a marker and an entry in the legend."""

    name: str
    points: Sequence[Point]
    dashed: bool = False


def draw_chart(
    series: Sequence[Series],
    *,
    x_label: str,
    y_label: str,
    y_limits: tuple[float, float] = (0.0, 1.0),
    eps: float | None = None,
    levels: Mapping[str, float] | None = None,
) -> Any:
    """Return a chart as a figure of matplotlib. SettingError if that is not installed.

    y_limits: the possible values, at which error bars end. eps: for a chart of shares over eps, which has a logarithmic
    axis with a place for 0: the one to mark. levels: lines across the plot, by label.
    """
    with _styled():
        figure = import_library("matplotlib.figure").Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.add_subplot(xlabel=shorten(x_label, 44), ylabel=shorten(y_label, 44))
        for number, (name, points, dashed) in enumerate(series):
            x, y = [point.x for point in points], [point.y for point in points]
            style = {"color": COLORS[number % 8], "zorder": 3.0}
            marker = _MARKERS[(number + number // 8) % 8]  # a ninth series has the color of the first one
            line = "--" if dashed else "-"
            axes.plot(x, y, line, marker=marker, label=shorten(name, 44), gid=f"series-{number}", **style)
            for point in points:
                if point.spread:
                    below, above = (max(0.0, min(point.spread, abs(point.y - end))) for end in y_limits)
                    axes.errorbar(point.x, point.y, [[below], [above]], fmt="none", capsize=4.0, **style)
                up = number % 2 == 0
                axes.annotate(
                    *(shorten(point.label), (point.x, point.y), (6.0, 6.0 if up else -6.0)),
                    textcoords="offset points",
                    va="bottom" if up else "top",
                    **style,
                )
        if eps is not None:
            _lay_out_eps(axes, eps)
        for place, (label, level) in enumerate(sorted((levels or {}).items(), key=lambda one: one[1])):
            axes.axhline(level, **_MARK)
            beside = {"va": "top" if place == 0 else "bottom", "transform": axes.get_yaxis_transform()}
            axes.text(1.01, level, shorten(label), **beside)
        figure.legend(loc="outside lower center", ncols=2)
        return figure


def _lay_out_eps(axes: Any, eps: float) -> None:
    """Make the x axis logarithmic, with a place for 0, and the y axis one of percentages; mark an eps."""
    axes.axvline(eps, **_MARK)
    axes.text(eps, 1.01, f"eps = {eps:g}", ha="center", transform=axes.get_xaxis_transform())
    shown = [float(x) for line in axes.lines for x in line.get_xdata()]
    least = min((x for x in shown if x > 0.0), default=1.0)
    axes.set_xscale("symlog", linthresh=least, linscale=0.5)
    powers, digits = range(-3, 3), (1, 2, 5) if least >= 0.1 else (1,)
    ticks = [0.0, *(digit * 10.0**power for power in powers for digit in digits)]
    ticks = [tick for tick in ticks if min(shown) <= tick <= max(shown) and not 0.0 < tick < least]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlim(min(shown) * 0.9 or -0.15 * least, max(shown) * 1.1)
    axes.set_ylim(-0.02, 1.02)
    axes.yaxis.set_major_formatter(import_library("matplotlib.ticker").PercentFormatter(1.0))


def shorten(name: str, length: int = 28) -> str:
    """Return a name shortened to fit into a chart, without characters that SVG forbids."""
    half = (length - 1) // 2
    return replace_forbidden(name if len(name) <= length else f"{name[:half]}…{name[-half:]}")


@contextmanager
def _styled() -> Iterator[None]:
    """Draw in our style, and without warnings about letters that the font lacks: the reader's browser has its own."""
    with import_library("matplotlib").rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def embed_chart(title: str, series: Sequence[Series], *, x_label: str, y_label: str, **settings: Any) -> str:
    """Return a chart as SVG for a page: self-contained, the same in each run, and described for screen readers.

    settings: as `draw_chart` takes them. A pointer that rests on a marker shows its values. If matplotlib is not
    installed, return a sentence that says how to install it.
    """
    try:
        figure = draw_chart(series, x_label=x_label, y_label=y_label, **settings)
    except SettingError as error:
        return f"The chart is left out: {error}"
    written = io.StringIO()
    with _styled(), import_library("matplotlib").rc_context({"svg.hashsalt": replace_forbidden(title)}):
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = ElementTree.fromstring(re.sub("font-family: [^;]*; ", "", written.getvalue()))  # the font is the page's
    svg.remove(svg[0])  # a style, which would apply to the whole page
    used = set(re.findall(r"#(\w+)", " ".join(value for part in svg.iter() for value in part.attrib.values())))
    for part in svg.iter():
        if (link := part.attrib.pop(f"{{{_LINK}}}href", None)) is not None:
            part.set("href", link)  # which HTML knows without a namespace
        number = part.get("id", "").removeprefix("series-")
        if number.isdecimal():
            name, points, _ = series[int(number)]
            for marker, point in zip(part.iter(f"{{{_SVG}}}use"), points, strict=True):
                ElementTree.SubElement(marker, "title").text = replace_forbidden(
                    f"{name}{f' ({point.label})' if point.label else ''}\n{x_label}: {point.x:.4g}\n"
                    f"{y_label}: {point.y:.4g}{f' ± {point.spread:.4g}' if point.spread else ''}"
                )
        if part.get("id") not in used:  # others are only unique within a chart
            part.attrib.pop("id", None)
    names = ", ".join(one.name for one in series)
    about = replace_forbidden(f"{title}: {y_label} over {x_label}; {names}")
    box = {"viewBox": svg.attrib["viewBox"], "role": "img", "aria-label": about}
    svg.attrib.clear()
    svg.attrib.update(box)
    return show_svg(svg)
