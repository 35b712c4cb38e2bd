"""A report as one HTML page. Every number carries the ids of the rows it comes from."""

from collections.abc import Iterator, Sequence
from html import escape

from custext_sql.attacks.measuring import BayesResult, QueryResult
from custext_sql.evaluation.tradeoff import Figure, TradeOff
from custext_sql.pages import write_document
from custext_sql.report.charts import CHART_STYLE, Mark, Point, Series, draw_chart
from custext_sql.report.contents import LetThrough, Number, Quantile, Report
from custext_sql.report.results import TradeOffCurves, UtilityTable

_STYLE = """
h2 { font-size: 1.125rem; margin: 2.25rem 0 .25rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { font-size: .9375rem; margin: 1.25rem 0 .375rem; }
p { margin: .25rem 0 .75rem; max-width: 46rem; }
code { font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: #f3f5f8;
  padding: .1rem .3rem; border-radius: .25rem; overflow-wrap: anywhere; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: .75rem; margin: 1rem 0 0;
  padding: 0; list-style: none; }
.cards li { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; break-inside: avoid; }
.cards b { display: block; font-size: 1.5rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.cards span { color: var(--soft); font-size: .8125rem; display: block; line-height: 1.4; }
.scroll { overflow-x: auto; margin: 0 0 .75rem; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .75rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); }
th:first-child, td:first-child, .words { text-align: left; padding-left: 0; }
td.words { padding-left: .75rem; }
tr.chosen td, td.chosen, th.chosen { background: #eef4fb; }
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
@media print { h2 { break-after: avoid; } table, figure { break-inside: avoid; }
  .bar i, .key i, .chosen { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
""".strip()

_FATES = {  # what becomes of words: of which count, how a reader is told, whether it stands in clear, in which colour
    "sampled": ("drawn anew", False, "#4c9f70"),
    "numbers": ("numbers, changed digit by digit or masked", False, "#e0b252"),
    "unknown_masked": ("not in the vocabulary, masked", False, "#b9a7d6"),
    "unknown_random": ("not in the vocabulary, replaced at random", False, "#9bb8d3"),
    "stopwords": ("stopwords, kept", True, "#aab4c0"),
    "endings": ("endings such as 's, kept", True, "#c9d0d8"),
    "unknown_kept": ("not in the vocabulary, kept", True, "#d96459"),
}


def write_report(report: Report) -> str:
    """The page."""
    title = f"What eps = {report.eps:g} buys"
    note = (
        f"{report.mapping}: {report.words:,} words in {report.groups:,} groups of about {report.k}, calibration "
        f"{report.calibration}{', stopwords kept' if report.plus else ''}. Made {report.created_at:%Y-%m-%d %H:%M} UTC."
    )
    parts = [
        _write_cards(report),
        _write_bayes(report),
        _write_queries(report),
        *_write_utility(report.utility, report.eps),
        *_write_tradeoffs(report.tradeoffs),
        _write_let_through(report.let_through),
        _write_certificate(report),
        "<footer>Every number on this page is a row of the table <code>measurements</code>, or the mean of some: its "
        "element names them. <code>SELECT * FROM measurements WHERE measurement_id = '…'</code></footer>",
    ]
    return write_document(title, parts, style=f"{_STYLE}\n{CHART_STYLE}", note=note)


def write_tradeoff(curves: TradeOffCurves) -> str:
    """A page of one trade-off."""
    title = f"{curves.metric.capitalize()} against privacy"
    return write_document(title, _write_tradeoffs([curves]), style=f"{_STYLE}\n{CHART_STYLE}")


def _number(text: str, *sources: str) -> str:
    return f'<span data-measurement="{escape(" ".join(sources))}">{text}</span>'


def _figure(figure: Figure) -> str:
    spread = "" if figure.spread is None else f" <small>± {figure.spread:.4f}</small>"
    return _number(f"{figure.mean:.4f}", *figure.measurement_ids) + spread


def _draws(number: Number) -> str:
    return _number("never" if number.value is None else f"{number.value:,.0f}", number.measurement_id)


def _find(report: Report, calibration: str, prior: str) -> BayesResult:
    """The result at the eps that was chosen."""
    return next(
        result
        for result in report.bayes
        if (result.eps, result.calibration, result.prior) == (report.eps, calibration, prior)
    )


