"""A report as one HTML page. Every number carries the ids of the rows it comes from."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from custext_sql.experiments.report.contents import LetThrough, Number, Report
from custext_sql.experiments.report.drawings import draw_success, draw_tradeoff
from custext_sql.experiments.report.results import TradeOffCurves
from custext_sql.html.escaped_pages import render_page
from custext_sql.mechanism.weights import CALIBRATIONS

_FATES = {  # what becomes of words: how a reader is told of each count, and whether these words stand in clear
    "sampled": ("drawn anew", False),
    "numbers": ("numbers, changed digit by digit or masked", False),
    "unknown_masked": ("not in the vocabulary, masked", False),
    "unknown_random": ("not in the vocabulary, replaced at random", False),
    "alone_masked": ("alone in their group once stopwords are kept, masked", False),
    "stopwords": ("stopwords, kept", True),
    "endings": ("endings such as 's, kept", True),
    "unknown_kept": ("not in the vocabulary, kept", True),
}


class Fate(NamedTuple):
    """Words that the same became of. share: of all words."""

    name: str
    label: str
    in_clear: bool
    number: Number
    share: float


def render_report(report: Report) -> str:
    """Return the page."""
    note = (
        f"{report.mapping}: {report.words:,} words in {report.groups:,} groups of about {report.k}, calibration "
        f"{report.calibration}{', stopwords kept' if report.plus else ''}. Made {report.created_at:%Y-%m-%d %H:%M} UTC."
    )
    at_eps = {(one.prior, one.calibration): one for one in report.bayes if one.eps == report.eps}
    middle = next(one for one in report.quantiles if one.share == 0.5 and one.eps == report.eps)
    epsilons = sorted({one.eps for one in report.quantiles})
    fates = [] if report.let_through is None else _find_fates(report.let_through)
    return render_page(
        "report.html",
        title=f"What eps = {report.eps:g} buys",
        note=note,
        report=report,
        calibrations=CALIBRATIONS,
        at_eps=at_eps,
        best=at_eps[report.priors[-1], report.calibration],
        middle=replace(middle.n_ml, error=None),
        certified=next(row for row in report.certificate if row.calibration == report.calibration),
        success_chart=draw_success(report),
        epsilons=epsilons,
        query_rows=[*_find_query_rows(report, epsilons)],
        tradeoffs=report.tradeoffs,
        tradeoff_charts=[draw_tradeoff(curves) for curves in report.tradeoffs],
        data=report.let_through,
        fates=[fate for fate in fates if fate.share],
        in_clear=[fate for fate in fates if fate.in_clear],
    )


def render_tradeoff(curves: TradeOffCurves) -> str:
    """Return a page of one trade-off."""
    title = f"{curves.metric.capitalize()} against privacy"
    return render_page(
        "tradeoff.html", title=title, note="", tradeoffs=[curves], tradeoff_charts=[draw_tradeoff(curves)]
    )


def _find_query_rows(report: Report, epsilons: Sequence[float]) -> Iterator[tuple[str, str, list[Number]]]:
    """Yield a word or a share of the vocabulary, the attacker, and the draws needed at each eps."""
    found = {(result.word, result.eps): result for result in report.queries}
    for word in dict.fromkeys(result.word for result in report.queries):
        some = [found[word, eps] for eps in epsilons]
        yield word, "most frequent", [Number(one.n_mode, one.measurement_ids[0], one.n_mode_error) for one in some]
        yield "", "likeliest", [Number(one.n_ml, one.measurement_ids[1], one.n_ml_error) for one in some]
    enough = {(one.share, one.eps): one.n_ml for one in report.quantiles}
    for share in dict.fromkeys(one.share for one in report.quantiles):
        said = f"enough for {share:.0%} of {report.sample} words"
        yield said, "likeliest", [enough[share, eps] for eps in epsilons]


def _find_fates(found: LetThrough) -> list[Fate]:
    """Return what became of all words of some texts."""
    words = max(found.counts["words"].value or 0.0, 1.0)
    numbers = {name: found.counts[name] for name in _FATES}
    return [Fate(name, *_FATES[name], number, (number.value or 0.0) / words) for name, number in numbers.items()]
