"""custext evaluate"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from custext_sql.cli.options import calibration_option, epsilons_option, json_option, policy_option
from custext_sql.cli.output import print_json, print_table, progress_bar, show_share

if TYPE_CHECKING:
    from custext_sql.baselines.contenders import Arena
    from custext_sql.evaluation.tradeoff import Figure, TradeOff
    from custext_sql.evaluation.utility import Experiment
    from custext_sql.measurements import Measurement

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _data_options(command: _Command) -> _Command:
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
            policy_option,
            calibration_option,
        )
    ):
        command = option(command)
    return command


def _mechanisms_option(default: str) -> Callable[[_Command], _Command]:
    return click.option(
        "--mechanisms",
        default=default,
        show_default=True,
        metavar="LIST",
        help="With commas between them: custext, custext+, santext, santext+, fbdd, random, original.",
    )


@click.group("evaluate")
def evaluate_command() -> None:
    """Find out what sanitized text is still good for, beside other mechanisms.

    \b
    Example:
      custext evaluate utility --train train.tsv --test dev.tsv --text sentence
    """


@evaluate_command.command("utility", short_help="Train and test on sanitized texts.")
@_data_options
@_mechanisms_option("original,custext+,custext,santext+,santext,fbdd,random")
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
    from custext_sql.evaluation.utility import list_cells, measure_utility

    arenas, experiment = _open_arenas(db, given), _open_experiment(given)
    cells = list_cells(arenas, _split(mechanisms), eps, given["seeds"])
    with progress_bar("evaluating") as progress:
        measured = measure_utility(db, experiment, cells, progress=progress)
    if as_json:
        print_json([_as_object(one) for one in measured])
        return
    click.echo(_describe(experiment, arenas) + "\n")
    _print_utility(measured, eps)


@evaluate_command.command("tradeoff", short_help="Privacy against utility, over eps and mappings.")
@_data_options
@_mechanisms_option("custext,custext+")
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
    from custext_sql.attacks.mask_measuring import open_attack
    from custext_sql.drafts import check_place
    from custext_sql.evaluation.datasets import read_texts
    from custext_sql.evaluation.tradeoff import measure_tradeoff
    from custext_sql.evaluation.utility import list_cells

    if html is not None:
        check_place(Path(html), force=force)
    arenas, experiment = _open_arenas(db, given), _open_experiment(given)
    cells = list_cells(arenas, _split(mechanisms), eps, given["seeds"])
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
    click.echo(_describe(experiment, arenas) + f"; attack: {points[0].attack}\n")
    _print_tradeoff(points)


def _open_arenas(db: str | None, given: dict[str, Any]) -> "list[Arena]":
    from custext_sql.baselines.contenders import Arena

    return [
        Arena(
            db,
            mapping=mapping,
            policy=given["policy"] or "paper",
            calibration=given["calibration"] or "paper",
            converted=not given["no_conversion"],
        )
        for mapping in dict.fromkeys(given["mappings"] or (None,))
    ]


def _open_experiment(given: dict[str, Any]) -> "Experiment":
    from custext_sql.errors import SettingError
    from custext_sql.evaluation.datasets import read_labelled, read_sentence_polarity
    from custext_sql.evaluation.utility import Experiment

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


def _split(mechanisms: str) -> list[str]:
    return [name.strip().lower() for name in mechanisms.split(",") if name.strip()]


def _describe(experiment: "Experiment", arenas: "Sequence[Arena]") -> str:
    from custext_sql.evaluation.models import TASKS
    from custext_sql.policy import POLICIES

    first = arenas[0]
    policy = next((name for name, policy in POLICIES.items() if policy == first.policy), "of its own")
    return (
        f"{TASKS[experiment.task]}, {experiment.model}; {len(experiment.train.texts):,} rows to learn from, "
        f"{len(experiment.test.texts):,} to be tested on\n"
        f"{', '.join(arena.mapping.info.name for arena in arenas)}; calibration {first.calibration}, policy {policy}"
    )


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
    from custext_sql.evaluation.tradeoff import summarize

    rows: dict[tuple[str | None, str | None, str | None], dict[float | None, list[Measurement]]] = {}
    for one in measured:
        row = rows.setdefault((one.subject.mechanism, one.subject.embedding, one.subject.mapping), {})
        row.setdefault(one.subject.eps, []).append(one)
    several = _differ(rows)
    table = [
        [
            str(mechanism),
            *([mapping or embedding or ""] if several else []),
            *(_show_figure(summarize(found[None] if None in found else found[epsilon])) for epsilon in epsilons),
        ]
        for (mechanism, embedding, mapping), found in rows.items()
    ]
    columns = ["mechanism", *(["words"] if several else []), *(f"eps = {one:g}" for one in epsilons)]
    print_table(columns, table, right=range(len(columns) - len(epsilons), len(columns)))


def _differ(places: Iterable[tuple[str | None, str | None, str | None]]) -> bool:
    """Whether a mechanism, an embedding and a mapping are needed to tell rows apart: not if there is one mapping."""
    found = set(places)
    return len({embedding for _, embedding, _ in found} - {None}) > 1 or len({name for *_, name in found} - {None}) > 1


def _print_tradeoff(points: "Sequence[TradeOff]") -> None:
    several = _differ((point.mechanism, point.embedding, point.mapping) for point in points)
    table = [
        [
            point.mechanism,
            *([point.mapping or point.embedding or ""] if several else []),
            "" if point.k is None else str(point.k),
            "any" if point.eps is None else f"{point.eps:g}",
            _show_figure(point.utility),
            _show_figure(point.success),
            f"{1.0 - point.success.mean:.4f}",
        ]
        for point in points
    ]
    columns = ["mechanism", *(["words"] if several else []), "K", "eps", points[0].metric, "attack", "1 - attack"]
    print_table(columns, table, right=range(len(columns) - 5, len(columns)))


def _show_figure(figure: "Figure") -> str:
    return show_share(figure.mean, figure.spread)


def _write_page(path: str, experiment: "Experiment", points: "Sequence[TradeOff]", *, force: bool) -> None:
    from custext_sql.drafts import publish_text
    from custext_sql.report.page import write_tradeoff
    from custext_sql.report.results import TradeOffCurves

    curves = TradeOffCurves(experiment.dataset, experiment.model, points[0].metric, points[0].attack, tuple(points))
    publish_text(Path(path), write_tradeoff(curves), force=force)
    click.echo(f"{path}: {len(points)} points", err=True)
