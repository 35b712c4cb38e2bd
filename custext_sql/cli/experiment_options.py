"""What the commands of `custext evaluate` share: data, mechanisms, and how figures are shown."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from custext_sql.cli.options import calibration_option, experiment_policy_option
from custext_sql.cli.output import show_share

if TYPE_CHECKING:
    from custext_sql.experiments.evaluation.tradeoff import Figure
    from custext_sql.experiments.evaluation.utility import Experiment
    from custext_sql.experiments.mechanisms import Arena

_Command = TypeVar("_Command", bound=Callable[..., Any])


def data_options(command: _Command) -> _Command:
    """Data, task and model, and how texts are sanitized."""
    for option in reversed(
        (
            click.option("--train", metavar="FILE", help="Labelled texts to learn from: GLUE's TSV, CSV, JSON, ..."),
            click.option("--test", metavar="FILE", help="Labelled texts to be tested on."),
            click.option("--corpus", metavar="NAME", help="Instead: NLTK's sentence_polarity, or its zip file."),
            click.option("--text", "texts", multiple=True, metavar="COLUMN", help="Of the texts; twice for pairs."),
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
            calibration_option,
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


def open_arenas(db: str | None, given: dict[str, Any]) -> "list[Arena]":
    from custext_sql.experiments.mechanisms import Arena

    return [
        Arena(
            db,
            mapping=mapping,
            policy=given["policy"],
            calibration=given["calibration"] or "paper",
            converted=not given["no_conversion"],
        )
        for mapping in dict.fromkeys(given["mappings"] or (None,))
    ]


def open_experiment(given: dict[str, Any]) -> "Experiment":
    from custext_sql.errors import SettingError
    from custext_sql.experiments.evaluation.datasets import read_labelled, read_sentence_polarity
    from custext_sql.experiments.evaluation.utility import Experiment

    train, test, corpus = given["train"], given["test"], given["corpus"]
    if (corpus is None) == (train is None and test is None) or (train is None) != (test is None):
        raise SettingError("name the data: --train FILE and --test FILE, or --corpus sentence_polarity")
    if corpus is not None:
        parts = read_sentence_polarity(corpus)
    else:
        if not given["texts"]:
            raise SettingError("name the column of the texts: --text NAME; twice for pairs")
        parts = (
            read_labelled(train, given["texts"], given["label"]),
            read_labelled(test, given["texts"], given["label"]),
        )
    for part in parts:
        if part.left_out:
            click.echo(f"{part.name}: {part.left_out:,} lines without all columns left out", err=True)
    names = ("length", "epochs", "batch_size", "learning_rate")
    options = {name: given[name] for name in names if given[name] is not None}
    return Experiment(*parts, task=given["task"], model=given["model"], options=options)


def split_names(mechanisms: str) -> list[str]:
    return [name.strip().lower() for name in mechanisms.split(",") if name.strip()]


def describe(experiment: "Experiment", arenas: "Sequence[Arena]") -> str:
    from custext_sql.experiments.evaluation.models import TASKS
    from custext_sql.replacing.policy import POLICIES

    first = arenas[0]
    policy = next((name for name, policy in POLICIES.items() if policy == first.policy), "of its own")
    return (
        f"{TASKS[experiment.task]}, {experiment.model}; {len(experiment.train.texts):,} rows to learn from, "
        f"{len(experiment.test.texts):,} to be tested on\n"
        f"{', '.join(arena.mapping.info.name for arena in arenas)}; calibration {first.calibration}, policy {policy}"
    )


def need_names(places: Iterable[tuple[str | None, str | None, str | None]]) -> bool:
    """Of rows by mechanism, embedding and mapping, whether it takes more than the mechanism to tell them apart."""
    found = set(places)
    return len({embedding for _, embedding, _ in found} - {None}) > 1 or len({name for *_, name in found} - {None}) > 1


def show_figure(figure: "Figure") -> str:
    return show_share(figure.mean, figure.spread)
