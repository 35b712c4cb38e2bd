"""Charts: every number is at its place and legible."""

import math
import re
from itertools import combinations, pairwise
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from custext_sql.html.charts import Chart, Mark, Point, Series, draw_chart
from custext_sql.html.escaped_pages import render_page

Rectangle = tuple[float, float, float, float]  # left, top, right, bottom

LETTER = 22.0  # the largest size of text in chart.css
EPSILONS = (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0)


def make_curves(*floors: float) -> list[Series]:
    """Return curves like those of a report: they start at the floor of a prior, and the tight ones rise earlier."""
    return [
        Series(
            f"{prior}, {calibration}",
            [Point(eps, floor + (1 - floor) / (1 + 400 * math.exp(-steep * eps))) for eps in EPSILONS],
            dashed=calibration == "tight",
        )
        for prior, floor in zip(("uniform", "films.txt"), floors, strict=False)
        for calibration, steep in (("paper", 0.7), ("tight", 1.3))
    ]


def draw_success(*series: Series, eps: float = 3.0, floors: tuple[float, ...] = (0.05, 0.31)) -> Element:
    """Return a chart like the first of a report: shares over a logarithmic eps, with marks."""
    chart = draw_chart(
        series,
        title="A",
        x_label="eps",
        y_label="success",
        x_log=True,
        y_percent=True,
        x_mark=Mark(eps, f"eps = {eps:g}"),
        y_marks=[
            Mark(floor, name) for floor, name in zip(floors, ("floor, uniform", "floor, films.txt"), strict=False)
        ],
    )
    return read_figure(chart)


def draw_tradeoff(*series: Series, limits: tuple[float, float] = (0.0, 1.0)) -> Element:
    """Return a chart like the second of a report: utility over privacy, with labels and error bars."""
    return read_figure(
        draw_chart(series, title="A", x_label="privacy", y_label="accuracy", x_limits=(0.0, 1.0), y_limits=limits)
    )


def read_figure(chart: Chart) -> Element:
    return ElementTree.fromstring(render_page("chart.html", chart=chart))


def find(figure: Element, kind: str) -> list[Element]:
    """Return the elements of a class in the plot, without the legend."""
    plot = figure.find("div/svg")
    assert plot is not None
    return [element for element in plot.iter() if kind in element.get("class", "").split()]


def read(element: Element) -> str:
    return "".join(element.itertext()).strip()


def locate(marker: Element) -> tuple[float, float]:
    x, y = re.findall(r"[-\d.]+", marker.get("transform", ""))
    return float(x), float(y)


def read_ticks(figure: Element) -> tuple[dict[float, Element], dict[float, Element]]:
    """Return the labels along the x axis, which are centered, and along the y axis, by their values."""
    found: tuple[dict[float, Element], dict[float, Element]] = ({}, {})
    for tick in find(figure, "tick"):
        text = read(tick).replace("\N{MINUS SIGN}", "-")
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        found[tick.get("text-anchor") != "middle"][value] = tick
    return found


def measure(text: Element) -> Rectangle:
    """Return the box of a text in bold DejaVu Sans, a wide font that is common in browsers."""
    widths = {".": 0.38, ",": 0.38, " ": 0.35, "%": 1.0, "\N{MINUS SIGN}": 0.84, "l": 0.34, "i": 0.34, "-": 0.42}
    width = LETTER * sum(widths.get(letter, 0.696) for letter in read(text))
    left = float(text.get("x", "")) - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor", "")]
    line = float(text.get("y", "")) + LETTER * float(text.get("dy", "").removesuffix("em"))
    return left, line - 0.75 * LETTER, left + width, line + 0.2 * LETTER


def surround(marker: Element) -> Rectangle:
    x, y = locate(marker)
    return x - 6, y - 6, x + 6, y + 6


def overlap(a: Rectangle, b: Rectangle) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def assert_legible(figure: Element) -> None:
    """Check that all texts are inside the chart, do not overlap, and are not on a marker."""
    plot = figure.find("div/svg")
    assert plot is not None
    left, top, width, height = map(float, plot.get("viewBox", "").split())
    texts = {read(text) + str(measure(text)): measure(text) for text in plot.iter("text")}
    for name, box in texts.items():
        assert left <= box[0] and top <= box[1] and box[2] <= left + width and box[3] <= top + height, name
    for (one, box), (other, another) in combinations(texts.items(), 2):
        assert not overlap(box, another), (one, other)
    labels = map(measure, [*find(figure, "point-label"), *find(figure, "mark-label")])
    markers = list(map(surround, find(figure, "marker")))
    assert [box for box in labels if any(overlap(box, marker) for marker in markers)] == []


def test_every_point_has_a_marker_with_its_values() -> None:
    curves = make_curves(0.05, 0.31)
    points = [(one, point) for one in curves for point in one.points]
    for marker, (one, point) in zip(find(draw_success(*curves), "marker"), points, strict=True):
        assert read(marker) == f"{one.name}\neps: {point.x:.4g}\nsuccess: {100 * point.y:.4g}%"
    [marker] = find(draw_tradeoff(Series("CusText", [Point(0.9, 0.5, 0.02, "1")])), "marker")
    assert read(marker) == "CusText (1)\nprivacy: 0.9\naccuracy: 0.5 ± 0.02"


