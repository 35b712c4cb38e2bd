"""The page of a trade-off: how useful texts are, over how often an attack on them succeeds."""

import os
from pathlib import Path

from custext_sql.experiments.charts import Point, Series, embed_chart, shorten
from custext_sql.experiments.evaluation.evaluations import TradeOffEvaluation
from custext_sql.html.escaped_pages import render_page
from custext_sql.store.outputs import publish_text


def write_tradeoff(evaluation: TradeOffEvaluation, html: str | os.PathLike[str], *, force: bool = False) -> None:
    """Draw the results of `evaluate_tradeoff` as curves on a self-contained page.

    html: where to write the page. force: whether to overwrite an existing file. OutputError if the page cannot be
    written or already exists.
    """
    publish_text(Path(html), render_tradeoff(evaluation), force=force)


def render_tradeoff(evaluation: TradeOffEvaluation) -> str:
    """Return the page: utility over 1 - attack success, with a curve per mechanism and mapping in the order of eps."""
    setup = evaluation.setup
    several = len({point.mapping or point.embedding for point in evaluation.points}) > 1
    curves: dict[str, list[Point]] = {}
    for point in evaluation.points:
        name = f"{point.mechanism}, {point.mapping or point.embedding}" if several else point.mechanism
        label = "" if point.eps is None else f"{point.eps:g}"
        shown = Point(1.0 - point.success.mean, point.utility.mean, point.utility.spread or 0.0, label)
        curves.setdefault(name, []).append(shown)
    caption = (
        f"{shorten(setup.dataset.rpartition('; ')[2])}: {setup.metric} ({setup.model}), attack: {evaluation.attack}"
    )
    chart = embed_chart(
        caption,
        [Series(name, points) for name, points in curves.items()],
        x_label="1 - attack success",
        y_label=setup.metric,
        y_limits=(-1.0, 1.0) if setup.metric == "pearson" else (0.0, 1.0),
    )
    title = f"{setup.metric.capitalize()} versus privacy"
    return render_page("tradeoff.html", title=title, note="", evaluation=evaluation, caption=caption, chart=chart)
