"""The sections of a report on attacks: the best single guess, the query attack."""

from collections.abc import Iterator, Sequence
from html import escape

from custext_sql.experiments.attacks.bayes_attack import BayesResult
from custext_sql.experiments.attacks.query_attack import QueryResult
from custext_sql.experiments.report.charts import Mark, Point, Series, draw_chart
from custext_sql.experiments.report.contents import Number, Quantile, Report
from custext_sql.experiments.report.elements import shorten, trace, trace_draws, write_eps, write_table
from custext_sql.mechanism.weights import CALIBRATIONS


def find_at_eps(report: Report, calibration: str, prior: str) -> BayesResult:
    """The result at the eps that was chosen."""
    wanted = (report.eps, calibration, prior)
    return next(result for result in report.bayes if (result.eps, result.calibration, result.prior) == wanted)


def write_bayes(report: Report) -> str:
    """Success over eps, and where the chosen eps stands."""
    rows = []
    for prior in report.priors:
        found = [find_at_eps(report, calibration, prior) for calibration in CALIBRATIONS]
        floor = trace(f"{found[0].floor:.4f}", found[0].measurement_ids[1])
        rows.append([escape(prior), floor, *(trace(f"{one.success:.4f}", one.measurement_ids[0]) for one in found)])
    return (
        "<h2>One look: the best single guess</h2>"
        "<p>An attacker sees one replacement, knows the tables and how frequent words are, and guesses the likeliest "
        "word. Nothing that looks at a word by itself does better; the values are exact. The floor is what the group "
        "alone tells: no eps goes below it, only larger groups do.</p>"
        f"{_draw_bayes(report)}<h3>At eps = {report.eps:g}</h3>"
        + write_table(["prior", "group alone", *CALIBRATIONS], rows)
    )


def _draw_bayes(report: Report) -> str:
    series = [
        Series(
            f"{shorten(prior)}, {calibration}",
            [
                Point(result.eps, result.success, source=result.measurement_ids[0])
                for result in report.bayes
                if (result.prior, result.calibration) == (prior, calibration)
            ],
            dashed=calibration == "tight",
        )
        for prior in report.priors
        for calibration in CALIBRATIONS
    ]
    floors = {result.prior: result.floor for result in report.bayes}
    marks = [Mark(floor, f"floor, {shorten(prior)}", axis="y") for prior, floor in floors.items()]
    return draw_chart(
        series,
        title="Success of the best single guess",
        x_label="eps",
        y_label="success",
        x_log=True,
        y_range=(0.0, 1.0),
        percent_y=True,
        marks=[Mark(report.eps, f"eps = {report.eps:g}"), *marks],
    )


def write_queries(report: Report) -> str:
    """How many draws tell some words, and shares of the vocabulary."""
    epsilons = sorted({one.eps for one in report.quantiles})
    rows = [*_query_rows(report.queries, epsilons), *_quantile_rows(report, epsilons)]
    return (
        "<h2>Many looks: the query attack</h2>"
        "<p>Whoever may ask for the same word again and again averages the draws away. So many draws tell a word with "
        "probability 0.95: to one who takes the most frequent output, and to one who takes the likeliest input. They "
        "are simulated on the verified tables. A key stops this attack, as long as callers cannot choose the record."
        "</p>"
        + write_table(
            ["word", "attacker", *map(write_eps, epsilons)],
            rows,
            chosen=[2 + epsilons.index(report.eps)],
            words=(0, 1),
        )
    )


def _query_rows(results: Sequence[QueryResult], epsilons: Sequence[float]) -> Iterator[list[str]]:
    found = {(result.word, result.eps): result for result in results}
    for word in dict.fromkeys(result.word for result in results):
        some = [found[word, epsilon] for epsilon in epsilons]
        modes = [Number(one.n_mode, one.measurement_ids[0], one.n_mode_error) for one in some]
        likeliest = [Number(one.n_ml, one.measurement_ids[1], one.n_ml_error) for one in some]
        yield [escape(word), "most frequent", *map(trace_draws, modes)]
        yield ["", "likeliest", *map(trace_draws, likeliest)]


def _quantile_rows(report: Report, epsilons: Sequence[float]) -> Iterator[list[str]]:
    found: dict[tuple[float, float], Quantile] = {(one.share, one.eps): one for one in report.quantiles}
    for share in dict.fromkeys(one.share for one in report.quantiles):
        said = f"enough for {share:.0%} of {report.sample} words"
        yield [said, "likeliest", *(trace_draws(found[share, epsilon].n_ml) for epsilon in epsilons)]
