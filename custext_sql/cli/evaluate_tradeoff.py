"""custext evaluate tradeoff"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli.experiment_options import (
    data_options,
    describe,
    mechanisms_option,
    need_names,
    open_arenas,
    open_experiment,
    show_figure,
    split_names,
)
from custext_sql.cli.options import epsilons_option, json_option
from custext_sql.cli.output import WIDE, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from custext_sql.experiments.evaluation.tradeoff import TradeOff
    from custext_sql.experiments.evaluation.utility import Experiment


@click.command("tradeoff", short_help="Privacy against utility, over eps and mappings.")
@data_options
@mechanisms_option("custext,custext+")
@epsilons_option("1,2,3,5,8")
@click.option(
    "--attack",
    type=click.Choice(["bayes", "mask"]),
    default="mask",
    show_default=True,
    help="Mask token inference, or the best single guess from the tables (custext and custext+ only).",
)
@click.option("--attack-model", default="ngram", show_default=True, help="Who guesses masks: ngram, or a model.")
@click.option("--public", metavar="FILE", help="What ngram learns from.  [default: the training texts]")
@click.option("--public-column", metavar="NAME", help="Its column; not for lines of text.")
@click.option("--html", metavar="FILE", help="Draw the curves, on a self-contained page.")
@click.option("--force", is_flag=True, help="Replace an existing page.")
@json_option
@click.pass_obj
def tradeoff_command(
    db: str | None,
    /,
    mechanisms: str,
    eps: list[float],
    attack: str,
    attack_model: str,
    public: str | None,
    public_column: str | None,
    html: str | None,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """How useful texts are and how often an attack on them succeeds, over eps and mappings (Figures 3 and 4).

    The attack is on the sanitized test texts. Utility is as in `evaluate utility`; finished values are kept likewise.

    \b
    Example:
      custext evaluate tradeoff --corpus sentence_polarity --eps 1,3,5,8,12 --html tradeoff.html
      custext evaluate tradeoff --corpus sentence_polarity --mapping glove-k10 --mapping glove-k50 --attack bayes
    """
    from custext_sql.experiments.attacks.mask_measuring import open_attack
    from custext_sql.experiments.evaluation.datasets import read_texts
    from custext_sql.experiments.evaluation.tradeoff import measure_tradeoff
    from custext_sql.experiments.trials import list_cells
    from custext_sql.store.files.atomic_outputs import check_place

    if html is not None:
        check_place(Path(html), force=force)
    arenas, experiment = open_arenas(db, given), open_experiment(given)
    cells = list_cells(arenas, split_names(mechanisms), eps, given["seeds"])
    attacker = None
    if attack == "mask":
        clear: list[str | None] = [text for row in experiment.train.texts for text in row]
        learned = clear if public is None else read_texts(public, public_column)
        attacker = open_attack(attack_model, public=learned)
    with progress_bar("evaluating") as progress:
        points = measure_tradeoff(db, experiment, cells, attacker, progress=progress)
    if html is not None:
        _write_page(html, experiment, points, force=force)
    if as_json:
        print_json(points)
        return
    click.echo(describe(experiment, arenas) + f"; attack: {points[0].attack}\n")
    _print_tradeoff(points)


def _print_tradeoff(points: "Sequence[TradeOff]") -> None:
    several = need_names((point.mechanism, point.embedding, point.mapping) for point in points)
    table = [
        [
            point.mechanism,
            *([point.mapping or point.embedding or ""] if several else []),
            "" if point.k is None else str(point.k),
            "any" if point.eps is None else f"{point.eps:g}",
            show_figure(point.utility),
            show_figure(point.success),
            f"{1.0 - point.success.mean:.4f}",
        ]
        for point in points
    ]
    columns = ["mechanism", *(["words"] if several else []), "K", "eps", points[0].metric, "attack", "1 - attack"]
    print_table(columns, table, right=range(len(columns) - 5, len(columns)), width=WIDE)


def _write_page(path: str, experiment: "Experiment", points: "Sequence[TradeOff]", *, force: bool) -> None:
    from custext_sql.experiments.report.page import write_tradeoff
    from custext_sql.experiments.report.results import TradeOffCurves
    from custext_sql.store.files.atomic_outputs import publish_text

    curves = TradeOffCurves(experiment.dataset, experiment.model, points[0].metric, points[0].attack, tuple(points))
    publish_text(Path(path), write_tradeoff(curves), force=force)
    click.echo(f"{path}: {len(points)} points", err=True)
