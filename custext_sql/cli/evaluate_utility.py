"""custext evaluate utility"""

from collections.abc import Sequence
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
    from custext_sql.experiments.measurements import Measurement


@click.command("utility", short_help="Train and test on sanitized texts.")
@data_options
@mechanisms_option("original,custext+,custext,santext+,santext,fbdd,random")
@epsilons_option("1,2,3")
@json_option
@click.pass_obj
def utility_command(db: str | None, /, mechanisms: str, eps: list[float], as_json: bool, **given: Any) -> None:
    """Sanitize training and test data by each mechanism, train, test, and print the paper's Table 1.

    Values are accuracies (Pearson's correlation for similarity), the mean over seeds ± their standard deviation. What
    is finished is kept in the database: a run that was interrupted goes on where it was. Draws come from seeds, so that
    a run can be repeated: nothing sanitized is written anywhere.

    \b
    Example:
      custext evaluate utility --train SST-2/train.tsv --test SST-2/dev.tsv --text sentence --label label
      custext evaluate utility --train QNLI/train.tsv --test QNLI/dev.tsv --text question --text sentence
      custext evaluate utility --train STS-B/train.tsv --test STS-B/dev.tsv --text sentence1 --text sentence2 \\
          --label score --task similarity
    """
    from custext_sql.experiments.evaluation.utility import measure_utility
    from custext_sql.experiments.trials import list_cells

    arenas, experiment = open_arenas(db, given), open_experiment(given)
    cells = list_cells(arenas, split_names(mechanisms), eps, given["seeds"])
    with progress_bar("evaluating") as progress:
        measured = measure_utility(db, experiment, cells, progress=progress)
    if as_json:
        print_json([_as_object(one) for one in measured])
        return
    click.echo(describe(experiment, arenas) + "\n")
    _print_utility(measured, eps)


def _as_object(measurement: "Measurement") -> dict[str, Any]:
    subject = measurement.subject
    return {
        "mechanism": subject.mechanism,
        "eps": subject.eps,
        "k": subject.k,
        "seed": subject.seed,
        "metric": subject.metric,
        "value": measurement.value,
        "embedding": subject.embedding,
        "mapping": subject.mapping,
        "measurement_id": measurement.measurement_id,
    }


def _print_utility(measured: "Sequence[Measurement]", epsilons: list[float]) -> None:
    from custext_sql.experiments.evaluation.tradeoff import summarize

    rows: dict[tuple[str | None, str | None, str | None], dict[float | None, list[Measurement]]] = {}
    for one in measured:
        row = rows.setdefault((one.subject.mechanism, one.subject.embedding, one.subject.mapping), {})
        row.setdefault(one.subject.eps, []).append(one)
    several = need_names(rows)
    table = [
        [
            str(mechanism),
            *([mapping or embedding or ""] if several else []),
            *(show_figure(summarize(found[None] if None in found else found[epsilon])) for epsilon in epsilons),
        ]
        for (mechanism, embedding, mapping), found in rows.items()
    ]
    columns = ["mechanism", *(["words"] if several else []), *(f"eps = {one:g}" for one in epsilons)]
    print_table(columns, table, right=range(len(columns) - len(epsilons), len(columns)), width=WIDE)