def _card(value: str, said: str) -> str:
    return f"<li><b>{value}</b><span>{said}</span></li>"


def _write_cards(report: Report) -> str:
    """Where the chosen eps stands, in a few numbers."""
    found = _find(report, report.calibration, report.priors[-1])
    middle = next(one for one in report.quantiles if one.share == 0.5 and one.eps == report.eps)
    worst = next(row for row in report.certificate if row.calibration == report.calibration).worst_log_ratio
    cards = [
        _card(
            _number(f"{found.success:.1%}", found.measurement_ids[0]),
            f"chance that the best single guess is right; knowing the group alone gives "
            f"{_number(f'{found.floor:.1%}', found.measurement_ids[1])} (prior: {escape(report.priors[-1])})",
        ),
        _card(_draws(middle.n_ml), "draws of the same word tell it, for the middle word of a sample of the vocabulary"),
        _card(
            _number(f"{worst.value:.3f}", worst.measurement_id),
            f"worst log-ratio of any two words of a group, as verified; {report.eps:g} is promised",
        ),
    ]
    if report.let_through is not None:
        counts = report.let_through.counts
        share, ids = _share_in_clear(report.let_through)
        cards.append(_card(_number(f"{share:.1%}", *ids), f"of {_count(counts['words'])} words of your data in clear"))
    return f'<ul class="cards">{"".join(cards)}</ul>'


def _write_bayes(report: Report) -> str:
    series = []
    for prior in report.priors:
        for calibration in dict.fromkeys(result.calibration for result in report.bayes):
            points = [
                Point(result.eps, result.success, source=result.measurement_ids[0])
                for result in report.bayes
                if (result.prior, result.calibration) == (prior, calibration)
            ]
            series.append(Series(f"{prior}, {calibration}", points, dashed=calibration == "tight"))
    floors = {result.prior: result.floor for result in report.bayes}
    marks = [
        Mark(report.eps, f"eps = {report.eps:g}"),
        *(Mark(floor, f"floor, {prior}", axis="y") for prior, floor in floors.items()),
    ]
    chart = draw_chart(
        series,
        title="Success of the best single guess",
        x_label="eps",
        y_label="success",
        x_log=True,
        y_range=(0.0, 1.0),
        percent_y=True,
        marks=marks,
    )
    rows = []
    for prior in report.priors:
        found = [_find(report, calibration, prior) for calibration in ("paper", "tight")]
        cells = "".join(f"<td>{_number(f'{one.success:.4f}', one.measurement_ids[0])}</td>" for one in found)
        floor = _number(f"{found[0].floor:.4f}", found[0].measurement_ids[1])
        rows.append(f"<tr><td>{escape(prior)}</td><td>{floor}</td>{cells}</tr>")
    return (
        "<h2>One look: the best single guess</h2>"
        "<p>An attacker sees one replacement, knows the tables and how frequent words are, and guesses the likeliest "
        "word. Nothing that looks at a word by itself does better; the values are exact. The floor is what the group "
        "alone tells: no eps goes below it, only larger groups do.</p>"
        f"{chart}"
        f'<h3>At eps = {report.eps:g}</h3><div class="scroll"><table><tr><th>prior</th><th>group alone</th>'
        f"<th>paper</th><th>tight</th></tr>{''.join(rows)}</table></div>"
    )


def _write_queries(report: Report) -> str:
    epsilons = sorted({result.eps for result in report.queries} | {one.eps for one in report.quantiles})
    rows = [*_query_rows(report.queries, epsilons, report.eps), *_quantile_rows(report, epsilons)]
    heads = "".join(f"<th{_mark_chosen(epsilon == report.eps)}>eps = {epsilon:g}</th>" for epsilon in epsilons)
    return (
        "<h2>Many looks: the query attack</h2>"
        "<p>Whoever may ask for the same word again and again averages the draws away. So many draws tell a word with "
        "probability 0.95: to one who takes the most frequent output, and to one who takes the likeliest input. They "
        "are simulated on the verified tables. A key stops this attack, as long as callers cannot choose the record.</p>"
        f'<div class="scroll"><table><tr><th>word</th><th class="words">attacker</th>{heads}</tr>{"".join(rows)}</table>'
        "</div>"
    )