def test_markers_are_at_the_ticks_of_their_values() -> None:
    shares = Series("A", [Point(eps, share) for eps, share in ((0.1, 0.0), (1.0, 0.2), (20.0, 1.0))])
    places = Series("A", [Point(x, y) for x, y in ((0.1, 0.6), (0.2, 0.3), (0.4, 0.5))])
    for figure, one in ((draw_success(shares), shares), (draw_tradeoff(places), places)):
        x_ticks, y_ticks = read_ticks(figure)
        for marker, point in zip(find(figure, "marker")[-3:], one.points, strict=True):
            assert locate(marker) == (float(x_ticks[point.x].get("x", "")), float(y_ticks[point.y].get("y", "")))


def test_a_line_joins_the_markers_in_their_order() -> None:
    figure = draw_tradeoff(Series("A", [Point(0.2, 0.1), Point(0.1, 0.2), Point(0.3, 0.3)]))
    [curve] = find(figure, "curve")
    steps = [tuple(map(float, step.split(","))) for step in curve.get("points", "").split()]
    assert steps == list(map(locate, find(figure, "marker")))


@pytest.mark.parametrize("eps", [0.001, 0.05, 0.1, 1.7, 19.9, 20.0, 100.0])
@pytest.mark.parametrize("floors", [(0.05,), (0.05, 0.31), (0.05, 0.051), (0.02, 0.9)])
def test_a_chart_over_eps_is_legible_and_its_marks_are_at_their_values(eps: float, floors: tuple[float, ...]) -> None:
    at_marks = Series("at marks", [Point(eps, floors[-1])])
    figure = draw_success(*make_curves(*floors), at_marks, eps=eps, floors=floors)
    assert_legible(figure)
    upright, *levels = (line.get("d", "") for line in find(figure, "mark"))
    x, y = locate(find(figure, "marker")[-1])
    assert upright.startswith(f"M{x} ") and f" {y}H" in levels[-1]
    x_ticks, y_ticks = map(list, read_ticks(figure))
    assert x_ticks[0] <= min(0.1, eps) and max(20.0, eps) <= x_ticks[-1] and x_ticks == sorted(x_ticks)
    assert len({round(b / a, 6) for a, b in pairwise(x_ticks)} - {2, 2.5, 10}) == 0, "none is left out"
    assert (y_ticks[0], y_ticks[-1]) == (0.0, 1.0)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1), st.floats(0, 0.2)), min_size=1, max_size=8))
@example([(0.3, 0.1 + 0.2, 0.0), (0.1 + 0.2, 0.3, 0.0)])  # they differ in the last bit
@example([(1.0, 1.0, 0.0)])  # a share cannot exceed 1, so neither may its axis
def test_ticks_cover_all_values_within_the_limits_and_do_not_overlap(values: list[tuple[float, float, float]]) -> None:
    figure = draw_tradeoff(Series("A", [Point(x, y, spread) for x, y, spread in values]), limits=(-1.0, 1.0))
    assert_legible(figure)
    x_ticks, y_ticks = map(list, read_ticks(figure))
    for ticks, place, least in ((x_ticks, 0, 0.0), (y_ticks, 1, -1.0)):
        assert len(ticks) >= 2 and ticks == sorted(ticks)
        assert least <= ticks[0] and ticks[-1] <= 1.0
        slack = 1e-5 * (ticks[-1] - ticks[0])
        assert ticks[0] - slack <= min(one[place] for one in values)
        assert max(one[place] for one in values) <= ticks[-1] + slack


@pytest.mark.parametrize("y, spread", [(0.5, 0.3), (0.9, 0.3), (0.1, 0.3), (0.5, 0.9)])
def test_error_bars_are_cut_at_0_and_100_percent_where_they_have_no_cap(y: float, spread: float) -> None:
    figure = draw_tradeoff(Series("A", [Point(0.1, y, spread), Point(0.2, 0.0), Point(0.3, 1.0)]))
    (_, lowest), (_, highest) = map(locate, find(figure, "marker")[1:])
    [bar] = find(figure, "spread")
    found = re.fullmatch(r"M\S+ (\S+)V([\d.]+)((?:M\S+ \S+h12)*)", bar.get("d", ""))
    assert found
    for end, value in ((float(found[1]), y + spread), (float(found[2]), y - spread)):
        assert end == pytest.approx(lowest + (highest - lowest) * min(1.0, max(0.0, value)), abs=0.1)
        assert (f" {end}h12" in found[3]) == (0 <= value <= 1)


