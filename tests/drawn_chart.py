"""Draws a chart, and reads from it what a reader of the page would see."""

import math
import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from custext_sql.experiments.report.charts import Mark, Point, Series, draw_chart

LETTER = 22.0  # the largest size of text, in the units of the viewBox
ADVANCES = (
    dict.fromkeys("0123456789", 0.636) | dict.fromkeys(".,", 0.318) | {"\N{MINUS SIGN}": 0.838, "%": 0.95, "W": 0.99}
)
CURVES = [
    Series(
        f"K = {size}",
        [
            Point(epsilon, math.exp(epsilon / 2) / (math.exp(epsilon / 2) + size - 1), source=f"bayes/{size}/{epsilon}")
            for epsilon in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
        ],
    )
    for size in (5, 20, 50, 100)
]


def draw(
    series: list[Series],
    *,
    title: str = "What eps buys",
    x_label: str = "eps",
    y_label: str = "attack success",
    x_log: bool = False,
    y_range: tuple[float, float] | None = None,
    percent_y: bool = False,
    percent_x: bool = False,
    marks: list[Mark] | None = None,
) -> Element:
    """The figure, read as XML."""
    return ElementTree.fromstring(
        draw_chart(
            series,
            title=title,
            x_label=x_label,
            y_label=y_label,
            x_log=x_log,
            y_range=y_range,
            percent_y=percent_y,
            percent_x=percent_x,
            marks=marks or [],
        )
    )


def find(figure: Element, kind: str) -> list[Element]:
    """The elements of a class within the chart (not within its legend)."""
    plot = figure.find("div/svg")
    assert plot is not None
    return [element for element in plot.iter() if kind in element.get("class", "").split()]


def locate(marker: Element) -> tuple[float, float]:
    found = re.fullmatch(r"translate\((\S+) (\S+)\)", marker.get("transform", ""))
    assert found
    return float(found[1]), float(found[2])


def view(figure: Element) -> tuple[float, float, float, float]:
    """The left, upper, right and lower end of the viewBox."""
    plot = figure.find("div/svg")
    assert plot is not None
    x, y, width, height = map(float, plot.get("viewBox", "").split())
    return x, y, x + width, y + height


def read(element: Element) -> str:
    return "".join(element.itertext())


def read_number(text: str) -> float:
    number = text.replace("\N{MINUS SIGN}", "-").replace(",", "")
    return float(number[:-1]) / 100 if number.endswith("%") else float(number)


def is_tick(tick: Element, axis: str) -> bool:
    return axis in tick.get("class", "").split()


def measure(label: Element) -> tuple[float, float, float, float]:
    """The box of a text: left, top, right, bottom; by the metrics of DejaVu Sans, a wide font that many pages get."""
    spans = list(label.iter("tspan"))
    width = LETTER * max(sum(ADVANCES.get(sign, 0.5) for sign in read(span)) for span in spans)
    left = float(label.get("x", "")) - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[label.get("text-anchor", "")]
    lines = [float(label.get("y", ""))]
    for span in spans:
        lines.append(lines[-1] + LETTER * float(span.get("dy", "").removesuffix("em")))
    return left, lines[1] - 0.75 * LETTER, left + width, lines[-1] + 0.2 * LETTER


def overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def is_inside(box: tuple[float, float, float, float], frame: tuple[float, float, float, float]) -> bool:
    return frame[0] <= box[0] and frame[1] <= box[1] and box[2] <= frame[2] and box[3] <= frame[3]
