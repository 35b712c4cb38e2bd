"""Labels keep out of each other's way, and out of the way of markers and error bars."""

import re
from itertools import combinations

import pytest

from custext_sql.experiments.report.charts import Mark, Point, Series
from tests.drawn_chart import CURVES, draw, find, is_inside, locate, measure, overlap, view


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
