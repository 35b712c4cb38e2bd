"""Charts: every number where it belongs and traceable, labels that can be read, and nothing that breaks the page."""

import math
import re
from itertools import combinations, pairwise
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.report.charts import CHART_STYLE, Mark, Point, Series, draw_chart

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


@pytest.mark.parametrize("x_log", [False, True])
def test_positions_ascend_with_the_values_and_stay_inside(x_log: bool) -> None:
    figure = draw(CURVES, x_log=x_log, percent_y=True)
    spots = [locate(marker) for marker in find(figure, "marker")]
    left, top, right, bottom = view(figure)
    assert all(left + 7 <= x <= right - 7 and top + 7 <= y <= bottom - 7 for x, y in spots)
    for curve in (spots[start : start + 8] for start in range(0, 32, 8)):
        assert all(a[0] < b[0] and a[1] > b[1] for a, b in pairwise(curve))


def test_equal_ratios_are_equally_far_apart_on_a_log_axis_and_only_there() -> None:
    points = [Point(x, 1) for x in (0.1, 1, 10)]
    for x_log in (True, False):
        a, b, c = (locate(marker)[0] for marker in find(draw([Series("A", points)], x_log=x_log), "marker"))
        assert (b - a == pytest.approx(c - b, abs=0.2)) == x_log


def test_a_marker_lies_at_the_tick_of_its_value() -> None:
    figure = draw([Series("A", [Point(x, 10 * x) for x in (0, 1, 2, 3, 4)])])
    places = {read_number(read(tick)): float(tick.get("x", "")) for tick in find(figure, "tick") if is_tick(tick, "x")}
    heights = {read_number(read(tick)): float(tick.get("y", "")) for tick in find(figure, "tick") if is_tick(tick, "y")}
    for value, (x, y) in enumerate(map(locate, find(figure, "marker"))):
        assert x == pytest.approx(places[value])
        assert y == pytest.approx(heights[10 * value])


def is_tick(tick: Element, axis: str) -> bool:
    return axis in tick.get("class", "").split()


RANGES = {
    "shares": (0.0, 1.0),
    "eps": (0.1, 20.0),
    "thin": (0.9994, 0.9996),
    "decades": (1e-7, 1e8),
    "large": (1e9, 1e9 + 3),
    "huge": (1.0, 9e40),
    "tiny": (1e-12, 7e-12),
    "wide labels": (100_000.0, 900_000.0),
}


@pytest.mark.parametrize("x_log", [False, True])
@pytest.mark.parametrize("low, high", RANGES.values(), ids=RANGES)
def test_ticks_cover_the_values_and_do_not_overlap(low: float, high: float, x_log: bool) -> None:
    if x_log and low == 0:
        low = 0.01
    figure = draw([Series("A", [Point(low, low), Point(high, high)])], x_log=x_log)
    for axis, sign in (("x", 1), ("y", -1)):
        ticks = [tick for tick in find(figure, "tick") if is_tick(tick, axis)]
        values = [read_number(read(tick)) for tick in ticks]
        assert len(ticks) >= 2
        assert values == sorted(set(values))
        assert values[0] <= low * (1 + 1e-9) and high * (1 - 1e-9) <= values[-1]
        places = [sign * float(tick.get(axis, "")) for tick in ticks]
        assert places == sorted(places)
        boxes = [measure(tick) for tick in ticks]
        assert not any(overlap(a, b) for a, b in combinations(boxes, 2))
        assert all(is_inside(box, view(figure)) for box in boxes)


