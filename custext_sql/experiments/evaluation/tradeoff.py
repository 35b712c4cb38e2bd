"""The trade-off between privacy and utility over eps and mappings: the paper's Figures 3 and 4."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean, stdev

import numpy as np

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bayes_attack import measure_guess
from custext_sql.experiments.attacks.context_attacker import ContextAttacker, count_in_clear, read_public
from custext_sql.experiments.attacks.mask_attack import ChosenGuesser, attack_trials, choose_guesser
from custext_sql.experiments.evaluation.experiment import EvaluationSetup, Experiment, LabeledData, plan_experiment
from custext_sql.experiments.evaluation.tasks import TASKS
from custext_sql.experiments.evaluation.utility import measure_utility
from custext_sql.experiments.mechanisms import CUSTEXT_PLUS, ORIGINAL, MappingUnderTest
from custext_sql.experiments.progress import ShareDone, part_of
from custext_sql.experiments.public_texts import list_public
from custext_sql.experiments.trials import Trial
from custext_sql.release.inputs.texts import Texts, name_texts
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.policy import Policy
from custext_sql.store.database import Database
from custext_sql.text.columns import open_column

ATTACKS = ("bayes", "context", "mask")


@dataclass(frozen=True)
class Figure:
    """A mean over seeds.

    mean: in the unit of the measured values. spread: their standard deviation; None if there is only one value.
    """

    mean: float
    spread: float | None


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

    All other arguments are those of `evaluate_utility`, but the mechanism "original" cannot be attacked.

    Returns a TradeOffEvaluation.

    SettingError if a setting is invalid or the attack does not apply to a mechanism; SourceError if the data cannot be
    read; MappingError if a mapping or the vectors that a mechanism needs do not exist.
    """
    if attack not in ATTACKS:
        raise SettingError(f"attack must be one of {', '.join(ATTACKS)}; found {attack!r}")
    experiment, trials, setup = plan_experiment(**locals())  # takes what it needs of all arguments
    guesser: ChosenGuesser | ContextAttacker | None = None
    if attack != "bayes":
        clear = [text for row in experiment.train.texts for text in row]
        if attack == "mask":
            learned, empty = (clear, 0) if public is None else list_public(public, public_column)
            guesser = choose_guesser(os.fspath(attack_model), public=learned)
        else:
            texts = experiment.tested
            known = read_public(clear if public is None else public, public_column, texts)
            guesser, empty = ContextAttacker(texts, known, experiment.test.name), known.skipped
        if public is not None:
            setup = replace(setup, skipped=setup.skipped | {name_texts(public): empty})
    points = measure_tradeoff(experiment, trials, guesser, progress=progress)
    return TradeOffEvaluation(setup, points[0].attack, tuple(points))


def summarize(values: Sequence[float]) -> Figure:
    """Return the mean and spread of values."""
    return Figure(fmean(values), stdev(values) if len(values) > 1 else None)


def measure_tradeoff(
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
    utilities = measure_utility(experiment, trials, progress=first)
    if isinstance(guesser, ChosenGuesser):
        successes = [one.r_mask for one in attack_trials(trials, experiment.tested, guesser, progress=second)]
    elif guesser is None:
        successes = _guess_once(experiment, trials, second)
    else:
        parts = [part_of(second, number, len(trials)) for number in range(len(trials))]
        successes = [guesser.attack(*part).success_of_all for part in zip(trials, parts, strict=True)]
    points: dict[tuple[str, str | None, str | None, int | None, float | None], list[tuple[float, float]]] = {}
    for trial, utility, success in zip(trials, utilities, successes, strict=True):
        point = trial.mechanism, trial.embedding, trial.mapping, trial.k, trial.epsilon
        points.setdefault(point, []).append((utility, success))
    return [
        TradeOff(
            *point,
            metric=TASKS[experiment.task],
            utility=summarize([utility for utility, _ in found]),
            attack=attack,
            success=summarize([success for _, success in found[: 1 if guesser is None else None]]),
        )
        for point, found in points.items()
    ]


def _guess_once(experiment: Experiment, trials: Sequence[Trial], progress: ShareDone) -> list[float]:
    """Return the success of the best single guess over all words of the test texts, which depends on no seed."""
    column = open_column(experiment.tested)[0]

    @cache
    def guess(under_test: MappingUnderTest, mechanism: str, epsilon: float) -> float:
        replacer = under_test.open(mechanism).replacer
        assert replacer is not None
        text, offsets = replacer.open_text(column.text, column.offsets)
        found = replacer.find_words(text, offsets, plus=mechanism == CUSTEXT_PLUS)
        drawn = np.bincount(found.numbers[found.at(Kind.SAMPLED)], minlength=replacer.vocabulary.size)
        words = max(len(found.kinds), 1)
        in_clear = count_in_clear(found, replacer.policy) / words  # the attacker knows them
        return in_clear + measure_guess(under_test, drawn / words, epsilon)

    successes = []
    for number, trial in enumerate(trials):
        assert trial.epsilon is not None
        successes.append(guess(trial.under_test, trial.mechanism, trial.epsilon))
        progress((number + 1) / len(trials))
    return successes
