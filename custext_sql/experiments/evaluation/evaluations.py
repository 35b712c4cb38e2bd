"""Evaluations: the utility of sanitized texts (the paper's Table 1), and its trade-off with privacy (Figures 3, 4)."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from statistics import fmean, stdev
from typing import Any

import numpy as np

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bayes_attack import measure_guess
from custext_sql.experiments.attacks.context_attack import ContextAttacker, read_public
from custext_sql.experiments.attacks.mask_attack import attack_trial, choose_guesser
from custext_sql.experiments.evaluation.experiment import (
    EvaluationSettings,
    EvaluationSetup,
    Experiment,
    plan_experiment,
)
from custext_sql.experiments.evaluation.models import (
    EMBEDDING,
    TFIDF,
    TrainTestSplit,
    fine_tune,
    number_labels,
    predict_by_tfidf,
    predict_by_vectors,
    score_predictions,
)
from custext_sql.experiments.evaluation.paper_table import find_paper_value
from custext_sql.experiments.mechanisms import ORIGINAL, ShareDone, Trial, part_of
from custext_sql.experiments.public_texts import list_public
from custext_sql.files.inputs.texts import Texts, name_texts
from custext_sql.kinds import Kind
from custext_sql.store.database import Database
from custext_sql.text.columns import open_column

ATTACKS = ("bayes", "context", "mask")


@dataclass(frozen=True)
class UtilityResult:
    """The utility of the texts of one trial: a mechanism at an eps, with a seed."""

    mechanism: str
    eps: float | None  # the budget per word; None if the mechanism needs none
    k: int | None  # the group size K; None if the mechanism does not use groups
    seed: int  # of the draws and of the training
    metric: str  # "accuracy" or "pearson" (Pearson's correlation)
    value: float  # the accuracy, 0 to 1, or the correlation, -1 to 1, on the test rows
    paper: float | None  # the value in the paper for this task, mechanism, measure and eps; None if it has none
    in_clear: float  # the share of the words of the test texts that stay in the clear, 0 to 1
    embedding: str | None  # None for "original"
    mapping: str | None  # None if the mechanism does not use groups


@dataclass(frozen=True)
class UtilityEvaluation:
    """The paper's Table 1 for some data and a model."""

    setup: EvaluationSetup
    results: tuple[UtilityResult, ...]  # one per mechanism, mapping, eps and seed


def evaluate_utility(
    database: Database = None,
    *,
    mechanisms: str | Sequence[str] = ("original", "custext+", "custext", "santext+", "santext", "fbdd", "random"),
    eps: float | Sequence[float] = (0.0, 1.0, 2.0, 3.0),
    progress: ShareDone | None = None,
    **settings: Any,
) -> UtilityEvaluation:
    """Sanitize training and test data with each mechanism, then train and test a model (the paper's Table 1).

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    mechanisms: one or more of "custext", "custext+", "santext", "santext+", "fbdd", "random" and "original".
    eps: one budget per word or several: 0, or 0.001 to 100.
    progress: called with the share of the work done, 0 to 1.
    settings: the data, the task, the model and the rest, as in `EvaluationSettings`: train=..., test=..., text=...

    Returns a UtilityEvaluation. Draws come from seeds, and no sanitized text is written anywhere.

    SettingError if a setting is invalid; SourceError if the data cannot be read; MappingError if a mapping or the
    vectors that a mechanism needs do not exist.
    """
    experiment, trials, setup = plan_experiment(database, mechanisms, eps, EvaluationSettings(**settings))
    values = measure_utility(experiment, trials, progress=progress)
    shares = measure_in_clear(experiment, trials)
    results = [
        UtilityResult(
            **place,
            seed=trial.seed,
            metric=setup.metric,
            value=value,
            paper=find_paper_value(
                setup, trial.mechanism.name, trial.epsilon, embedding=place["embedding"], mapping=place["mapping"]
            ),
            in_clear=share,
        )
        for trial, value, share in zip(trials, values, shares, strict=True)
        for place in [trial.describe()]
    ]
    return UtilityEvaluation(setup, tuple(results))


