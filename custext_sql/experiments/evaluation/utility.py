"""The utility of sanitized text: trains and tests a model on the texts of each trial (the paper's Table 1)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from custext_sql.experiments.evaluation.experiment import EvaluationSetup, Experiment, LabeledData, plan_experiment
from custext_sql.experiments.evaluation.linear_models import EMBEDDING, TFIDF, predict_by_tfidf, predict_by_vectors
from custext_sql.experiments.evaluation.paper_table import find_paper_value
from custext_sql.experiments.evaluation.tasks import TrainTestSplit, number_labels, score_predictions
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.progress import ShareDone, part_of
from custext_sql.experiments.trials import Trial
from custext_sql.replacing.policy import Policy
from custext_sql.store.database import Database


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
    experiment, trials, setup = plan_experiment(**locals())  # takes what it needs of all arguments
    values = measure_utility(experiment, trials, progress=progress)
    shares = measure_in_clear(experiment, trials)
    results = [
        UtilityResult(
            mechanism=trial.mechanism,
            eps=trial.epsilon,
            k=trial.k,
            seed=trial.seed,
            metric=setup.metric,
            value=value,
            paper=find_paper_value(
                setup, trial.mechanism, trial.epsilon, embedding=trial.embedding, mapping=trial.mapping
            ),
            in_clear=share,
            embedding=trial.embedding,
            mapping=trial.mapping,
        )
        for trial, value, share in zip(trials, values, shares, strict=True)
    ]
    return UtilityEvaluation(setup, tuple(results))


def measure_utility(
    experiment: Experiment, trials: Sequence[Trial], *, progress: ShareDone | None = None
) -> list[float]:
    """Return the accuracy or correlation of each trial."""
    train_labels, test_labels = number_labels(experiment.task, experiment.train, experiment.test)
    values = []
    for number, trial in enumerate(trials):
        tell = part_of(progress, number, len(trials))
        tell(0.0)
        train, test = trial.sanitize([experiment.train.texts, experiment.test.texts])
        split = TrainTestSplit(train, train_labels, test, test_labels, experiment.task)
        values.append(_train_and_score(experiment, split, trial, tell))
    return values


def measure_in_clear(experiment: Experiment, trials: Sequence[Trial]) -> list[float]:
    """Return for each trial the share of the words of the test texts that stay in the clear.

    Utility without it makes a mechanism look too good. These are words that the policy and the mechanism keep:
    stopwords, unknown words, and those that SANTEXT+ does not replace. A word that draws itself is not among them. The
    share depends on neither eps nor the seed, except that SANTEXT+ chooses by chance; it is measured with the first
    seed.
    """

    @cache
    def measure(under_test: MappingUnderTest, mechanism: str) -> float:
        return under_test.open(mechanism).find_share_in_clear(experiment.tested, seed=0)

    return [measure(trial.under_test, trial.mechanism) for trial in trials]


def _train_and_score(experiment: Experiment, split: TrainTestSplit, trial: Trial, tell: ShareDone) -> float:
    if experiment.model == TFIDF:
        predictions = predict_by_tfidf(split, trial.seed)
    elif experiment.model == EMBEDDING:
        under_test = trial.under_test
        predictions = predict_by_vectors(split, trial.seed, under_test.vocabulary, under_test.space.points)
    else:
        from custext_sql.experiments.evaluation.fine_tuning import fine_tune  # needs PyTorch, an extra

        predictions = fine_tune(
            experiment.model,
            split.train,
            split.train_labels,
            split.test,
            task=cast(Literal["classification", "similarity"], split.task),
            seed=trial.seed,
            progress=tell,
            **experiment.options,
        )
    return score_predictions(split, predictions)
