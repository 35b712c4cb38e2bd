"""The charts of pages: attack success over eps, and utility versus privacy."""

from custext_sql.experiments.evaluation.tradeoff import TradeOffEvaluation
from custext_sql.experiments.report.contents import Report
from custext_sql.html.charts import Chart, Mark, Point, Series, draw_chart
from custext_sql.mechanism.weights import CALIBRATIONS


def draw_success(report: Report) -> Chart:
    """Return a chart of the success of the best single guess over eps: a curve per prior and calibration."""
    series = [
        Series(
            f"{_shorten(prior)}, {calibration}",
            [
                Point(result.eps, result.success)
                for result in report.bayes
                if (result.prior, result.calibration) == (prior, calibration)
            ],
            dashed=calibration == "tight",
        )
        for prior in report.priors
        for calibration in CALIBRATIONS
    ]
    floors = {result.prior: result.floor for result in report.bayes}
    return draw_chart(
        series,
        title="Success of the best single guess",
        x_label="eps",
        y_label="probability of a correct guess",
        x_log=True,
        y_percent=True,
        x_mark=Mark(report.eps, f"eps = {report.eps:g}"),
        y_marks=[Mark(floor, f"floor, {_shorten(prior)}") for prior, floor in floors.items()],
    )


def draw_tradeoff(evaluation: TradeOffEvaluation) -> Chart:
    """Return a chart of utility over 1 - attack success: a curve per mechanism and mapping, in the order of eps."""
    setup = evaluation.setup
    several = len({point.mapping or point.embedding for point in evaluation.points}) > 1
    series: dict[str, list[Point]] = {}
    for point in evaluation.points:
        name = f"{point.mechanism}, {point.mapping or point.embedding}" if several else point.mechanism
        series.setdefault(name, []).append(
            Point(
                1.0 - point.success.mean,
                point.utility.mean,
                spread=point.utility.spread or 0.0,
                label="" if point.eps is None else f"{point.eps:g}",
            )
        )
    tested = _shorten(setup.dataset.rpartition("; ")[2])
    return draw_chart(
        [Series(name, points) for name, points in series.items()],
        title=f"{tested}: {setup.metric} ({setup.model}), attack: {evaluation.attack}",
        x_label="1 - attack success",
        x_limits=(0.0, 1.0),
        y_label=setup.metric,
        y_limits=(-1.0, 1.0) if setup.metric == "pearson" else (0.0, 1.0),
    )


def _shorten(name: str, length: int = 28) -> str:
    """Return a name shortened to fit into a chart."""
    half = (length - 1) // 2
    return name if len(name) <= length else f"{name[:half]}…{name[-half:]}"