def _mark_chosen(is_chosen: bool) -> str:
    return ' class="chosen"' if is_chosen else ""


def _query_rows(results: Sequence[QueryResult], epsilons: Sequence[float], chosen: float) -> Iterator[str]:
    found = {(result.word, result.eps): result for result in results}
    for word in dict.fromkeys(result.word for result in results):
        for place, attacker in enumerate(("most frequent", "likeliest")):
            cells = []
            for epsilon in epsilons:
                one = found[word, epsilon]
                draws, error = ((one.n_mode, one.n_mode_error), (one.n_ml, one.n_ml_error))[place]
                spread = "" if error is None else f" <small>± {error:,.{0 if error >= 0.95 else 1}f}</small>"
                shown = _draws(Number(draws, one.measurement_ids[place]))
                cells.append(f"<td{_mark_chosen(epsilon == chosen)}>{shown}{spread}</td>")
            yield f'<tr><td>{escape(word) if not place else ""}</td><td class="words">{attacker}</td>{"".join(cells)}</tr>'


def _quantile_rows(report: Report, epsilons: Sequence[float]) -> Iterator[str]:
    found: dict[tuple[float, float], Quantile] = {(one.share, one.eps): one for one in report.quantiles}
    for share in dict.fromkeys(one.share for one in report.quantiles):
        cells = "".join(
            f"<td{_mark_chosen(epsilon == report.eps)}>{_draws(found[share, epsilon].n_ml)}</td>"
            for epsilon in epsilons
        )
        said = f"enough for {share:.0%} of {report.sample} words"
        yield f'<tr><td>{said}</td><td class="words">likeliest</td>{cells}</tr>'


def _write_utility(tables: Sequence[UtilityTable], chosen: float) -> Iterator[str]:
    yield (
        "<h2>What the text is still good for</h2><p>Training and test data were sanitized by each mechanism, and a model "
        "was trained and tested on them: the mean over seeds ± their standard deviation.</p>"
    )
    if not tables:
        yield "<p>Nothing was measured yet: <code>custext evaluate utility --train FILE --test FILE --text NAME</code></p>"
    for table in tables:
        epsilons = table.epsilons
        heads = "".join(f"<th{_mark_chosen(epsilon == chosen)}>eps = {epsilon:g}</th>" for epsilon in epsilons)
        rows = []
        for row in table.rows:
            always = row.figures.get(None)
            cells = "".join(
                f"<td{_mark_chosen(epsilon == chosen)}>"
                + (_figure(always or row.figures[epsilon]) if always or epsilon in row.figures else "")
                + "</td>"
                for epsilon in epsilons
            )
            if not epsilons and always is not None:
                cells = f"<td>{_figure(always)}</td>"
            remark = f" <small>{escape(row.remark)}</small>" if row.remark else ""
            k = "" if row.k is None else str(row.k)
            rows.append(f"<tr><td>{escape(row.mechanism)}{remark}</td><td>{k}</td>{cells}</tr>")
        yield (
            f"<h3>{escape(table.metric.capitalize())}, {escape(table.model)}: {escape(table.dataset)}</h3>"
            f'<div class="scroll"><table><tr><th>mechanism</th><th>K</th>{heads or "<th></th>"}</tr>{"".join(rows)}'
            "</table></div>"
        )


