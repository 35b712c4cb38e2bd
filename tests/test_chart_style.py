"""The look of charts: series that can be told apart, and a page that loads nothing."""

import re

from custext_sql.experiments.report.charts import CHART_STYLE, Point, Series, draw_chart
from tests.drawn_chart import CURVES, LETTER, draw, find


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


def test_the_page_needs_nothing_from_elsewhere() -> None:
    written = CHART_STYLE + draw_chart(CURVES, title="t", x_label="x", y_label="y")
    assert not re.search(r"https?:|url\(|@import|@font-face|<script", written)
    assert "print-color-adjust: exact" in CHART_STYLE
    assert f"--chart-text: {LETTER:g}px" in CHART_STYLE
