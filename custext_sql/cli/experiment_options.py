"""What the commands of `custext evaluate` share: data, mechanisms, and how figures are shown."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from custext_sql.cli.options import experiment_policy_option, keyless_calibration_option
from custext_sql.cli.output import show_share

if TYPE_CHECKING:
    from custext_sql.experiments.evaluation.experiment import EvaluationSetup
    from custext_sql.experiments.evaluation.tradeoff import Figure

_Command = TypeVar("_Command", bound=Callable[..., Any])


def data_options(command: _Command) -> _Command:
    """Data, task and model, and how texts are sanitized."""
    for option in reversed(
        (
            click.option("--train", metavar="FILE", help="Labeled texts to learn from: GLUE's TSV, CSV, JSON, ..."),
            click.option("--test", metavar="FILE", help="Labeled texts to be tested on."),
            click.option("--corpus", metavar="NAME", help="Instead: NLTK's sentence_polarity, or its zip file."),
            click.option("--text", multiple=True, metavar="COLUMN", help="Of the texts; twice for pairs."),
            click.option("--label", default="label", show_default=True, metavar="COLUMN", help="Of the labels."),
            click.option(
                "--task",
                type=click.Choice(["classification", "similarity"]),
                default="classification",
                help="What the labels are: classes, or how alike two texts are.",
                show_default=True,
            ),
            click.option("--mapping", "mappings", multiple=True, metavar="NAME", help="Once or more."),
            click.option(
                "--model",
                default="tfidf",
                show_default=True,
                help="tfidf, embedding, or one of Hugging Face to fine-tune.",
            ),
            click.option("--seeds", default=3, show_default=True, type=click.IntRange(1), help="Repetitions."),
            click.option("--length", type=click.IntRange(8), help="Fine-tuning: tokens of a text.  [default: 128]"),
            click.option("--epochs", type=click.IntRange(1), help="Fine-tuning.  [default: 3]"),
            click.option("--batch-size", type=click.IntRange(1), help="Fine-tuning.  [default: 64]"),
            click.option("--learning-rate", type=float, help="Fine-tuning.  [default: 2e-5]"),
            click.option(
                "--no-conversion",
                is_flag=True,
                help="Do not divide eps by the largest distance of two words for santext, santext+ and fbdd.",
            ),
            experiment_policy_option,
            keyless_calibration_option,
        )
    ):
        command = option(command)
    return command


def mechanisms_option(default: str) -> Callable[[_Command], _Command]:
    return click.option(
        "--mechanisms",
        default=default,
        show_default=True,
        metavar="LIST",
        help="With commas between them: custext, custext+, santext, santext+, fbdd, random, original.",
    )


def evaluation_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return what `data_options` were given as the settings that the public functions take."""
    rest = {name: value for name, value in given.items() if name != "no_conversion"}
    return rest | {"convert_eps": not given["no_conversion"]}


def tell_left_out(setup: "EvaluationSetup") -> None:
    """Print which files have lines that were skipped."""
    for name, count in setup.left_out.items():
        click.echo(f"{name}: {count:,} lines without all columns left out", err=True)


def split_names(mechanisms: str) -> list[str]:
    return [name.strip().lower() for name in mechanisms.split(",") if name.strip()]


def describe(setup: "EvaluationSetup") -> str:
    """Return what an evaluation was made with, in two lines."""
    return (
        f"{setup.metric}, {setup.model}; {setup.train_rows:,} rows to learn from, {setup.test_rows:,} to be tested on\n"
        f"{', '.join(setup.mappings)}; calibration {setup.calibration}, policy {setup.policy}"
    )


def need_names(places: Iterable[tuple[str | None, str | None, str | None]]) -> bool:
    """Return whether rows by mechanism, embedding and mapping need more than the mechanism's name to be told apart."""
    found = set(places)
    return len({embedding for _, embedding, _ in found} - {None}) > 1 or len({name for *_, name in found} - {None}) > 1


def show_figure(figure: "Figure") -> str:
    return show_share(figure.mean, figure.spread)
