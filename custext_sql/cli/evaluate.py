"""The command group `custext evaluate`: utility and tradeoff."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli.options import (
    Decorator,
    add_options,
    calibration_option,
    epsilons_option,
    file_options,
    force_option,
    policy_options,
    prints_result,
    public_options,
    write_option,
)
from custext_sql.cli.output import print_table, progress_bar, report_skipped
from custext_sql.files.inputs.file_formats import tell_format
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.experiments.evaluations import EvaluationSetup, Figure, TradeOff, UtilityResult

_FILE_OPTIONS = ("format", "encoding", "no_quotes", "no_header")

_data_options = add_options(
    click.option("--train", metavar="FILE", help="Labeled training texts: CSV, TSV, JSON, Parquet."),
    click.option("--test", metavar="FILE", help="Labeled test texts."),
    click.option("--data", "data_file", metavar="FILE", help="Instead of files: a DuckDB file with two tables."),
    click.option("--train-table", metavar="NAME", help="Table of --data with the training texts."),
    click.option("--test-table", metavar="NAME", help="Table of --data with the test texts."),
    click.option(
        "--corpus", metavar="NAME", help="Instead of files: sentence_polarity (NLTK's corpus), or its zip file."
    ),
    click.option("--text", multiple=True, metavar="COLUMN", help="Column of the texts; give it twice for pairs."),
    click.option("--label", default="label", show_default=True, metavar="COLUMN", help="Column of the labels."),
    file_options("--train and --test"),
    click.option(
        "--no-header",
        is_flag=True,
        help="CSV and TSV: all lines are rows, as in GLUE's CoLA; --text and --label are numbers from 1.",
    ),
    click.option(
        "--limit",
        type=click.IntRange(1),
        metavar="N",
        help="Use N training rows and N test rows, spread evenly.  [default: all]",
    ),
    click.option(
        "--task",
        type=click.Choice(["classification", "similarity"]),
        default="classification",
        help="What the labels are: classes, or how similar two texts are.",
        show_default=True,
    ),
    click.option(
        "--mapping",
        "mappings",
        multiple=True,
        metavar="NAME",
        help="Mapping to use; repeat for several.  [default: the database's default]",
    ),
    click.option(
        "--model", default="tfidf", show_default=True, help="tfidf, embedding, or a Hugging Face model to fine-tune."
    ),
    click.option("--seeds", default=3, show_default=True, type=click.IntRange(1), help="Number of repetitions."),
    click.option("--length", type=click.IntRange(8), help="Fine-tuning: tokens per text.  [default: 128]"),
    click.option("--epochs", type=click.IntRange(1), help="Fine-tuning: epochs.  [default: 3]"),
    click.option("--batch-size", type=click.IntRange(1), help="Fine-tuning: texts per step.  [default: 64]"),
    click.option("--learning-rate", type=float, help="Fine-tuning: learning rate.  [default: 2e-5]"),
    click.option(
        "--no-conversion",
        is_flag=True,
        help="Do not divide eps by the largest distance between two words for santext, santext+ and fbdd.",
    ),
    policy_options("paper"),
    calibration_option,
)


def _mechanisms_option(default: str) -> Decorator:
    return click.option(
        "--mechanisms",
        default=default,
        show_default=True,
        metavar="LIST",
        callback=lambda _, __, value: [name.strip().lower() for name in value.split(",") if name.strip()],
        help="Comma-separated: custext, custext+, santext, santext+, fbdd, random, original.",
    )


@click.group("evaluate", short_help="Measure how useful sanitized text remains.")
def evaluate_command() -> None:
    """Measure how useful sanitized text remains, compared with other mechanisms.

    \b
    Example:
      custext evaluate utility --train train.csv --test test.csv --text sentence
    """


@evaluate_command.command("utility", short_help="Train and test on sanitized texts.")
@_data_options
@_mechanisms_option("original,custext+,custext,santext+,santext,fbdd,random")
@epsilons_option("0,1,2,3")
@prints_result
def utility_command(db: str | None, /, eps: list[float], **given: Any) -> Iterator[Any]:
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
    from custext_sql.experiments import evaluate_utility

    with progress_bar("evaluating") as progress:
        evaluation = evaluate_utility(db, eps=eps, progress=progress, **_find_settings(given))
    report_skipped(evaluation.setup.skipped)
    yield evaluation.results
    click.echo(_describe(evaluation.setup) + "\n")
    _print_utility(evaluation.results, eps)
    click.echo("\nclear: share of the words of the test texts that stay in the clear")
    if any(one.paper is not None for one in evaluation.results):
        from custext_sql.experiments.evaluations import CITATION, list_differences

        differences = "; ".join(list_differences(evaluation.setup))
        click.echo(click.wrap_text(f"paper: {CITATION}. Here: {differences}", 80))


def _print_utility(results: "Sequence[UtilityResult]", epsilons: list[float]) -> None:
    rows: dict[tuple[str, str | None, str | None], dict[float | None, list[UtilityResult]]] = {}
    for one in results:
        row = rows.setdefault((one.mechanism, one.embedding, one.mapping), {})
        row.setdefault(one.eps, []).append(one)
    several = _need_names(rows)
    table = []
    for (mechanism, embedding, mapping), found in rows.items():
        cells = [found[None] if None in found else found.get(epsilon, []) for epsilon in epsilons]
        names = [mapping or embedding or ""] if several else []
        share = next(one for cell in cells for one in cell).in_clear
        table.append([mechanism, *names, f"{share:.0%}" if share == 1.0 else f"{share:.1%}", *map(_show_mean, cells)])
        papers = [next((f"{one.paper:.4f}" for one in cell if one.paper is not None), "") for cell in cells]
        if any(papers):
            table.append(["  paper", *([""] * (1 + len(names))), *papers])
    columns = ["mechanism", *(["mapping or embedding"] if several else []), "clear"]
    fixed = len(columns)
    columns += [f"eps = {one:g}" for one in epsilons]
    print_table(columns, table, fixed=fixed, right=range(fixed - 1, len(columns)))


def _show_mean(some: "Sequence[UtilityResult]") -> str:
    """Return the mean and spread of some values; nothing if there are none, since only CusText has an eps of 0."""
    from custext_sql.experiments.evaluations import summarize

    return _show_figure(summarize([one.value for one in some])) if some else ""


@evaluate_command.command("tradeoff", short_help="Privacy against utility, over eps and mappings.")
@_data_options
@_mechanisms_option("custext,custext+")
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
@force_option("page")
@prints_result
def tradeoff_command(db: str | None, /, html: str | None, force: bool, **given: Any) -> Iterator[Any]:
    """Measure how useful sanitized texts are and how often an attack succeeds, over eps and mappings.

    These are the paper's Figures 3 and 4. The attack targets the sanitized test texts. Utility is measured as in
    `evaluate utility`.

    \b
    Examples:
      custext evaluate tradeoff --corpus sentence_polarity --eps 1,3,5,8,12 --html tradeoff.html
      custext evaluate tradeoff --corpus sentence_polarity --mapping glove-k10 --mapping glove-k50 --attack bayes
      custext evaluate tradeoff --corpus sentence_polarity --attack context --public news.txt
    """
    from custext_sql.experiments import evaluate_tradeoff
    from custext_sql.experiments.evaluations import write_tradeoff
    from custext_sql.store.outputs import check_place

    if html is not None:
        check_place(Path(html), force=force)
    with progress_bar("evaluating") as progress:
        evaluation = evaluate_tradeoff(db, progress=progress, **_find_settings(given))
    report_skipped(evaluation.setup.skipped)
    if html is not None:
        write_tradeoff(evaluation, html, force=force)
        click.echo(f"{html}: {count_of(len(evaluation.points), 'point')}", err=True)
    yield evaluation.points
    click.echo(_describe(evaluation.setup) + f"\nattack: {evaluation.attack}\n")
    _print_tradeoff(evaluation.points)


def _print_tradeoff(points: "Sequence[TradeOff]") -> None:
    several = _need_names((point.mechanism, point.embedding, point.mapping) for point in points)
    rows = [
        [
            point.mechanism,
            *([point.mapping or point.embedding or ""] if several else []),
            "" if point.k is None else str(point.k),
            "any" if point.eps is None else f"{point.eps:g}",
            _show_figure(point.utility),
            _show_figure(point.success),
            f"{1.0 - point.success.mean:.3f}",
        ]
        for point in points
    ]
    names = ["mechanism", *(["mapping or embedding"] if several else [])]
    columns = [*names, "K", "eps", points[0].metric, "attack", "1 - attack"]
    print_table(columns, rows, fixed=len(columns) - 3, right=range(len(names), len(columns)))


def _find_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the values of all options as keyword arguments of the public functions."""
    named = ("no_conversion", *_FILE_OPTIONS, "data_file", "train_table", "test_table")
    rest = {name: value for name, value in given.items() if name not in named}
    return rest | _find_data(given) | {"convert_eps": not given["no_conversion"]}


