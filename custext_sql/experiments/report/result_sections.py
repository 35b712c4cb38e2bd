"""The sections of a report on what experiments found: utility, and privacy against it."""

from collections.abc import Iterator, Sequence
from html import escape

from custext_sql.experiments.evaluation.tradeoff import TradeOff
from custext_sql.experiments.report.charts import Point, Series, draw_chart
from custext_sql.experiments.report.elements import shorten, trace_figure, write_eps, write_table
from custext_sql.experiments.report.results import TradeOffCurves, UtilityRow, UtilityTable

_NOTHING = (
    "<p>Nothing was measured yet: <code>custext evaluate {command} --train FILE --test FILE --text NAME</code></p>"
)


def write_utility(tables: Sequence[UtilityTable], chosen: float) -> Iterator[str]:
    """The paper's Table 1, for each of the experiments."""
    yield (
        "<h2>What the text is still good for</h2><p>Training and test data were sanitized by each mechanism, and a "
        "model was trained and tested on them: the mean over seeds ± their standard deviation. Calibration and policy "
        "are the paper's unless a row says otherwise.</p>"
    )
    if not tables:
        yield _NOTHING.format(command="utility")
    for table in tables:
        epsilons: list[float | None] = [*table.epsilons] or [None]
        yield f"<h3>{escape(table.dataset)}: {escape(table.metric)} ({escape(table.model)})</h3>"
        yield write_table(
            ["mechanism", "K", *("any eps" if epsilon is None else write_eps(epsilon) for epsilon in epsilons)],
            [[*_name(row), *(_show(row, epsilon) for epsilon in epsilons)] for row in table.rows],
            chosen=[2 + epsilons.index(chosen)] if chosen in epsilons else [],
        )


def _name(row: UtilityRow) -> list[str]:
    remark = f" <small>{escape(', '.join(filter(None, (row.mapping or row.embedding, row.remark))))}</small>"
    return [escape(row.mechanism) + remark, "" if row.k is None else str(row.k)]


def _show(row: UtilityRow, epsilon: float | None) -> str:
    """The figure at an eps, or the one that holds at any."""
    figure = row.figures.get(epsilon) or row.figures.get(None)
    return "" if figure is None else trace_figure(figure)


def write_tradeoffs(curves: Sequence[TradeOffCurves]) -> Iterator[str]:
    """The paper's Figures 3 and 4, for each of the experiments."""
    yield (
        "<h2>Privacy against utility</h2><p>Each point is a mechanism at an eps, which stands beside it: further right "
        "the attack succeeds less often, further up the text is more useful.</p>"
    )
    if not curves:
        yield _NOTHING.format(command="tradeoff")
        return
    yield f'<div class="charts">{"".join(map(_draw_tradeoff, curves))}</div>'
    for one in curves:
        about = f"{one.dataset}: {one.metric} ({one.model}), attack: {one.attack}"
        yield f"<h3>{escape(about)}</h3>"
        yield write_table(
            ["mechanism", "K", "eps", escape(one.metric), "success of the attack"],
            [
                [
                    f"{escape(point.mechanism)} <small>{escape(point.mapping or point.embedding or '')}</small>",
                    "" if point.k is None else str(point.k),
                    "any" if point.eps is None else f"{point.eps:g}",
                    trace_figure(point.utility),
                    trace_figure(point.success),
                ]
                for point in one.points
            ],
        )


def _shorten(dataset: str) -> str:
    """What was tested on."""
    return shorten(dataset.rpartition("; ")[2])


def _draw_tradeoff(curves: TradeOffCurves) -> str:
    return draw_chart(
        [Series(name, points) for name, points in _split(curves.points).items()],
        title=f"{_shorten(curves.dataset)}: {curves.metric} ({curves.model}), attack: {curves.attack}",
        x_label="1 - success of the attack",
        y_label=curves.metric,
    )


def _split(points: Sequence[TradeOff]) -> dict[str, list[Point]]:
    """A curve for each mechanism and mapping, in the order of eps."""
    several = len({point.mapping or point.embedding for point in points}) > 1
    found: dict[str, list[Point]] = {}
    for point in points:
        name = f"{point.mechanism}, {point.mapping or point.embedding}" if several else point.mechanism
        found.setdefault(name, []).append(
            Point(
                1.0 - point.success.mean,
                point.utility.mean,
                spread=point.utility.spread or 0.0,
                label="" if point.eps is None else f"{point.eps:g}",
                source=" ".join((*point.utility.measurement_ids, *point.success.measurement_ids)),
            )
        )
    return found
