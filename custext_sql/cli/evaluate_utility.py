"""The command `custext evaluate utility`."""

from collections.abc import Sequence
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
from custext_sql.cli.options import epsilons_option, json_option
from custext_sql.cli.output import print_json, print_table, progress_bar, report_skipped

if TYPE_CHECKING:
    from custext_sql.experiments.evaluation.utility import UtilityResult


@click.command("utility", short_help="Train and test on sanitized texts.")
@data_options
@mechanisms_option("original,custext+,custext,santext+,santext,fbdd,random")
@epsilons_option("0,1,2,3")
@json_option
@click.pass_obj
def utility_command(db: str | None, /, mechanisms: str, eps: list[float], as_json: bool, **given: Any) -> None:
    """Sanitize training and test data with each mechanism, train and test a model, and print the paper's Table 1.

    Values are accuracies (Pearson correlations for similarity): the mean over seeds ± the standard deviation. The
    column "clear" has the share of words that a mechanism leaves in the clear. If the data is SST-2, MedSTS or QNLI, by
    the names of its files, the paper's value is shown below ours. Draws come from seeds, so a run can be repeated; no
    sanitized text is written anywhere.

    \b
    Examples:
      custext evaluate utility --train SST-2/train.tsv --test SST-2/dev.tsv --no-quotes --text sentence
      custext evaluate utility --train QNLI/train.tsv --test QNLI/dev.tsv --no-quotes --text question --text sentence
      custext evaluate utility --train STS-B/train.tsv --test STS-B/dev.tsv --no-quotes --text sentence1 \\
          --text sentence2 --label score --task similarity
      custext evaluate utility --train CoLA/train.tsv --test CoLA/dev.tsv --no-quotes --no-header --text 4 --label 2
      custext evaluate utility --data sst2.duckdb --train-table train --test-table dev --text sentence
    """
    from custext_sql import evaluate_utility

    with progress_bar("evaluating") as progress:
        evaluation = evaluate_utility(
            db, mechanisms=split_names(mechanisms), eps=eps, progress=progress, **evaluation_settings(given)
        )
    report_skipped(evaluation.setup.skipped)
    if as_json:
        print_json(evaluation.results)
        return
    click.echo(describe(evaluation.setup) + "\n")
    _print_utility(evaluation.results, eps)
    click.echo("\nclear: share of the words of the test texts that stay in the clear")
    if any(one.paper is not None for one in evaluation.results):
        from custext_sql.experiments.evaluation.paper_table import CITATION, list_differences

        differences = "; ".join(list_differences(evaluation.setup))
        click.echo(click.wrap_text(f"paper: {CITATION}. Here: {differences}", 80))


def _print_utility(results: "Sequence[UtilityResult]", epsilons: list[float]) -> None:
    rows: dict[tuple[str, str | None, str | None], dict[float | None, list[UtilityResult]]] = {}
    for one in results:
        row = rows.setdefault((one.mechanism, one.embedding, one.mapping), {})
        row.setdefault(one.eps, []).append(one)
    several = need_names(rows)
    table = []
    for (mechanism, embedding, mapping), found in rows.items():
        cells = [found[None] if None in found else found.get(epsilon, []) for epsilon in epsilons]
        names = [mapping or embedding or ""] if several else []
        share = next(one for cell in cells for one in cell).in_clear
        table.append([mechanism, *names, f"{share:.0%}" if share == 1.0 else f"{share:.1%}", *map(_show, cells)])
        papers = [next((f"{one.paper:.4f}" for one in cell if one.paper is not None), "") for cell in cells]
        if any(papers):
            table.append(["  paper", *([""] * (1 + len(names))), *papers])
    columns = ["mechanism", *(["mapping or embedding"] if several else []), "clear"]
    fixed = len(columns)
    columns += [f"eps = {one:g}" for one in epsilons]
    print_table(columns, table, fixed=fixed, right=range(fixed - 1, len(columns)))


def _show(some: "Sequence[UtilityResult]") -> str:
    """Return the mean and spread of some values; nothing if there are none, since only CusText has an eps of 0."""
    from custext_sql.experiments.evaluation.tradeoff import summarize

    return show_figure(summarize([one.value for one in some])) if some else ""