@given(
    st.lists(st.floats(-1e90, 1e90), min_size=1, max_size=5),
    st.booleans(),
    st.booleans(),
)
def test_ticks_cover_whatever_is_measured(values: list[float], percent: bool, x_log: bool) -> None:
    points = [Point(max(abs(value), 1e-90) if x_log else value, value) for value in values]
    figure = draw([Series("A", points)], percent_y=percent, x_log=x_log)
    markers = find(figure, "marker")
    assert len(markers) == len(values)
    _, top, _, bottom = view(figure)
    heights = sorted((point.y, -locate(marker)[1]) for point, marker in zip(points, markers, strict=True))
    assert [height for _, height in heights] == sorted(height for _, height in heights)
    assert all(top < -height < bottom for _, height in heights)
    ticks = [read_number(read(tick)) for tick in find(figure, "tick") if is_tick(tick, "y")]
    slack = 1e-6 * (ticks[-1] - ticks[0])
    assert ticks[0] - slack <= min(values) and max(values) <= ticks[-1] + slack


@pytest.mark.parametrize("values", [(0.1, 20.0), (0.3, 80.0)])
def test_ticks_of_a_log_axis_are_one_two_and_five_per_decade(values: tuple[float, float]) -> None:
    figure = draw([Series("A", [Point(x, 1) for x in values])], x_log=True)
    ticks = [read(tick) for tick in find(figure, "tick") if is_tick(tick, "x")]
    assert {tick.strip("0.,") for tick in ticks} == {"1", "2", "5"}
    numbers = [float(tick) for tick in ticks]
    assert all(1.9 < b / a < 2.6 for a, b in pairwise(numbers)), "none is left out"


def test_ticks_of_shares_are_percentages_that_end_at_a_hundred() -> None:
    figure = draw([Series("A", [Point(1, 0.02), Point(2, 0.99, 0.05)])], percent_y=True)
    ticks = [read(tick) for tick in find(figure, "tick") if is_tick(tick, "y")]
    assert (ticks[0], ticks[-1]) == ("0%", "100%")


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


@pytest.mark.parametrize("spread", [math.nan, math.inf, -1.0])
def test_a_spread_that_is_none_draws_no_bar(spread: float) -> None:
    figure = draw([Series("A", [Point(1, 2, spread)])])
    assert len(find(figure, "marker")) == 1
    assert not find(figure, "spread")
    assert "±" not in read(find(figure, "marker")[0])


def test_a_range_is_the_least_that_is_shown_and_hides_nothing() -> None:
    def read_ends(y: float) -> tuple[str, str]:
        figure = draw([Series("A", [Point(1, y)])], y_range=(0, 1))
        ticks = [read(tick) for tick in find(figure, "tick") if is_tick(tick, "y")]
        return ticks[0], ticks[-1]

    assert read_ends(0.5) == ("0", "1.0")
    assert read_ends(1.9) == ("0", "2.0")


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


def test_eight_series_differ_in_colour_and_in_marker() -> None:
    figure = draw([Series(f"{place}", [Point(place, place)]) for place in range(8)])
    assert len({marker.get("d") for marker in find(figure, "marker")}) == 8
    groups = [group.get("class", "") for group in figure.iter("g") if group.find("path[@class='marker']") is not None]
    assert len(set(groups)) == 8
    for group in groups:
        assert f".chart .{group} {{ --chart-color: var(--chart-{group.removeprefix('series-')}); }}" in CHART_STYLE
    colors = re.findall(r"--chart-\d: (#[0-9a-f]{6});", CHART_STYLE)
    assert len(set(colors)) == 8


def test_a_ninth_series_differs_from_the_first() -> None:
    figure = draw([Series(f"{place}", [Point(place, place)]) for place in range(9)])
    markers = find(figure, "marker")
    assert markers[0].get("d") != markers[8].get("d")


def test_the_colours_stand_out_on_white() -> None:
    for color in re.findall(r"--chart-\d: #([0-9a-f]{6});", CHART_STYLE):
        shares = [int(color[place : place + 2], 16) / 255 for place in (0, 2, 4)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in shares)
        assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 2.99, color


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


