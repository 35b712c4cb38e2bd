"""The command `custext evaluate tradeoff`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli.experiment_options import (
    data_options,
    describe,
    evaluation_settings,
    mechanisms_option,
    need_names,
    show_figure,
    split_names,
)
from custext_sql.cli.input_options import public_options
from custext_sql.cli.options import epsilons_option, json_option
from custext_sql.cli.output import print_json, print_table, progress_bar, report_skipped
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.experiments.evaluation.tradeoff import TradeOff
    from custext_sql.release.inputs.texts import Texts


@click.command("tradeoff", short_help="Privacy against utility, over eps and mappings.")
@data_options
@mechanisms_option("custext,custext+")
@epsilons_option("0,1,2,3,5,8")
@click.option(
    "--attack",
    type=click.Choice(["bayes", "context", "mask"]),
    default="mask",
    show_default=True,
    help="Mask token inference; or, only for custext and custext+, the best single guess from the tables, or the best "
    "guess from the whole text (context).",
)
@click.option(
    "--attack-model", default="ngram", show_default=True, help="Guesser for the mask attack: ngram or a model."
)
@public_options(
    "Texts from which context and ngram learn.  [default: the training texts]", column="none, for lines of text"
)
@click.option("--html", metavar="FILE", help="Also draw the curves on a self-contained page.")
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
    public: "Texts | None",
    public_column: str | None,
    html: str | None,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Measure how useful sanitized texts are and how often an attack succeeds, over eps and mappings.

    These are the paper's Figures 3 and 4. The attack targets the sanitized test texts. Utility is measured as in
    `evaluate utility`.

    \b
    Examples:
      custext evaluate tradeoff --corpus sentence_polarity --eps 1,3,5,8,12 --html tradeoff.html
      custext evaluate tradeoff --corpus sentence_polarity --mapping glove-k10 --mapping glove-k50 --attack bayes
      custext evaluate tradeoff --corpus sentence_polarity --attack context --public news.txt
    """
    from custext_sql import evaluate_tradeoff
    from custext_sql.experiments.report.report import write_tradeoff
    from custext_sql.store.files.atomic_outputs import check_place

    if html is not None:
        check_place(Path(html), force=force)
    with progress_bar("evaluating") as progress:
        evaluation = evaluate_tradeoff(
            db,
            mechanisms=split_names(mechanisms),
            eps=eps,
            attack=attack,
            attack_model=attack_model,
            public=public,
            public_column=public_column,
            progress=progress,
            **evaluation_settings(given),
        )
    report_skipped(evaluation.setup.skipped)
    if html is not None:
        write_tradeoff(evaluation, html, force=force)
        click.echo(f"{html}: {count_of(len(evaluation.points), 'point')}", err=True)
    if as_json:
        print_json(evaluation.points)
        return
    click.echo(describe(evaluation.setup) + f"\nattack: {evaluation.attack}\n")
    _print_tradeoff(evaluation.points)


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
            f"{1.0 - point.success.mean:.3f}",
        ]
        for point in points
    ]
    columns = [
        "mechanism",
        *(["mapping or embedding"] if several else []),
        "K",
        "eps",
        points[0].metric,
        "attack",
        "1 - attack",
    ]
    print_table(columns, table, fixed=len(columns) - 3, right=range(len(columns) - 5, len(columns)))
