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
from custext_sql.experiments.evaluation.experiment import EvaluationSetup, Experiment, LabeledData, plan_experiment
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
from custext_sql.release.inputs.texts import Texts, name_texts
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.policy import Policy
from custext_sql.store.database import Database
from custext_sql.text.columns import open_column

ATTACKS = ("bayes", "context", "mask")


@dataclass(frozen=True)
class UtilityResult:
    """The utility of the texts of one trial: a mechanism at an eps, with a seed.

    mechanism: its name. eps: the budget per word; None if the mechanism needs none. seed: the seed of the draws and of
        the training.
    k, mapping: the group size K and the name of the mapping; None if the mechanism does not use groups.
    embedding: the name of the embedding; None for "original".
    metric: "accuracy" or "pearson" (Pearson's correlation).
    value: the accuracy, 0 to 1, or the correlation, -1 to 1, on the test rows.
    paper: the value in the paper for this task, mechanism, measure and eps; None if it has none.
    in_clear: the share of the words of the test texts that stay in the clear, 0 to 1.
    """

    mechanism: str
    eps: float | None
    k: int | None
    seed: int
    metric: str
    value: float
    paper: float | None
    in_clear: float
    embedding: str | None
    mapping: str | None


@dataclass(frozen=True)
class UtilityEvaluation:
    """The paper's Table 1 for some data and a model.

    setup: the data, the model and other settings. results: one per mechanism, mapping, eps and seed.
    """

    setup: EvaluationSetup
    results: tuple[UtilityResult, ...]


def evaluate_utility(
    database: Database = None,
    *,
    train: LabeledData | None = None,
    test: LabeledData | None = None,
    corpus: str | os.PathLike[str] | None = None,
    text: str | Sequence[str] = (),
    label: str = "label",
    limit: int | None = None,
    task: str = "classification",
    mechanisms: str | Sequence[str] = ("original", "custext+", "custext", "santext+", "santext", "fbdd", "random"),
    eps: float | Sequence[float] = (0.0, 1.0, 2.0, 3.0),
    mappings: str | Sequence[str] = (),
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
) -> UtilityEvaluation:
    """Sanitize training and test data with each mechanism, then train and test a model (the paper's Table 1).

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    train, test: the path of a file, DataFiles, a DataTable, or LabeledTexts. In GLUE's TSV files, quotes are ordinary
        characters: DataFiles("SST-2/train.tsv", quotes=False). Rows without a text or a label are skipped and counted.
    corpus: instead of train and test, "sentence_polarity" (NLTK's corpus) or the path of its zip file.
    text: the column of the texts in files; two columns for pairs. label: the column of the labels.
    limit: the most training rows, and the most test rows, to use, spread evenly over the data; None: all.
    task: "classification", or "similarity" of two texts.
    mechanisms: one or more of "custext", "custext+", "santext", "santext+", "fbdd", "random" and "original".
    eps: one budget per word or several: 0, or 0.001 to 100.
    mappings: a name, or several; by default the database's default mapping.
    model: "tfidf" or "embedding" (need the extra `evaluation`), or the name or folder of a Hugging Face model to
        fine-tune (needs the extra `models`).
    seeds: the number of repetitions, at least 1.
    policy: what to do with unknown words and numbers: "paper", "strict" or a Policy.
    calibration: "paper" or "tight".
    convert_eps: whether to divide eps by the largest distance between two words for santext, santext+ and fbdd, as the
        paper does.
    length, epochs, batch_size, learning_rate: for fine-tuning only: tokens per text (at least 8), passes over the data,
        texts per step, and the step size. The defaults are the paper's: 128, 3, 64 and 2e-5.
    progress: called with the share of the work done, 0 to 1.

    Returns a UtilityEvaluation. Draws come from seeds, and no sanitized text is written anywhere.

    SettingError if a setting is invalid; SourceError if the data cannot be read; MappingError if a mapping or the
    vectors that a mechanism needs do not exist.
    """
    experiment, trials, setup = plan_experiment(locals())
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
    experiment, trials, setup = plan_experiment(locals())
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
        drawn = np.bincount(found.numbers[found.at(Kind.SAMPLED)], minlength=under_test.vocabulary.size)
        assert trial.epsilon is not None
        return mechanism.count_in_clear(found) / words + measure_guess(under_test, drawn / words, trial.epsilon)

    return lambda trial, tell: guess(replace(trial, seed=0))  # it depends on no seed
