"""Charts: every value is at its place, names are text, and a page needs nothing else to show them."""

import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from custext_sql import CusTextError
from custext_sql.experiments import evaluations
from custext_sql.experiments.charts import COLORS, Point, Series, draw_chart, embed_chart
from custext_sql.experiments.evaluations import EvaluationSetup, Figure, TradeOff, TradeOffEvaluation
from tests.cli.test_commands import run

EPSILONS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
CURVES = [
    Series("uniform, paper", [Point(eps, 0.05 + eps / 25) for eps in EPSILONS]),
    Series("films, tight", [Point(eps, 0.35 + eps / 50) for eps in EPSILONS], dashed=True),
]
MECHANISMS = [
    Series("custext", [Point(0.9, 0.5, 0.02, "1"), Point(0.5, 0.7, label="8")]),
    Series("random", [Point(0.95, 0.1)]),
]


def embed(series: list[Series], title: str = "A", eps: float | None = None) -> Element:
    return ElementTree.fromstring(embed_chart(title, series, x_label="x", y_label="y", eps=eps))


def find_markers(svg: Element) -> list[Element]:
    """Return the markers of the points, without those of ticks, error bars and the legend."""
    return [use for use in svg.iter("use") if use.find("title") is not None]


def find_titles(svg: Element) -> list[str]:
    return ["".join(marker.itertext()) for marker in find_markers(svg)]


def list_texts(svg: Element) -> list[str]:
    return [text.text or "" for text in svg.iter("text")]


def test_a_pointer_on_a_marker_shows_its_values() -> None:
    assert find_titles(embed(MECHANISMS)) == [
        "custext (1)\nx: 0.9\ny: 0.5 ± 0.02",
        "custext (8)\nx: 0.5\ny: 0.7",
        "random\nx: 0.95\ny: 0.1",
    ]
    assert len(find_titles(embed(CURVES, eps=3.0))) == 2 * len(EPSILONS)


def test_markers_are_where_their_values_are() -> None:
    svg = embed(CURVES, eps=3.0)
    places = [(float(marker.get("x", "")), float(marker.get("y", ""))) for marker in find_markers(svg)]
    across, down = zip(*places[: len(EPSILONS)], strict=True)
    assert list(across) == sorted(set(across)) and list(down) == sorted(set(down), reverse=True)
    ticks = {text.text: float(text.get("x", "")) for text in svg.iter("text") if text.get("x")}
    for eps, x in zip(EPSILONS, across, strict=True):
        assert ticks[f"{eps:g}"] == pytest.approx(x), "a logarithmic axis, with a place for 0"
    steps = [b - a for a, b in pairwise(across[-3:])]
    assert steps == [pytest.approx(steps[0])] * 2, "5, 10, 20"


def test_series_differ_in_color_and_marker_as_the_legend_says() -> None:
    series = [Series(f"{place}", [Point(place, 0.5)], place == 1) for place in range(9)]
    figure = draw_chart(series, x_label="", y_label="")
    lines = figure.axes[0].get_lines()
    looks = [(line.get_color(), line.get_marker()) for line in lines]
    assert len({color for color, _ in looks[:8]}) == len({marker for _, marker in looks[:8]}) == 8
    assert looks[8][0] == looks[0][0] and looks[8] != looks[0]
    assert [place for place, line in enumerate(lines) if line.get_linestyle() == "--"] == [1]
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [f"{place}" for place in range(9)]
    assert [line.get_color() for line in legend.get_lines()] == [color for color, _ in looks]


def test_the_colors_stand_out_on_white() -> None:
    for color in COLORS:
        shares = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in shares)
        assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 2.99, color


def test_floors_and_the_chosen_eps_are_marked() -> None:
    figure = draw_chart(CURVES, x_label="", y_label="", eps=3.0, levels={"floor, a": 0.05, "floor, b": 0.35})
    marks = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == ":"]
    assert marks[0].get_xdata()[0] == 3.0
    assert [line.get_ydata()[0] for line in marks][1:] == [0.05, 0.35]
    assert {"eps = 3", "floor, a", "floor, b"} <= {text.get_text() for text in figure.axes[0].texts}