def measure_utility(
    experiment: Experiment, trials: Sequence[Trial], *, progress: ShareDone | None = None
) -> list[float]:
    """Return the accuracy or correlation of each trial."""
    parts, model = (experiment.train, experiment.test), experiment.model
    train_labels, test_labels = number_labels(experiment.task, *parts)
    texts, values = [text for part in parts for row in part.texts for text in row], []
    for number, trial in enumerate(trials):
        tell = part_of(progress, number, len(trials))
        tell(0.0)
        # all texts in one run: some mechanisms do much work per distinct word
        new = iter(trial.mechanism.sanitize(texts, trial.epsilon, trial.seed))
        train, test = ([tuple(islice(new, len(row))) for row in part.texts] for part in parts)
        split = TrainTestSplit(train, train_labels, test, test_labels, experiment.task)
        if model == TFIDF:
            predictions = predict_by_tfidf(split, trial.seed)
        elif model == EMBEDDING:
            under_test = trial.under_test
            predictions = predict_by_vectors(split, trial.seed, under_test.vocabulary, under_test.space.points)
        else:
            predictions = fine_tune(model, split, seed=trial.seed, progress=tell, **experiment.options)
        values.append(score_predictions(split, predictions))
    return values


def measure_in_clear(experiment: Experiment, trials: Sequence[Trial]) -> list[float]:
    """Return for each trial the share of the words of the test texts that stay in the clear.

    Utility without it makes a mechanism look too good. These are words that the policy and the mechanism keep:
    stopwords, unknown words, and those that SANTEXT+ does not replace. A word that draws itself is not among them. The
    share depends on neither eps nor the seed, except that SANTEXT+ chooses by chance; it is measured with the first
    seed.
    """

    measure = cache(lambda mechanism: mechanism.find_share_in_clear(experiment.tested, seed=0))
    return [measure(trial.mechanism) for trial in trials]


@dataclass(frozen=True)
class Figure:
    """A mean over seeds, in the unit of the measured values."""

    mean: float
    spread: float | None  # the standard deviation; None if there is only one value


@dataclass(frozen=True)
class TradeOff:
    """One point of a trade-off: how useful the texts of a mechanism are, and how often an attack on them succeeds."""

    mechanism: str
    embedding: str | None
    mapping: str | None  # None if the mechanism does not use groups
    k: int | None  # the group size K; None if the mechanism does not use groups
    eps: float | None  # the budget per word; None if the mechanism needs none
    metric: str  # "accuracy" or "pearson"
    utility: Figure  # on the test rows
    attack: str  # "bayes", "context" or "mask (MODEL)"
    success: Figure  # the share of all words guessed, 0 to 1; words in the clear count as guessed, except by "mask"


@dataclass(frozen=True)
class TradeOffEvaluation:
    """The paper's Figures 3 and 4 for some data, a model and an attack."""

    setup: EvaluationSetup
    attack: str  # "bayes", "context" or "mask (MODEL)"
    points: tuple[TradeOff, ...]  # one per mechanism, mapping and eps


