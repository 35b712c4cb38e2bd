"""Axes: ticks that cover the values and can be read, and every value where it belongs."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.experiments.report.charts import Point, Series
from tests.drawn_chart import CURVES, draw, find, is_inside, is_tick, locate, measure, overlap, read, read_number, view


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


def test_a_range_is_the_least_that_is_shown_and_hides_nothing() -> None:
    def read_ends(y: float) -> tuple[str, str]:
        figure = draw([Series("A", [Point(1, y)])], y_range=(0, 1))
        ticks = [read(tick) for tick in find(figure, "tick") if is_tick(tick, "y")]
        return ticks[0], ticks[-1]

    assert read_ends(0.5) == ("0", "1.0")
    assert read_ends(1.9) == ("0", "2.0")


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