@pytest.mark.parametrize(
    "places",
    [(1.0, 3.0), (0.1, 0.11, 20.0, 19.0), (0.1,), (20.0,), (1.4, 1.4, 1.4), (0.2, 0.5, 1, 2, 5, 10, 20)],
)
@pytest.mark.parametrize("text", ["eps = {}", "eps = {}, where the attacker is no better than chance"])
def test_labels_of_marks_stay_in_the_chart_and_off_each_other(places: tuple[float, ...], text: str) -> None:
    marks = [Mark(at, text.format(at)) for at in places]
    marks += [Mark(0.3, "three tenths", "y"), Mark(0.31, "a bit more", "y"), Mark(1, "all", "y"), Mark(0, "none", "y")]
    figure = draw(CURVES, x_log=True, percent_y=True, marks=marks)
    labels = find(figure, "mark-label")
    assert len(labels) == len(marks)
    boxes = [measure(label) for label in labels]
    left, right = (float(find(figure, "grid")[0].get("d", "")[1:].replace("H", " ").split()[end]) for end in (0, -1))
    _, top, _, bottom = view(figure)
    assert all(is_inside(box, (left, top, right, bottom)) for box in boxes)
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))


def test_labels_of_points_stay_in_the_chart_and_off_each_other_and_the_markers() -> None:
    series = [
        Series(name, [Point(0.1 + 0.1 * place + 0.04 * step, 0.6 + 0.05 * place + 0.04 * step, 0.01, f"{step}")])
        for place, name in enumerate(["CusText", "SanText", "TEM", "Mahalanobis", "CusText+", "SanText+"])
        for step in (1, 2)
    ]
    figure = draw(series, percent_x=True, percent_y=True, marks=[Mark(0.9, "in clear", "y")])
    boxes = [measure(label) for label in [*find(figure, "point-label"), *find(figure, "mark-label")]]
    assert len(boxes) == 13
    assert all(is_inside(box, view(figure)) for box in boxes)
    spots = [(x - 6, y - 6, x + 6, y + 6) for x, y in map(locate, find(figure, "marker"))]
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))
    assert not any(overlap(box, spot) for box in boxes for spot in spots)


@pytest.mark.parametrize("across, up", [(0.3, 0.0), (-0.3, 0.0), (0.2, 0.2), (0.2, -0.2), (0.0, 0.5), (0.0, -0.5)])
def test_a_label_does_not_cover_the_marker_beside_its_own(across: float, up: float) -> None:
    corners = Series("corners", [Point(0, 0), Point(10, 10)], joined=False)
    figure = draw([Series("A", [Point(5, 5, label="three")]), Series("B", [Point(5 + across, 5 + up)]), corners])
    [box] = map(measure, find(figure, "point-label"))
    spots = [(x - 6, y - 6, x + 6, y + 6) for x, y in map(locate, find(figure, "marker"))]
    assert not any(overlap(box, spot) for spot in spots)


def test_a_label_does_not_cover_an_error_bar() -> None:
    climb = [Point(step, 10 * step, 6, f"{step}") for step in range(1, 6)]
    figure = draw([Series("A", climb), Series("corners", [Point(0, 0), Point(7, 60)], joined=False)])
    [bars] = find(figure, "spread")
    ends = [tuple(map(float, bar)) for bar in re.findall(r"M(\S+?) (\S+?)V([\d.]+)", bars.get("d", ""))]
    assert len(ends) == 5
    boxes = [measure(label) for label in find(figure, "point-label")]
    assert not any(overlap(box, (x - 6, top, x + 6, bottom)) for box in boxes for x, top, bottom in ends)


def test_a_label_far_from_its_marker_is_tied_to_it() -> None:
    crowd = [Point(1 + place / 500, 1 + place % 3 / 500, label=f"p{place}") for place in range(9)]
    figure = draw([Series("A", [Point(0, 0), Point(2, 2)]), Series("crowd", crowd, joined=False)])
    assert find(figure, "leader")
    boxes = [measure(label) for label in find(figure, "point-label")]
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))