def _write_tradeoffs(curves: Sequence[TradeOffCurves]) -> Iterator[str]:
    yield (
        "<h2>Privacy against utility</h2><p>Each point is a mechanism at an eps, which stands beside it: further right "
        "the attack succeeds less often, further up the text is more useful.</p>"
    )
    if not curves:
        yield "<p>Nothing was measured yet: <code>custext evaluate tradeoff --train FILE --test FILE --text NAME</code></p>"
        return
    charts = [
        draw_chart(
            [Series(name, points) for name, points in _curves_of(one.points).items()],
            title=f"{one.metric.capitalize()} ({one.model}) against 1 - success of the attack: {one.attack}",
            x_label="1 - success of the attack",
            y_label=one.metric,
        )
        for one in curves
    ]
    yield f'<div class="charts">{"".join(charts)}</div>'
    for one in curves:
        rows = "".join(
            f"<tr><td>{escape(point.mechanism)}</td><td>{'' if point.k is None else point.k}</td>"
            f"<td>{'any' if point.eps is None else f'{point.eps:g}'}</td><td>{_figure(point.utility)}</td>"
            f"<td>{_figure(point.success)}</td></tr>"
            for point in one.points
        )
        yield (
            f"<h3>{escape(one.attack)}: {escape(one.dataset)}</h3>"
            f'<div class="scroll"><table><tr><th>mechanism</th><th>K</th><th>eps</th><th>{escape(one.metric)}</th>'
            f"<th>success of the attack</th></tr>{rows}</table></div>"
        )


def _curves_of(points: Sequence[TradeOff]) -> dict[str, list[Point]]:
    """One for each mechanism and mapping, in the order of eps."""
    several = len({point.mapping for point in points if point.mapping is not None}) > 1
    found: dict[str, list[Point]] = {}
    for point in points:
        name = point.mechanism + (f", K = {point.k}" if several and point.k is not None else "")
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


def _share_in_clear(found: LetThrough) -> tuple[float, list[str]]:
    """Of all words, those that stand as they were without being drawn, and the rows that say so."""
    kept = [found.counts[name] for name, (_, in_clear, _) in _FATES.items() if in_clear]
    words = found.counts["words"]
    share = sum(number.value or 0.0 for number in kept) / max(words.value or 0.0, 1.0)
    return share, [number.measurement_id for number in (*kept, words)]


def _count(number: Number) -> str:
    return _number(f"{number.value:,.0f}", number.measurement_id)


def _write_let_through(found: LetThrough | None) -> str:
    title = "<h2>What passes in your data</h2>"
    if found is None:
        return f"{title}<p>Name your texts to see it: <code>custext report --data FILE --column NAME</code></p>"
    words = max(found.counts["words"].value or 0.0, 1.0)
    fates = [(name, *fate) for name, fate in _FATES.items() if found.counts[name].value]
    bar = "".join(
        f'<i style="background:{colour};width:{100.0 * (found.counts[name].value or 0.0) / words:.3f}%" '
        f'title="{escape(label)}"></i>'
        for name, label, _, colour in fates
    )
    key = "".join(
        f'<li><i style="background:{colour}"></i>{escape(label)}{" (in clear)" if in_clear else ""}'
        f"<b>{_count(found.counts[name])}</b></li>"
        for name, label, in_clear, colour in fates
    )
    clear = found.counts["characters_in_clear"]
    return (
        f"{title}<p>{escape(found.dataset)}: {_count(found.counts['words'])} words in {_count(found.counts['rows'])} texts "
        f"under policy {escape(found.policy)}{', stopwords kept' if found.plus else ''}. "
        f"{_count(clear)} characters stand in clear.</p>"
        f'<div class="bar">{bar}</div><ul class="key">{key}</ul>'
    )


def _write_certificate(report: Report) -> str:
    rows = "".join(
        f"<tr{_mark_chosen(row.calibration == report.calibration)}><td>{row.calibration}</td>"
        f"<td>{report.eps:g}</td><td>{_number(f'{row.worst_log_ratio.value:.6g}', row.worst_log_ratio.measurement_id)}</td>"
        f"<td>{_number(f'{row.median_log_ratio.value:.6g}', row.median_log_ratio.measurement_id)}</td>"
        f"<td>{_count(row.shrunk)}</td></tr>"
        for row in report.certificate
    )
    return (
        "<h2>The certificate</h2><p>Every group was verified in exact arithmetic, on the very integers that draws are made "
        "from: no output is more than e<sup>eps</sup> times likelier for one word of a group than for another. A "
        "log-ratio says how far apart two words of a group really are.</p>"
        '<div class="scroll"><table><tr><th>calibration</th><th>promised</th><th>worst log-ratio</th>'
        f"<th>median group</th><th>groups shrunk</th></tr>{rows}</table></div>"
        f"<p>Mapping {escape(report.mapping)}, fingerprint <code>{report.fingerprint}</code>.</p>"
    )
