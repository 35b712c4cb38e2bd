"""A report as one HTML page. Every number carries the ids of the rows it comes from."""

from dataclasses import replace
from html import escape

from custext_sql.experiments.report.attack_sections import find_at_eps, write_bayes, write_queries
from custext_sql.experiments.report.charts import CHART_STYLE
from custext_sql.experiments.report.contents import Report
from custext_sql.experiments.report.data_section import find_share_in_clear, write_let_through
from custext_sql.experiments.report.elements import trace, trace_count, trace_draws, write_table
from custext_sql.experiments.report.result_sections import write_tradeoffs, write_utility
from custext_sql.experiments.report.results import TradeOffCurves
from custext_sql.pages import write_document

_STYLE = """
h2 { font-size: 1.125rem; margin: 2.25rem 0 .25rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { font-size: .9375rem; margin: 1.25rem 0 .375rem; }
p { margin: .25rem 0 .75rem; max-width: 46rem; }
p, h3, .cards { overflow-wrap: anywhere; }
code { font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: #f3f5f8;
  padding: .1rem .3rem; border-radius: .25rem; overflow-wrap: anywhere; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: .75rem; margin: 1rem 0 0;
  padding: 0; list-style: none; }
.cards li { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; break-inside: avoid; }
.cards b { display: block; font-size: 1.5rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.cards li > span { color: var(--soft); font-size: .8125rem; display: block; line-height: 1.4; }
.scroll { overflow-x: auto; margin: 0 0 .75rem; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .75rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); }
.words { text-align: left; }
th:first-child, td:first-child { padding-left: 0; }
td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 7rem; max-width: 20rem; }
.chosen { background: #eef4fb; }
small { color: var(--soft); font-size: .8em; }
.bar { display: flex; height: 1.5rem; border-radius: .375rem; overflow: hidden; margin: .5rem 0; max-width: 46rem; }
.bar i { display: block; min-width: 1px; }
.key { list-style: none; padding: 0; margin: 0 0 .75rem; font-size: .875rem; max-width: 46rem; }
.key li { display: flex; align-items: baseline; gap: .5rem; padding: .2rem 0; }
.key i { flex: none; width: .75rem; height: .75rem; border-radius: .2rem; }
.key b { margin-left: auto; font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 1.25rem; }
footer { color: var(--soft); font-size: .8125rem; margin-top: 2.5rem; border-top: 1px solid var(--line);
  padding-top: 1rem; overflow-wrap: anywhere; }
@media (max-width: 32rem) { th, td { padding: .3rem .4rem; } td:first-child { min-width: 5.5rem; } }
@media print { h2, h3 { break-after: avoid; } tr, figure { break-inside: avoid; } .scroll { overflow: visible; }
  table { font-size: .6875rem; } th, td { padding: .15rem .4rem; } figure.chart { max-width: 26rem; }
  .charts { grid-template-columns: 1fr 1fr; }
  .bar i, .key i, .chosen { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
""".strip()


def write_report(report: Report) -> str:
    """The page."""
    title = f"What eps = {report.eps:g} buys"
    note = (
        f"{report.mapping}: {report.words:,} words in {report.groups:,} groups of about {report.k}, calibration "
        f"{report.calibration}{', stopwords kept' if report.plus else ''}. Made {report.created_at:%Y-%m-%d %H:%M} UTC."
    )
    parts = [
        _write_cards(report),
        write_bayes(report),
        write_queries(report),
        *write_utility(report.utility, report.eps),
        *write_tradeoffs(report.tradeoffs),
        write_let_through(report.let_through),
        _write_certificate(report),
        "<footer>Every number on this page is a row of the table <code>measurements</code>, or the mean of some: its "
        "element names them. <code>SELECT * FROM measurements WHERE measurement_id = '…'</code></footer>",
    ]
    return write_document(title, parts, style=f"{CHART_STYLE}\n{_STYLE}", note=note)


def write_tradeoff(curves: TradeOffCurves) -> str:
    """A page of one trade-off."""
    title = f"{curves.metric.capitalize()} against privacy"
    return write_document(title, write_tradeoffs([curves]), style=f"{CHART_STYLE}\n{_STYLE}")


def _card(value: str, said: str) -> str:
    return f"<li><b>{value}</b><span>{said}</span></li>"


def _write_cards(report: Report) -> str:
    """Where the chosen eps stands, in a few numbers."""
    found = find_at_eps(report, report.calibration, report.priors[-1])
    middle = next(one for one in report.quantiles if one.share == 0.5 and one.eps == report.eps)
    certified = next(row for row in report.certificate if row.calibration == report.calibration)
    worst = certified.worst_log_ratio
    cards = [
        _card(
            trace(f"{found.success:.1%}", found.measurement_ids[0]),
            f"chance that the best single guess at a drawn word is right; knowing the group alone gives "
            f"{trace(f'{found.floor:.1%}', found.measurement_ids[1])} (prior: {escape(report.priors[-1])})",
        ),
        _card(
            trace_draws(replace(middle.n_ml, error=None)),
            "draws of the same word tell it, for the middle word of a sample of the vocabulary",
        ),
        _card(
            trace(f"{worst.value:.3f}", worst.measurement_id),
            f"worst log-ratio of any two drawn words of a group, as verified; {report.eps:g} is promised; a drawn word "
            f"hides among at least {trace_count(certified.hides_among)} words",
        ),
    ]
    if report.let_through is not None:
        counts = report.let_through.counts
        share, ids = find_share_in_clear(report.let_through)
        cards.append(
            _card(trace(f"{share:.1%}", *ids), f"of {trace_count(counts['words'])} words of your data in clear")
        )
    return f'<ul class="cards">{"".join(cards)}</ul>'


def _write_certificate(report: Report) -> str:
    rows = [
        [
            row.calibration,
            f"{report.eps:g}",
            *(trace(f"{one.value:.6g}", one.measurement_id) for one in (row.worst_log_ratio, row.median_log_ratio)),
            trace_count(row.shrunk),
            trace_count(row.hides_among),
        ]
        for row in report.certificate
    ]
    return (
        "<h2>The certificate</h2><p>Every group was verified in exact arithmetic, on the very integers that draws are "
        "made from: no output is more than e<sup>eps</sup> times likelier for one drawn word of a group than for "
        f"another. {'Stopwords are kept, so they are not among these. ' if report.plus else ''}A log-ratio says how "
        "far apart two words of a group really are.</p>"
        + write_table(
            ["calibration", "promised", "worst log-ratio", "median group", "groups shrunk", "hides among"], rows
        )
        + f"<p>Mapping {escape(report.mapping)}, fingerprint <code>{report.fingerprint}</code>.</p>"
    )
