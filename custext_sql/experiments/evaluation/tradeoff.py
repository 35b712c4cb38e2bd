"""Privacy against utility, over eps and mappings: the paper's Figures 3 and 4."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, stdev

import numpy as np

from custext_sql.arrays import Floats
from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bayes_attack import measure_bayes_in_texts
from custext_sql.experiments.attacks.mask_attack import ChosenGuesser, choose_guesser, measure_masks
from custext_sql.experiments.evaluation.experiment import EvaluationSetup, Experiment, LabeledData, plan_experiment
from custext_sql.experiments.evaluation.utility import measure_utility
from custext_sql.experiments.measurements import Measurement, ShareDone, part_of, write_settings
from custext_sql.experiments.mechanisms import CUSTEXT_PLUS, ORIGINAL
from custext_sql.experiments.text_files import Texts, list_texts
from custext_sql.experiments.trials import Trial
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.policy import Policy
from custext_sql.replacing.words import find_words
from custext_sql.store.database import Database
from custext_sql.text.columns import TextColumn, open_column
from custext_sql.text.encoded_text import EncodedText

ATTACKS = ("bayes", "mask")

_Point = tuple[str, str | None, str | None, int | None, float | None]  # mechanism, embedding, mapping, K, eps


@dataclass(frozen=True)
class Figure:
    """A mean over seeds, its spread (the standard deviation; None for one seed), and the rows it comes from."""

    mean: float
    spread: float | None
    measurement_ids: tuple[str, ...]


@dataclass(frozen=True)
class TradeOff:
    """One point: how useful the texts of a mechanism are, and how often an attack on them succeeds."""

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
    """The paper's Figures 3 and 4 for some data, a model and an attack. points: one per mechanism, mapping and eps."""

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
    task: str = "classification",
    mechanisms: str | Sequence[str] = ("custext", "custext+"),
    eps: float | Sequence[float] = (1.0, 2.0, 3.0, 5.0, 8.0),
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

    attack: "mask", guessed by attack_model ("ngram", which learns from public texts, the training texts unless given,
    or a masked language model of Hugging Face), or "bayes", the best single guess from the tables, for custext and
    custext+ alone. public: a path, whose public_column is read, or texts. Everything else is as in `evaluate_utility`;
    results are saved and reused likewise. SettingError if a setting is out of range or the attack does not fit a
    mechanism, SourceError if data cannot be read.
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
    guesser = None
    if attack == "mask":
        clear: list[str | None] = [text for row in planned.experiment.train.texts for text in row]
        learned = clear if public is None else list_texts(public, public_column)
        guesser = choose_guesser(os.fspath(attack_model), public=learned)
    points = measure_tradeoff(database, planned.experiment, planned.trials, guesser, progress=progress)
    return TradeOffEvaluation(planned.setup, points[0].attack, tuple(points))


def summarize(measurements: Iterable[Measurement]) -> Figure:
    """Return the mean and spread of some values. SettingError if there is none."""
    found = list(measurements)
    return summarize_values(
        [one.value for one in found if one.value is not None], [one.measurement_id for one in found]
    )


def summarize_values(values: Sequence[float], measurement_ids: Iterable[str]) -> Figure:
    """Return the mean and spread of values that come from these rows. SettingError if there is no value."""
    if not values:
        raise SettingError("there is nothing to summarize")
    return Figure(fmean(values), stdev(values) if len(values) > 1 else None, tuple(measurement_ids))


def measure_tradeoff(
    database: Database,
    experiment: Experiment,
    trials: Sequence[Trial],
    guesser: ChosenGuesser | None,
    *,
    progress: ShareDone | None = None,
) -> list[TradeOff]:
    """Return the utility as `measure_utility` finds it, and the success of an attack on the test texts.

    guesser: for the mask attack; None: the best single guess from the tables, exactly, by an attacker who knows how
    frequent words are in these texts. That one is for CusText's own mechanisms; words in the clear count as guessed.
    """
    if any(trial.mechanism == ORIGINAL for trial in trials):
        raise SettingError("original is no mechanism to attack: its words are there to be read; leave it out")
    if guesser is None and not all(trial.uses_groups for trial in trials):
        raise SettingError(
            "the bayes attack goes by groups, which only custext and custext+ have; use the attack mask (--attack mask)"
        )
    first, second = (part_of(progress, number, 2) for number in range(2))
    utilities = measure_utility(database, experiment, trials, progress=first)
    find = _guess_once if guesser is None else partial(_guess_masks, guesser)
    successes = find(database, experiment, trials, second)
    by_point: dict[_Point, list[Measurement]] = {}
    for trial, utility in zip(trials, utilities, strict=True):
        by_point.setdefault(_place(trial), []).append(utility)
    return [
        TradeOff(
            *place,
            metric=found[0].subject.metric,
            utility=summarize(found),
            attack="bayes" if guesser is None else f"mask ({guesser.name})",
            success=successes[place],
        )
        for place, found in by_point.items()
    ]


def _place(trial: Trial) -> _Point:
    """Return what the trials of all seeds have in common."""
    subject = trial.describe("", "")
    return trial.mechanism, subject.embedding, subject.mapping, subject.k, trial.epsilon


def _guess_masks(
    guesser: ChosenGuesser, database: Database, experiment: Experiment, trials: Sequence[Trial], progress: ShareDone
) -> dict[_Point, Figure]:
    texts = [text for row in experiment.test.texts for text in row]
    measured = measure_masks(database, trials, texts, guesser, dataset=experiment.test.name, progress=progress)
    by_place: dict[_Point, list[Measurement]] = {}
    for trial, (found, _) in zip(trials, measured, strict=True):
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
    """Return which share of all words of some texts each drawn word is, and the share that stays in the clear."""
    vocabulary, policy = trial.under_test.vocabulary, trial.under_test.policy
    plus = trial.mechanism == CUSTEXT_PLUS
    found = find_words(EncodedText(column.text), column.offsets, vocabulary, plus=plus)
    counts = np.bincount(found.kinds, minlength=len(Kind))
    drawn = np.bincount(found.numbers[found.at(Kind.SAMPLED)], minlength=vocabulary.size)
    in_clear = int(counts[Kind.STOPWORD] + counts[Kind.ENDING])
    in_clear += int(counts[Kind.UNKNOWN]) if policy.unknown == "keep" else 0
    in_clear += int(counts[Kind.NUMBER]) if policy.numbers == "keep" else 0
    return drawn / max(len(found.kinds), 1), in_clear / max(len(found.kinds), 1)
