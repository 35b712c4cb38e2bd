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
    report_skipped,
    show_figure,
    split_names,
)
from custext_sql.cli.options import epsilons_option, json_option
from custext_sql.cli.output import WIDE, print_json, print_table, progress_bar

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

    Values are accuracies (Pearson correlations for similarity): the mean over seeds ± the standard deviation. Finished
    values are saved in the database, so an interrupted run resumes where it stopped. Draws come from seeds, so a run
    can be repeated; no sanitized text is written anywhere.

    \b
    Examples:
      custext evaluate utility --train SST-2/train.tsv --test SST-2/dev.tsv --text sentence --label label
      custext evaluate utility --train QNLI/train.tsv --test QNLI/dev.tsv --text question --text sentence
      custext evaluate utility --train STS-B/train.tsv --test STS-B/dev.tsv --text sentence1 --text sentence2 \\
          --label score --task similarity
    """
    from custext_sql import evaluate_utility

    with progress_bar("evaluating") as progress:
        evaluation = evaluate_utility(
            db, mechanisms=split_names(mechanisms), eps=eps, progress=progress, **evaluation_settings(given)
        )
    report_skipped(evaluation.setup)
    if as_json:
        print_json(evaluation.results)
        return
    click.echo(describe(evaluation.setup) + "\n")
    _print_utility(evaluation.results, eps)


def _print_utility(results: "Sequence[UtilityResult]", epsilons: list[float]) -> None:
    from custext_sql.experiments.evaluation.tradeoff import summarize_values

    rows: dict[tuple[str, str | None, str | None], dict[float | None, list[UtilityResult]]] = {}
    for one in results:
        row = rows.setdefault((one.mechanism, one.embedding, one.mapping), {})
        row.setdefault(one.eps, []).append(one)
    several = need_names(rows)

    def show(some: "Sequence[UtilityResult]") -> str:
        if not some:  # only CusText's mechanisms have an eps of 0
            return ""
        return show_figure(summarize_values([one.value for one in some], [one.measurement_id for one in some]))

    table = [
        [
            mechanism,
            *([mapping or embedding or ""] if several else []),
            *(show(found[None] if None in found else found.get(epsilon, [])) for epsilon in epsilons),
        ]
        for (mechanism, embedding, mapping), found in rows.items()
    ]
    columns = ["mechanism", *(["mapping or embedding"] if several else []), *(f"eps = {one:g}" for one in epsilons)]
    print_table(columns, table, right=range(len(columns) - len(epsilons), len(columns)), width=WIDE)