def test_labels_cover_neither_each_other_nor_markers_nor_error_bars() -> None:
    mechanisms = ["custext", "custext+", "santext", "santext+", "fbdd", "random"]
    series = [
        Series(
            name,
            [
                Point(0.1 + 0.1 * place + 0.04 * step, 0.6 + 0.05 * place + 0.04 * step, 0.01, f"{step}")
                for step in (1, 2)
            ],
        )
        for place, name in enumerate(mechanisms)
    ]
    climb = Series("climb", [Point(0.3 + step / 10, 0.2 + step / 20, 0.03, f"{step}") for step in range(1, 6)])
    row = [Point(0.35 + place / 30, 0.5, 0.3, "12" if place == 5 else "") for place in range(10)]
    corners = Series("corners", [Point(0, 0), Point(1, 1)])
    for figure in (draw_tradeoff(*series), draw_tradeoff(climb), draw_tradeoff(Series("row", row), corners)):
        assert_legible(figure)
        bars = [re.findall(r"[\d.]+", bar.get("d", ""))[:3] for bar in find(figure, "spread")]
        boxes = [(float(x) - 6, float(top), float(x) + 6, float(bottom)) for x, top, bottom in bars]
        assert not any(overlap(measure(label), box) for label in find(figure, "point-label") for box in boxes)


def test_a_distant_label_has_a_line_to_its_marker() -> None:
    crowd = [Point(0.5 + place / 500, 0.5 + place % 3 / 500, label=f"p{place}") for place in range(9)]
    figure = draw_tradeoff(Series("A", [Point(0, 0), Point(1, 1)]), Series("crowd", crowd))
    assert 0 < len(find(figure, "leader")) < len(find(figure, "point-label")) == 9


def test_series_differ_in_color_and_marker_as_the_legend_says() -> None:
    figure = draw_tradeoff(*(Series(f"{place}", [Point(place / 9, 0.5)], place == 1) for place in range(9)))
    shapes = [marker.get("d") for marker in find(figure, "marker")]
    groups = [group.get("class") for group in figure.iter("g") if group.find("path[@class='marker']") is not None]
    assert len(set(shapes[:8])) == len(set(groups[:8])) == 8
    assert groups[8] == groups[0] and shapes[8] != shapes[0]
    keys = figure.findall("ul/li")
    assert [read(key) for key in keys] == [f"{place}" for place in range(9)]
    assert [key.get("class") for key in keys] == groups
    assert [key.findall("svg/path")[1].get("d") for key in keys] == shapes
    lines = [line.get("class") for line in [*find(figure, "curve"), *(key.findall("svg/path")[0] for key in keys)]]
    assert [place for place, line in enumerate(lines) if line == "curve dashed"] == [1, 10]


def test_the_colors_stand_out_on_white() -> None:
    style = render_page("chart.css")
    colors = re.findall(r"\.series-\d { --chart-color: #([0-9a-f]{6}); }", style)
    assert len(set(colors)) == 8 and f"font-size: {LETTER:g}px" in style
    for color in colors:
        shares = [int(color[place : place + 2], 16) / 255 for place in (0, 2, 4)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in shares)
        assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 2.99, color


def test_the_chart_has_a_description_for_screen_readers() -> None:
    figure = draw_success(*make_curves(0.05, 0.31))
    plot = figure.find("div/svg")
    assert plot is not None and plot.get("role") == "img"
    assert (
        plot.get("aria-label")
        == "A: success over eps; uniform, paper, uniform, tight, films.txt, paper, films.txt, tight"
    )
    assert figure.findtext("figcaption") == plot.findtext("title") == "A"
    assert [read(name) for name in find(figure, "axis-label")] == ["success", "eps"]


def test_a_logarithmic_axis_has_a_place_for_0() -> None:
    curve = Series("A", [Point(eps, 0.1 + eps / 100) for eps in (0.0, 0.1, 1.0, 20.0)])
    figure = draw_success(curve, eps=0.0)
    zero, *others = [locate(marker)[0] for marker in find(figure, "marker")]
    assert zero < others[0] < others[1] < others[2]
    ticks = {read(tick): float(tick.get("x", "")) for tick in find(figure, "tick")}
    assert ticks["0"] == pytest.approx(zero, abs=0.1) and ticks["0.1"] == pytest.approx(others[0], abs=0.1)
    assert "eps: 0" in "".join(figure.itertext()) and "eps = 0" in [read(mark) for mark in find(figure, "mark-label")]


def test_an_empty_chart_says_so() -> None:
    figure = draw_tradeoff(Series("A", []))
    assert figure.findtext("p") == "nothing measured yet" and figure.find("div") is None
    figure = draw_tradeoff(Series("A", []), Series("B", [Point(0.1, 0.1)]))
    assert [read(key) for key in figure.findall("ul/li")] == ["A (nothing measured yet)", "B"]
    assert {group.get("class") for group in figure.iter("g")} == {"series-2"}, "B keeps its own color"


def test_a_long_label_of_a_mark_is_shortened_to_fit() -> None:
    marks = [Mark(0.5, "W" * 100), Mark(0.8, "語" * 100)]
    chart = draw_chart(
        make_curves(0.05), title="A", x_label="eps", y_label="y", x_log=True, y_percent=True, y_marks=marks
    )
    figure = read_figure(chart)
    plot = figure.find("div/svg")
    assert plot is not None and [read(label)[-1] for label in find(figure, "mark-label")] == ["…", "…"]
    assert all(LETTER * len(read(label)) < 640 for label in find(figure, "mark-label"))
