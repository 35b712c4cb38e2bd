"""Charts: every number is drawn and traceable, and the legend and the names say what it is."""

import math
import re

import pytest

from custext_sql.report.charts import Mark, Point, Series
from tests.drawn_chart import CURVES, draw, find, is_tick, read, read_number


def test_every_point_has_a_marker_with_its_tooltip_and_source() -> None:
    figure = draw(CURVES, x_log=True, percent_y=True)
    markers = find(figure, "marker")
    points = [(one, point) for one in CURVES for point in one.points]
    assert [marker.get("data-measurement") for marker in markers] == [point.source for _, point in points]
    for marker, (one, point) in zip(markers, points, strict=True):
        tip = marker.find("title")
        assert tip is not None
        assert tip.text == f"{one.name}\neps: {point.x:.4g}\nattack success: {100 * point.y:.4g}%"


def test_a_tooltip_tells_the_label_and_the_spread() -> None:
    [marker] = find(draw([Series("CusText", [Point(1, 0.5, 0.02, "eps 1")])], percent_y=True), "marker")
    assert read(marker) == "CusText (eps 1)\neps: 1\nattack success: 50% ± 2%"


def test_a_point_without_a_source_claims_none() -> None:
    [marker] = find(draw([Series("A", [Point(1, 2)])]), "marker")
    assert "data-measurement" not in marker.attrib


def test_an_error_bar_is_as_high_as_its_spread() -> None:
    figure = draw([Series("A", [Point(1, 10, 5), Point(2, 20), Point(3, 0)])])
    heights = {read_number(read(tick)): float(tick.get("y", "")) for tick in find(figure, "tick") if is_tick(tick, "y")}
    [bars] = find(figure, "spread")
    assert re.match(rf"M\S+ {heights[15]:.1f}V{heights[5]:.1f}", bars.get("d", ""))
    assert bars.get("d", "").count("V") == 1, "a spread of 0 has no bar"
    assert bars.get("d", "").count("h12") == 2


def test_an_error_bar_of_a_share_ends_at_a_hundred_percent_without_a_cap() -> None:
    [bars] = find(draw([Series("A", [Point(1, 0.99, 0.05), Point(2, 0.5)])], percent_y=True), "spread")
    assert bars.get("d", "").count("h12") == 1


def test_only_joined_series_have_a_line_and_only_dashed_ones_are_dashed() -> None:
    points = [Point(1, 1), Point(2, 3)]
    figure = draw([Series("a", points), Series("b", points, dashed=True), Series("c", points, joined=False)])
    assert [curve.get("class") for curve in find(figure, "curve")] == ["curve", "curve dashed"]
    keys = figure.findall("ul/li")
    lines = [[path.get("class") for path in key.iter("path") if path.get("class") != "marker"] for key in keys]
    assert lines == [["curve"], ["curve dashed"], []]


def test_a_line_follows_the_given_order() -> None:
    [curve] = find(draw([Series("A", [Point(2, 1), Point(1, 2), Point(3, 3)])]), "curve")
    a, b, c = (float(step.split(",")[0]) for step in curve.get("points", "").split())
    assert b < a < c


def test_the_legend_shows_the_marker_that_the_chart_uses() -> None:
    figure = draw(CURVES)
    keys = figure.findall("ul/li")
    assert [read(key) for key in keys] == [one.name for one in CURVES]
    for key, marker in zip(keys, find(figure, "marker")[::8], strict=True):
        shape = key.find("svg/path[@class='marker']")
        assert shape is not None and shape.get("d") == marker.get("d")


def test_the_chart_is_named_for_those_who_cannot_see_it() -> None:
    figure = draw(CURVES, title="Attack")
    plot = figure.find("div/svg")
    assert plot is not None
    assert (figure.tag, figure.get("class"), figure.findtext("figcaption")) == ("figure", "chart", "Attack")
    assert plot.get("role") == "img"
    assert plot.get("aria-label") == "Attack: attack success over eps; K = 5, K = 20, K = 50, K = 100"
    assert plot[0].tag == "title" and plot[0].text == "Attack"


def test_marks_lie_at_their_value_and_widen_the_axes() -> None:
    figure = draw(
        [Series("A", [Point(1, 1), Point(2, 2)])],
        marks=[Mark(4, "four"), Mark(3, "three", "y"), Mark(math.nan, "nowhere")],
    )
    places = {read(tick): tick.get("x") for tick in find(figure, "tick") if is_tick(tick, "x")}
    heights = {read(tick): tick.get("y") for tick in find(figure, "tick") if is_tick(tick, "y")}
    upright, level = (line.get("d", "") for line in find(figure, "mark"))
    assert upright.startswith(f"M{places['4.0']} ")
    assert f" {heights['3.0']}H" in level
    assert sorted(read(label) for label in find(figure, "mark-label")) == ["four", "three"]


@pytest.mark.parametrize("series", [[], [Series("A", [])], [Series("A", [Point(math.nan, 1)])]])
def test_nothing_measured_is_said(series: list[Series]) -> None:
    figure = draw(series, x_log=True, marks=[Mark(1, "one")])
    assert figure.findtext("p") == "nothing measured yet"
    assert figure.find("div") is None
    assert [read(key) for key in figure.findall("ul/li")] == [f"{one.name} (nothing measured yet)" for one in series]


def test_a_series_without_points_is_named_as_such_beside_others() -> None:
    figure = draw([Series("A", []), Series("B", [Point(1, 1)])])
    assert [read(key) for key in figure.findall("ul/li")] == ["A (nothing measured yet)", "B"]
    assert [group.get("class") for group in figure.iter("g")] == ["series-2"], "B keeps its own colour"
