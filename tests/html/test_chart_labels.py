"""Labels of charts: none lies on a curve."""

import math
import random
from collections.abc import Iterator
from itertools import pairwise
from xml.etree.ElementTree import Element

import pytest

from custext_sql.html.charts import Point, Series
from custext_sql.html.labels import Box
from tests.html.test_charts import draw_success, draw_tradeoff, find, make_curves, measure, read

Place = tuple[float, float]


def list_steps(figure: Element) -> Iterator[tuple[Place, Place]]:
    """Yield the lines from marker to marker."""
    for curve in find(figure, "curve"):
        places = [tuple(map(float, step.split(","))) for step in curve.get("points", "").split()]
        yield from pairwise([(x, y) for x, y in places])


def find_covered(figure: Element) -> list[str]:
    """Return the labels on which a curve has a point, by points that are half a unit apart."""
    found = []
    for label in [*find(figure, "point-label"), *find(figure, "mark-label")]:
        left, top, right, bottom = measure(label)
        for (x, y), (to_x, to_y) in list_steps(figure):
            count = math.ceil(2 * math.hypot(to_x - x, to_y - y)) + 1
            dots = ((x + (to_x - x) * part / count, y + (to_y - y) * part / count) for part in range(count + 1))
            if any(left < across < right and top < down < bottom for across, down in dots):
                found.append(read(label))
                break
    return found


def make_tradeoff(seed: int) -> list[Series]:
    """Return some mechanisms, each of which loses privacy and gains utility with eps."""
    generator, series = random.Random(seed), []
    for number in range(generator.choice((2, 3, 4, 6))):
        x, y, points = generator.uniform(0.1, 0.9), generator.uniform(0.5, 0.8), []
        for eps in ("1", "2", "3", "8", "20")[: generator.choice((2, 3, 5))]:
            points.append(Point(max(0.0, x), min(1.0, y), generator.choice((0.0, 0.01, 0.02)), eps))
            x, y = x - generator.uniform(0, 0.15), y + generator.uniform(-0.02, 0.05)
        series.append(Series(str(number), points))
    return series


@pytest.mark.parametrize("seed", range(24))
def test_no_label_of_a_tradeoff_is_on_a_curve(seed: int) -> None:
    assert find_covered(draw_tradeoff(*make_tradeoff(seed))) == []


@pytest.mark.parametrize("floors", [(0.05,), (0.05, 0.31), (0.025, 0.2), (0.3, 0.35)])
def test_no_label_of_a_chart_over_eps_is_on_a_curve(floors: tuple[float, ...]) -> None:
    for eps in (0.1, 1.0, 3.0, 8.0):
        assert find_covered(draw_success(*make_curves(*floors), eps=eps, floors=floors)) == []


def test_a_box_cuts_lines_as_long_as_they_are_within() -> None:
    box = Box(0.0, 0.0, 10.0, 5.0)
    assert box.cut((-5.0, 2.0, 20.0, 2.0)) == 10.0
    assert box.cut((3.0, -1.0, 3.0, 2.0)) == 2.0
    assert box.cut((1.0, 1.0, 4.0, 5.0)) == pytest.approx(5.0)
    assert box.cut((-1.0, 6.0, 11.0, 6.0)) == box.cut((11.0, -1.0, 11.0, 9.0)) == box.cut((20.0, 0.0, 30.0, 5.0)) == 0.0
