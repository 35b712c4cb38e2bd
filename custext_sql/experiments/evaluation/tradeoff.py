"""The trade-off between privacy and utility over eps and mappings: the paper's Figures 3 and 4."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np

from custext_sql.arrays import Floats
from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bayes_attack import measure_bayes_in_texts
from custext_sql.experiments.attacks.context_attacker import ContextAttacker, read_public
from custext_sql.experiments.attacks.context_guesses import count_in_clear
from custext_sql.experiments.attacks.mask_attack import ChosenGuesser, choose_guesser, measure_masks
from custext_sql.experiments.evaluation.experiment import EvaluationSetup, Experiment, LabeledData, plan_experiment
from custext_sql.experiments.evaluation.utility import measure_utility
from custext_sql.experiments.measurements import Measurement, ShareDone, part_of, write_settings
from custext_sql.experiments.mechanisms import CUSTEXT_PLUS, ORIGINAL
from custext_sql.experiments.public_texts import list_public
from custext_sql.experiments.trials import Trial
from custext_sql.release.inputs.texts import Texts, name_texts
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.policy import Policy
from custext_sql.store.database import Database
from custext_sql.text.columns import TextColumn, open_column

ATTACKS = ("bayes", "context", "mask")

_Point = tuple[str, str | None, str | None, int | None, float | None]  # mechanism, embedding, mapping, K, eps


@dataclass(frozen=True)
class Figure:
    """A mean over seeds.

    mean: in the unit of the measured values. spread: their standard deviation; None if there is only one value.
    measurement_ids: the rows of the table `measurements` that hold the values.
    """

    mean: float
    spread: float | None
    measurement_ids: tuple[str, ...]


@dataclass(frozen=True)
class TradeOff:
    """One point of a trade-off: how useful the texts of a mechanism are, and how often an attack on them succeeds.

    mechanism: its name. eps: the budget per word; None if the mechanism needs none.
    k, mapping: the group size K and the name of the mapping; None if the mechanism does not use groups.
    embedding: the name of the embedding.
    metric, utility: "accuracy" or "pearson", and its mean over seeds on the test rows.
    attack, success: "bayes", "context" or "mask (MODEL)", and the mean over seeds of the share of all words guessed
        correctly, 0 to 1; words in the clear count as guessed, except by "mask".
    """

    mechanism: str
    embedding: str | None
    mapping: str | None
    k: int | None
    eps: float | None
    metric: str
    utility: Figure
    attack: str
    success: Figure


@dataclass(frozen=True)
class TradeOffEvaluation:
    """The paper's Figures 3 and 4 for some data, a model and an attack.

    setup: the data, the model and other settings. attack: "bayes", "context" or "mask (MODEL)".
    points: one per mechanism, mapping and eps.
    """

    setup: EvaluationSetup
    attack: str
    points: tuple[TradeOff, ...]


def evaluate_tradeoff(
    database: Database = None,
    *,
    train: LabeledData | None = None,
    test: LabeledData | None = None,
    corpus: str | os.PathLike[str] | None = None,
    text: str | Sequence[str] = (),
    label: str = "label",
    limit: int | None = None,
    task: str = "classification",
    mechanisms: str | Sequence[str] = ("custext", "custext+"),
    eps: float | Sequence[float] = (0.0, 1.0, 2.0, 3.0, 5.0, 8.0),
    mappings: str | Sequence[str] = (),
    attack: str = "mask",
    attack_model: str | os.PathLike[str] = "ngram",
    public: Texts | None = None,
    public_column: str | None = None,
    model: str | os.PathLike[str] = "tfidf",
    seeds: int = 3,
    policy: str | Policy = "paper",
    calibration: str = "paper",
    convert_eps: bool = True,
    length: int | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    progress: ShareDone | None = None,
) -> TradeOffEvaluation:
    """Measure how useful sanitized texts are and how often an attack on them succeeds (the paper's Figures 3 and 4).

    attack: "mask" (mask token inference), "bayes" (the best single guess from the tables), or "context" (the best guess
        from the whole text, as in `attack_context`). The last two work only for the mechanisms custext and custext+.
    attack_model: for "mask", the name or folder of a masked language model of Hugging Face, or "ngram".
    public: the texts from which "context" and "ngram" learn: the path of a file, a DataTable, or a sequence of texts;
        by default the training texts. public_column: their column; None for lines of text and for a sequence.

    All other arguments are those of `evaluate_utility`, but the mechanism "original" cannot be attacked. Results are
    saved and reused in the same way.

    Returns a TradeOffEvaluation.

    SettingError if a setting is invalid or the attack does not apply to a mechanism; SourceError if the data cannot be
    read; MappingError if a mapping or the vectors that a mechanism needs do not exist.
    """
    if attack not in ATTACKS:
        raise SettingError(f"attack must be one of {', '.join(ATTACKS)}; found {attack!r}")
    planned = plan_experiment(
        database,
        train=train,
        test=test,
        corpus=corpus,
        text=text,
        label=label,
        limit=limit,
        task=task,
        mechanisms=mechanisms,
        eps=eps,
        mappings=mappings,
        model=model,
        seeds=seeds,
        policy=policy,
        calibration=calibration,
        convert_eps=convert_eps,
        length=length,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
    )
    guesser: ChosenGuesser | ContextAttacker | None = None
    setup = planned.setup
    if attack != "bayes":
        clear = [text for row in planned.experiment.train.texts for text in row]
        if attack == "mask":
            learned, empty = (clear, 0) if public is None else list_public(public, public_column)
            guesser = choose_guesser(os.fspath(attack_model), public=learned)
        else:
            texts = [text for row in planned.experiment.test.texts for text in row]
            known = read_public(clear if public is None else public, public_column, texts)
            guesser, empty = ContextAttacker(texts, known, planned.experiment.test.name), known.skipped
        if public is not None:
            setup = replace(setup, skipped=setup.skipped | {name_texts(public): empty})
    points = measure_tradeoff(database, planned.experiment, planned.trials, guesser, progress=progress)
    return TradeOffEvaluation(setup, points[0].attack, tuple(points))


def summarize(measurements: Iterable[Measurement]) -> Figure:
    """Return the mean and spread of some measurements. SettingError if none has a value."""
    found = list(measurements)
    return summarize_values(
        [one.value for one in found if one.value is not None], [one.measurement_id for one in found]
    )


def summarize_values(values: Sequence[float], measurement_ids: Iterable[str]) -> Figure:
    """Return the mean and spread of values from these rows. SettingError if there are no values."""
    if not values:
        raise SettingError("found no values to summarize")
    return Figure(fmean(values), stdev(values) if len(values) > 1 else None, tuple(measurement_ids))


def measure_tradeoff(
    database: Database,
    experiment: Experiment,
    trials: Sequence[Trial],
    guesser: ChosenGuesser | ContextAttacker | None,
    *,
    progress: ShareDone | None = None,
) -> list[TradeOff]:
    """Return the utility by `measure_utility`, and the success of an attack on the test texts.

    guesser: for the mask attack or the context attack. None: the best single guess from the tables, computed exactly
    for an attacker who knows how frequent words are in these texts. It and the context attack apply only to CusText's
    own mechanisms, and words in the clear count as guessed.
    """
    if any(trial.mechanism == ORIGINAL for trial in trials):
        raise SettingError(
            "the mechanism original leaves all words in the clear, so there is nothing to attack; remove it from "
            "--mechanisms (in Python: mechanisms)"
        )
    name = guesser.name if isinstance(guesser, ChosenGuesser) else None
    attack = f"mask ({name})" if name else "bayes" if guesser is None else "context"
    if name is None and not all(trial.uses_groups for trial in trials):
        raise SettingError(
            f"the {attack} attack needs groups, which only custext and custext+ have; use --attack mask "
            '(in Python: attack="mask")'
        )
    first, second = (part_of(progress, number, 2) for number in range(2))
    utilities = measure_utility(database, experiment, trials, progress=first)
    if isinstance(guesser, ChosenGuesser):
        successes = _guess_masks(guesser, database, experiment, trials, second)
    elif guesser is None:
        successes = _guess_once(database, experiment, trials, second)
    else:
        successes = _guess_in_context(guesser, database, trials, second)
    by_point: dict[_Point, list[Measurement]] = {}
    for trial, utility in zip(trials, utilities, strict=True):
        by_point.setdefault(_place(trial), []).append(utility)
    return [
        TradeOff(
            *place,
            metric=found[0].subject.metric,
            utility=summarize(found),
            attack=attack,
            success=successes[place],
        )
        for place, found in by_point.items()
    ]


def _place(trial: Trial) -> _Point:
    """Return what the trials of all seeds have in common: the point that they belong to."""
    subject = trial.describe("", "")
    return trial.mechanism, subject.embedding, subject.mapping, subject.k, trial.epsilon


def _guess_masks(
    guesser: ChosenGuesser, database: Database, experiment: Experiment, trials: Sequence[Trial], progress: ShareDone
) -> dict[_Point, Figure]:
    texts = [text for row in experiment.test.texts for text in row]
    measured = measure_masks(database, trials, texts, guesser, dataset=experiment.test.name, progress=progress)
    return _summarize_points(trials, [of_all for of_all, _ in measured])


def _guess_in_context(
    attacker: ContextAttacker, database: Database, trials: Sequence[Trial], progress: ShareDone
) -> dict[_Point, Figure]:
    measured = attacker.measure(database, trials, progress=progress)
    return _summarize_points(trials, [found.success_of_all for found in measured])


def _summarize_points(trials: Sequence[Trial], measured: Sequence[Measurement]) -> dict[_Point, Figure]:
    by_place: dict[_Point, list[Measurement]] = {}
    for trial, found in zip(trials, measured, strict=True):
        by_place.setdefault(_place(trial), []).append(found)
    return {place: summarize(found) for place, found in by_place.items()}


def _guess_once(
    database: Database, experiment: Experiment, trials: Sequence[Trial], progress: ShareDone
) -> dict[_Point, Figure]:
    column = open_column([text for row in experiment.test.texts for text in row])[0]
    figures: dict[_Point, Figure] = {}
    for number, trial in enumerate(trials):
        if _place(trial) not in figures and trial.epsilon is not None:
            about = replace(
                trial.describe("bayes", "success_of_all"),
                dataset=experiment.test.name,
                digest=experiment.test_digest,
                settings=write_settings(**trial.handling),
            )
            drawn, in_clear = _share_out(column, trial)
            mapping, calibration = trial.under_test.mapping, trial.under_test.calibration
            found = measure_bayes_in_texts(
                database, mapping, drawn, in_clear, trial.epsilon, about=about, calibration=calibration
            )
            figures[_place(trial)] = summarize([found])
        progress((number + 1) / len(trials))
    return figures


def _share_out(column: TextColumn, trial: Trial) -> tuple[Floats, float]:
    """Return the share of each replaced word among all words of some texts, and the share of words in the clear."""
    replacer = trial.under_test.open(trial.mechanism).replacer
    assert replacer is not None
    text, offsets = replacer.open_text(column.text, column.offsets)
    found = replacer.find_words(text, offsets, plus=trial.mechanism == CUSTEXT_PLUS)
    drawn = np.bincount(found.numbers[found.at(Kind.SAMPLED)], minlength=replacer.vocabulary.size)
    words = max(len(found.kinds), 1)
    return drawn / words, count_in_clear(found, replacer.policy) / words