def test_what_a_user_gives_is_text_and_never_markup() -> None:
    bad = "<script>\"'&\x00\x1b\ud800\uffff</script>"
    written = draw_chart(
        [Series(bad, [Point(1, 1, 0.1, bad, bad)]), Series(bad, [])],
        title=bad,
        x_label=bad,
        y_label=bad,
        marks=[Mark(1, bad), Mark(1, bad, "y")],
    )
    figure = ElementTree.fromstring(written)
    assert "<script" not in written
    assert figure.findtext("figcaption") == "<script>\"'& </script>"
    assert find(figure, "marker")[0].get("data-measurement") == "<script>\"'& </script>"
    assert not [element.tag for element in figure.iter() if element.tag == "script"]
    written.encode()


def test_points_that_are_not_finite_are_left_out() -> None:
    bad = [Point(math.nan, 1), Point(1, math.inf), Point(-math.inf, 1), Point(1, 1e300)]
    figure = draw([Series("A", [Point(1, 1), *bad, Point(2, 2)])])
    assert len(find(figure, "marker")) == 2
    assert len(find(figure, "curve")[0].get("points", "").split()) == 2


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


@pytest.mark.parametrize("x_log", [False, True])
@pytest.mark.parametrize("y", [0.0, 0.5, -3.0, 1.0, 1e-200])
def test_a_single_value_lies_within_the_plot(y: float, x_log: bool) -> None:
    figure = draw([Series("A", [Point(1, y)])], x_log=x_log)
    [(x, height)] = map(locate, find(figure, "marker"))
    assert 150 < x < 500
    assert 100 < height < 230
    assert not find(figure, "curve")


def test_values_that_are_all_the_same_form_a_level_line() -> None:
    figure = draw([Series("A", [Point(x, 0.25) for x in (1, 2, 3)])])
    assert len({locate(marker)[1] for marker in find(figure, "marker")}) == 1


@pytest.mark.parametrize("x", [0.0, -1.0])
def test_a_log_axis_refuses_what_it_cannot_show(x: float) -> None:
    with pytest.raises(ValueError, match=rf"series 'A': expected x above 0 .* found {x:g}; leave it out, or .*x_log"):
        draw([Series("A", [Point(1, 1), Point(x, 1)])], x_log=True)
    with pytest.raises(ValueError, match="mark 'chance': expected x above 0"):
        draw([Series("A", [Point(1, 1)])], x_log=True, marks=[Mark(x, "chance")])
    draw([Series("A", [Point(1, x)])], x_log=True, marks=[Mark(x, "chance", "y")])


def test_a_wrong_range_or_axis_is_refused() -> None:
    series = [Series("A", [Point(1, 1)])]
    with pytest.raises(ValueError, match="y_range: expected two finite numbers, the smaller one first"):
        draw(series, y_range=(1, 0))
    with pytest.raises(ValueError, match="mark 'm': expected the axis 'x' or 'y', found 'z'"):
        draw(series, marks=[Mark(1, "m", "z")])


def test_long_names_and_labels_stay_within_the_chart() -> None:
    long = "a name that goes on and on " * 8 + "W" * 200
    figure = draw(
        [Series(long, [Point(1, 1, label=long), Point(2, 2)])],
        title=long,
        x_label=long,
        y_label=long,
        marks=[Mark(1.5, long), Mark(1.5, long, "y")],
    )
    assert all(is_inside(measure(label), view(figure)) for label in figure.iter("text"))
    assert long.strip() in read(figure.findall("ul/li")[0])


def test_the_page_needs_nothing_from_elsewhere() -> None:
    written = CHART_STYLE + draw_chart(CURVES, title="t", x_label="x", y_label="y")
    assert not re.search(r"https?:|url\(|@import|@font-face|<script", written)
    assert "print-color-adjust: exact" in CHART_STYLE
    assert f"--chart-text: {LETTER:g}px" in CHART_STYLE