def _find_data(given: dict[str, Any]) -> dict[str, Any]:
    """Return the training and test data as keyword arguments."""
    from custext_sql.files.inputs.texts import DataFiles, DataTable

    path, train, test = given["data_file"], given["train_table"], given["test_table"]
    if path is None and train is None and test is None:
        files = {name: given[name] for name in ("train", "test") if given[name] is not None}
        option = next((write_option(name) for name in _FILE_OPTIONS if given[name]), None)
        if option is not None and not files:
            raise click.UsageError(f"{option} is for files; give them with --train FILE and --test FILE.")
        options = given["format"], given["encoding"], not given["no_quotes"], not given["no_header"]
        return {name: DataFiles(file, *options) for name, file in files.items()}
    if path is not None and tell_format(path) is not None:
        raise click.UsageError("--data is for DuckDB files; give files of texts with --train FILE and --test FILE.")
    if path is None or train is None or test is None:
        raise click.UsageError("--data, --train-table and --test-table go together: a DuckDB file and two tables.")
    if given["train"] is not None or given["test"] is not None or given["corpus"] is not None:
        raise click.UsageError("Expected --train and --test, or --corpus, or --data with two tables; found several.")
    return {"train": DataTable(path, train), "test": DataTable(path, test)}


def _describe(setup: "EvaluationSetup") -> str:
    """Return the setup of an evaluation in two lines, or more if they would be too long."""
    rows = f"{count_of(setup.train_rows, 'training row')}, {count_of(setup.test_rows, 'test row')}"
    used = f"{', '.join(setup.mappings)}; calibration {setup.calibration}, policy {setup.policy}"
    return "\n".join(click.wrap_text(line, 80) for line in (f"{setup.metric}, {setup.model}; {rows}", used))


def _need_names(places: Iterable[tuple[str | None, str | None, str | None]]) -> bool:
    """Return whether rows must show their mapping or embedding, because there are several.

    places: the mechanism, the embedding and the mapping of each row.
    """
    found = set(places)
    return len({embedding for _, embedding, _ in found} - {None}) > 1 or len({name for *_, name in found} - {None}) > 1


def _show_figure(figure: "Figure") -> str:
    """Return the mean and, if there is one, the spread, with the digits that matter."""
    return f"{figure.mean:.3f}" if figure.spread is None else f"{figure.mean:.3f} ± {figure.spread:.3f}"