def evaluate_tradeoff(
    database: Database = None,
    *,
    mechanisms: str | Sequence[str] = ("custext", "custext+"),
    eps: float | Sequence[float] = (0.0, 1.0, 2.0, 3.0, 5.0, 8.0),
    attack: str = "mask",
    attack_model: str | os.PathLike[str] = "ngram",
    public: Texts | None = None,
    public_column: str | None = None,
    progress: ShareDone | None = None,
    **settings: Any,
) -> TradeOffEvaluation:
    """Measure how useful sanitized texts are and how often an attack on them succeeds (the paper's Figures 3 and 4).

    attack: "mask" (mask token inference), "bayes" (the best single guess from the tables), or "context" (the best guess
        from the whole text, as in `attack_context`). The last two work only for the mechanisms custext and custext+.
    attack_model: for "mask", the name or folder of a masked language model of Hugging Face, or "ngram".
    public: the texts from which "context" and "ngram" learn: the path of a file, a DataTable, or a sequence of texts;
        by default the training texts. public_column: their column; None for lines of text and for a sequence.

    All other arguments, and the errors, are those of `evaluate_utility`, but the mechanism "original" cannot be
    attacked. SettingError also if the attack does not apply to a mechanism.

    Returns a TradeOffEvaluation.
    """
    if attack not in ATTACKS:
        raise SettingError(f"attack must be one of {', '.join(ATTACKS)}; found {attack!r}")
    experiment, trials, setup = plan_experiment(database, mechanisms, eps, EvaluationSettings(**settings))
    if any(trial.mechanism.name == ORIGINAL for trial in trials):
        raise SettingError(
            "the mechanism original leaves all words in the clear, so there is nothing to attack; remove it from "
            "--mechanisms (in Python: mechanisms)"
        )
    if attack != "mask" and not all(trial.uses_groups for trial in trials):
        raise SettingError(
            f"the {attack} attack needs groups, which only custext and custext+ have; use --attack mask "
            '(in Python: attack="mask")'
        )
    guess, empty = _open_attack(attack, os.fspath(attack_model), experiment, public, public_column)
    if public is not None and attack != "bayes":
        setup = replace(setup, skipped=setup.skipped | {name_texts(public): empty})
    shown = f"mask ({os.fspath(attack_model)})" if attack == "mask" else attack
    values = measure_utility(experiment, trials, progress=part_of(progress, 0, 2))
    found: dict[tuple[tuple[str, Any], ...], list[tuple[float, float]]] = {}
    for number, (trial, utility) in enumerate(zip(trials, values, strict=True)):
        tell = part_of(part_of(progress, 1, 2), number, len(trials))
        success = guess(trial, tell)
        tell(1.0)
        found.setdefault(tuple(trial.describe().items()), []).append((utility, success))
    points = [
        TradeOff(
            **dict(place),
            metric=setup.metric,
            utility=summarize([utility for utility, _ in some]),
            attack=shown,
            # the best single guess depends on no seed
            success=summarize([success for _, success in some[: 1 if attack == "bayes" else None]]),
        )
        for place, some in found.items()
    ]
    return TradeOffEvaluation(setup, shown, tuple(points))


def summarize(values: Sequence[float]) -> Figure:
    """Return the mean and spread of values."""
    return Figure(fmean(values), stdev(values) if len(values) > 1 else None)


def _open_attack(
    attack: str, model: str, experiment: Experiment, public: Texts | None, column: str | None
) -> tuple[Callable[[Trial, ShareDone], float], int]:
    """Return a function that attacks the test texts in a trial and returns the share of all words guessed; and how many
    public texts are empty. By default, the attacker learns from the training texts.
    """
    texts, clear = experiment.tested, [text for row in experiment.train.texts for text in row]
    if attack == "bayes":
        return _open_single_guess(texts), 0
    if attack == "context":
        known = read_public(clear if public is None else public, column, texts)
        attacker = ContextAttacker(texts, known, experiment.test.name)
        return lambda trial, tell: attacker.attack(trial, tell).success_of_all, known.skipped
    learned, empty = (clear, 0) if public is None else list_public(public, column)
    open_guesser = choose_guesser(model, public=learned)
    return lambda trial, tell: attack_trial(trial, texts, open_guesser, tell).r_mask, empty


def _open_single_guess(texts: Sequence[str]) -> Callable[[Trial, ShareDone], float]:
    """Return the best single guess from the tables as an attack, computed exactly.

    The attacker knows how frequent words are in these texts. Words in the clear count as guessed.
    """
    column = open_column(list(texts))[0]

    @cache
    def guess(trial: Trial) -> float:
        mechanism, under_test = trial.mechanism, trial.under_test
        found = mechanism.find_words(column)
        words = max(len(found.kinds), 1)
        drawn = np.bincount(found.numbers[found.at(Kind.REPLACED)], minlength=under_test.vocabulary.size)
        assert trial.epsilon is not None
        return mechanism.count_in_clear(found) / words + measure_guess(under_test, drawn / words, trial.epsilon)

    return lambda trial, tell: guess(replace(trial, seed=0))  # it depends on no seed
