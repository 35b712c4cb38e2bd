"""Options and output that the commands of `custext evaluate` share."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from custext_sql.cli.file_options import file_options
from custext_sql.cli.options import keyless_calibration_option
from custext_sql.cli.policy_options import policy_options
from custext_sql.parameters import count_of
from custext_sql.release.inputs.file_formats import tell_format

if TYPE_CHECKING:
    from custext_sql.experiments.evaluation.experiment import EvaluationSetup
    from custext_sql.experiments.evaluation.tradeoff import Figure

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FILE_OPTIONS = ("format", "encoding", "no_quotes", "no_header")


def data_options(command: _Command) -> _Command:
    """Add the options for data, task, model and sanitization to a command."""
    for option in reversed(
        (
            click.option("--train", metavar="FILE", help="Labeled training texts: CSV, TSV, JSON, Parquet."),
            click.option("--test", metavar="FILE", help="Labeled test texts."),
            click.option(
                "--data", "data_file", metavar="FILE", help="Instead of files: a DuckDB file with two tables."
            ),
            click.option("--train-table", metavar="NAME", help="Table of --data with the training texts."),
            click.option("--test-table", metavar="NAME", help="Table of --data with the test texts."),
            click.option(
                "--corpus", metavar="NAME", help="Instead of files: sentence_polarity (NLTK's corpus), or its zip file."
            ),
            click.option(
                "--text", multiple=True, metavar="COLUMN", help="Column of the texts; give it twice for pairs."
            ),
            click.option("--label", default="label", show_default=True, metavar="COLUMN", help="Column of the labels."),
            *file_options("--train and --test"),
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
                "--model",
                default="tfidf",
                show_default=True,
                help="tfidf, embedding, or a Hugging Face model to fine-tune.",
            ),
            click.option(
                "--seeds", default=3, show_default=True, type=click.IntRange(1), help="Number of repetitions."
            ),
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
            keyless_calibration_option,
        )
    ):
        command = option(command)
    return command


def mechanisms_option(default: str) -> Callable[[_Command], _Command]:
    """Return the option --mechanisms."""
    return click.option(
        "--mechanisms",
        default=default,
        show_default=True,
        metavar="LIST",
        help="Comma-separated: custext, custext+, santext, santext+, fbdd, random, original.",
    )


def evaluation_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the values of `data_options` as keyword arguments of the public functions."""
    named = ("no_conversion", *_FILE_OPTIONS, "data_file", "train_table", "test_table")
    rest = {name: value for name, value in given.items() if name not in named}
    return rest | _find_data(given) | {"convert_eps": not given["no_conversion"]}


def _find_data(given: dict[str, Any]) -> dict[str, Any]:
    """Return the training and test data as keyword arguments."""
    from custext_sql.release.inputs.texts import DataFiles, DataTable

    path, train, test = given["data_file"], given["train_table"], given["test_table"]
    if path is None and train is None and test is None:
        files = {name: given[name] for name in ("train", "test") if given[name] is not None}
        option = next((name.replace("_", "-") for name in _FILE_OPTIONS if given[name]), None)
        if option is not None and not files:
            raise click.UsageError(f"--{option} is for files; give them with --train FILE and --test FILE.")
        options = given["format"], given["encoding"], not given["no_quotes"], not given["no_header"]
        return {name: DataFiles(file, *options) for name, file in files.items()}
    if path is not None and tell_format(path) is not None:
        raise click.UsageError("--data is for DuckDB files; give files of texts with --train FILE and --test FILE.")
    if path is None or train is None or test is None:
        raise click.UsageError("--data, --train-table and --test-table go together: a DuckDB file and two tables.")
    if given["train"] is not None or given["test"] is not None or given["corpus"] is not None:
        raise click.UsageError("Expected --train and --test, or --corpus, or --data with two tables; found several.")
    return {"train": DataTable(path, train), "test": DataTable(path, test)}


def split_names(mechanisms: str) -> list[str]:
    """Return the names in the value of --mechanisms, in lower case."""
    return [name.strip().lower() for name in mechanisms.split(",") if name.strip()]


def describe(setup: "EvaluationSetup") -> str:
    """Return the setup of an evaluation in two lines, or more if they would be too long."""
    rows = f"{count_of(setup.train_rows, 'training row')}, {count_of(setup.test_rows, 'test row')}"
    used = f"{', '.join(setup.mappings)}; calibration {setup.calibration}, policy {setup.policy}"
    return "\n".join(click.wrap_text(line, 80) for line in (f"{setup.metric}, {setup.model}; {rows}", used))


def need_names(places: Iterable[tuple[str | None, str | None, str | None]]) -> bool:
    """Return whether rows must show their mapping or embedding, because there are several.

    places: the mechanism, the embedding and the mapping of each row.
    """
    found = set(places)
    return len({embedding for _, embedding, _ in found} - {None}) > 1 or len({name for *_, name in found} - {None}) > 1


def show_figure(figure: "Figure") -> str:
    """Return the mean and, if there is one, the spread, with the digits that matter."""
    return f"{figure.mean:.3f}" if figure.spread is None else f"{figure.mean:.3f} ± {figure.spread:.3f}"