@pytest.mark.parametrize("eps", [0.0, 0.001, 1.7, 100.0])
def test_any_eps_has_its_place(eps: float) -> None:
    series = [Series("A", [Point(one, 0.5) for one in sorted({*EPSILONS, eps})])]
    figure = draw_chart(series, x_label="", y_label="", eps=eps)
    low, high = figure.axes[0].get_xlim()
    ticks = figure.axes[0].get_xticks()
    assert low < min(ticks) and max(ticks) <= high and low < eps < high
    places = figure.axes[0].transData.transform([(tick, 0.0) for tick in ticks])[:, 0]
    assert min(b - a for a, b in pairwise(places)) > 20.0, "no label on another one"


def test_an_svg_is_the_same_each_time_and_shares_no_id_with_another_chart() -> None:
    one, same, other = (embed_chart(title, CURVES, x_label="x", y_label="y") for title in ("A", "A", "B"))
    assert one == same
    assert not re.search(r"<style|<script|@|font-family|<!DOCTYPE|<metadata|https?:", one)
    svg = ElementTree.fromstring(one)
    assert (svg.get("role"), svg.get("aria-label")) == ("img", "A: y over x; uniform, paper, films, tight")
    ids = [re.findall(r'\bid="([^"]*)"', svg) for svg in (one, other)]
    assert len(ids[0]) == len(set(ids[0])) > 0 and not set(ids[0]) & set(ids[1])
    assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', one)) == set(ids[0])


def test_names_are_text_whatever_they_hold() -> None:
    name = "<b>$\\frac{a}$ 語 & \x00\x1b"
    texts = list_texts(embed([Series(name, [Point(0.1, 0.1, label="$x$")])], title=name))
    assert "<b>$\\frac{a}$ 語 & \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}" in texts and "$x$" in texts
    long = embed([Series("W" * 100, [Point(0.1, 0.1)])])
    assert f"{'W' * 21}…{'W' * 21}" in list_texts(long)
    assert find_titles(long)[0].startswith("W" * 100)


def test_without_matplotlib_the_page_says_how_to_get_the_chart(
    mapped_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    advice = "this needs matplotlib; in a checkout of custext-sql, run: pip install '.[evaluation]'"
    with pytest.raises(CusTextError, match=re.escape(advice)):
        draw_chart(CURVES, x_label="x", y_label="y")
    assert embed_chart("A", CURVES, x_label="x", y_label="y") == f"The chart is left out: {advice}"
    monkeypatch.setattr("custext_sql.experiments.report.SIMULATIONS", 50)
    result = run("--db", mapped_db, "report", "--word", "alice", "--html", tmp_path / "page.html")
    assert result.exit_code == 0 and "Verdict: " in result.output
    page = (tmp_path / "page.html").read_text()
    assert "The chart is left out: this needs matplotlib" in page and "Verdict: " in page


@pytest.mark.parametrize("metric, low", [("accuracy", 0.0), ("pearson", -0.03)])
def test_an_error_bar_goes_below_0_only_for_a_correlation(
    metric: str, low: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = TradeOff("custext", "glove", None, 20, 1.0, metric, Figure(0.02, 0.05), "mask", Figure(0.1, None))
    setup = EvaluationSetup("train; test", metric, "model", 1, 1, ("glove",), "paper", "paper", {})
    given: dict[str, Any] = {}
    monkeypatch.setattr(evaluations, "embed_chart", lambda title, series, **more: given.update(more, series=series))
    evaluations.render_tradeoff(TradeOffEvaluation(setup, "mask", (point,)))
    figure = draw_chart(**given)
    [[(_, lowest), _]] = figure.axes[0].collections[0].get_segments()
    assert lowest == pytest.approx(low)
