"""What cannot be shown: left out where it is a missing value, refused where it is a mistake."""

import math

import pytest

from custext_sql.experiments.report.charts import Mark, Point, Series
from tests.drawn_chart import draw, find, read


def test_points_that_are_not_finite_are_left_out() -> None:
    bad = [Point(math.nan, 1), Point(1, math.inf), Point(-math.inf, 1), Point(1, 1e300)]
    figure = draw([Series("A", [Point(1, 1), *bad, Point(2, 2)])])
    assert len(find(figure, "marker")) == 2
    assert len(find(figure, "curve")[0].get("points", "").split()) == 2


@pytest.mark.parametrize("spread", [math.nan, math.inf, -1.0])
def test_a_spread_that_is_none_draws_no_bar(spread: float) -> None:
    figure = draw([Series("A", [Point(1, 2, spread)])])
    assert len(find(figure, "marker")) == 1
    assert not find(figure, "spread")
    assert "±" not in read(find(figure, "marker")[0])


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
