"""Reports and trade-offs as HTML pages, with their charts."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from custext_sql.experiments.evaluation.evaluations import TradeOffEvaluation
from custext_sql.experiments.report.contents import LetThrough, Report
from custext_sql.experiments.verdict.wording import SECTIONS
from custext_sql.html.charts import Chart, Mark, Point, Series, draw_chart
from custext_sql.html.escaped_pages import render_page
from custext_sql.kinds import list_treatments
from custext_sql.mechanism.weights import CALIBRATIONS
from custext_sql.parameters import count_of

_LONG = 2600  # characters of a verdict that need smaller type to fit on a printed page
_Draws = tuple[int | None, float | None]  # a number of draws, and its standard error


class Fate(NamedTuple):
    """The words that were treated in the same way. mark: their color. share: among all words, 0 to 1."""

    mark: str
    label: str
    in_clear: bool
    words: float
    share: float


def render_report(report: Report) -> str:
    """Return the page of a report."""
    note = (
        f"Mapping {report.mapping}: {report.words:,} words in {report.groups:,} groups of about {report.k} words. "
        f"Calibration {report.calibration}{', stopwords kept' if report.plus else ''}. "
        f"Created {_write_date(report)}, {report.created_at:%H:%M}\N{NO-BREAK SPACE}UTC."
    )
    at_eps = {(one.prior, one.calibration): one for one in report.bayes if one.eps == report.eps}
    middle = next(one for one in report.quantiles if one.share == 0.5 and one.eps == report.eps)
    epsilons = sorted({one.eps for one in report.quantiles})
    fates = [] if report.let_through is None else _find_fates(report.let_through)
    return render_page(
        "report.html",
        title=f"Verdict: {report.verdict.color} ({_describe_settings(report)})",
        subject="texts that were not named" if report.let_through is None else report.let_through.dataset,
        about=f"{_describe_settings(report)}. {_write_date(report)}.",
        sections=SECTIONS,
        is_long=sum(len(sentence.text) for name in SECTIONS for sentence in getattr(report.verdict, name)) > _LONG,
        figures_title=f"All figures: privacy at eps = {report.eps:g}",
        note=note,
        report=report,
        calibrations=CALIBRATIONS,
        at_eps=at_eps,
        best=at_eps[report.priors[-1], report.calibration],
        middle=middle.n_ml,
        certified=next(row for row in report.certificate if row.calibration == report.calibration),
        success_chart=draw_success(report),
        epsilons=epsilons,
        query_rows=[*_find_query_rows(report, epsilons)],
        data=report.let_through,
        fates=[fate for fate in fates if fate.share],
        in_clear=[fate for fate in fates if fate.in_clear],
    )


def _describe_settings(report: Report) -> str:
    """Return what a verdict is about, on one line."""
    parts = [
        "no texts" if report.let_through is None else report.let_through.dataset,
        f"eps = {report.eps:g} per word",
        f"mapping {report.mapping}, K = {report.k}",
        "stopwords kept" if report.plus else "stopwords replaced",
        f"policy {report.policy}",
        f"calibration {report.calibration}",
    ]
    return "; ".join(parts)


def _write_date(report: Report) -> str:
    """Return the day of a report, on one line."""
    return f"{report.created_at.day} {report.created_at:%B %Y}".replace(" ", "\N{NO-BREAK SPACE}")


def render_tradeoff(evaluation: TradeOffEvaluation) -> str:
    """Return the page of a trade-off."""
    title = f"{evaluation.setup.metric.capitalize()} versus privacy"
    return render_page("tradeoff.html", title=title, note="", evaluation=evaluation, chart=draw_tradeoff(evaluation))


def _find_query_rows(report: Report, epsilons: Sequence[float]) -> Iterator[tuple[str, str, list[_Draws]]]:
    """Yield rows: a word or a share of the vocabulary, the attacker, and the draws needed at each eps."""
    found = {(result.word, result.eps): result for result in report.queries}
    for word in dict.fromkeys(result.word for result in report.queries):
        some = [found[word, eps] for eps in epsilons]
        yield word, "most frequent output", [(one.n_mode, one.n_mode_error) for one in some]
        yield "", "most likely input", [(one.n_ml, one.n_ml_error) for one in some]
    enough = {(one.share, one.eps): (one.n_ml, one.n_ml_error) for one in report.quantiles}
    for share in dict.fromkeys(one.share for one in report.quantiles):
        label = f"enough for {share:.0%} of {count_of(report.sample, 'random word')}"
        yield label, "most likely input", [enough[share, eps] for eps in epsilons]


def _find_fates(found: LetThrough) -> list[Fate]:
    """Return what became of all words of some texts."""
    words = max(found.counts["words"], 1.0)
    return [
        Fate(entry.mark, entry.labels + one.suffix, one.fate.in_clear, count, count / words)
        for entry, one in list_treatments(found.numbers)
        for count in [found.counts[one.name]]
    ]


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
