"""What sanitized text is still good for: train on it, test on it, trial by trial of the paper's Table 1."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from custext_sql.experiments.evaluation.experiment import EvaluationSetup, Experiment, LabeledData, plan_experiment
from custext_sql.experiments.evaluation.linear_models import EMBEDDING, TFIDF, predict_by_tfidf, predict_by_vectors
from custext_sql.experiments.evaluation.tasks import TASKS, TrainTestSplit, number_labels, score_predictions
from custext_sql.experiments.measurements import Measurement, ShareDone, Subject, measure_or_reuse, write_settings
from custext_sql.experiments.trials import Trial
from custext_sql.replacing.policy import Policy
from custext_sql.store.database import Database


@dataclass(frozen=True)
class UtilityResult:
    """How useful the texts of one trial are: a mechanism at an eps (None: it needs none) with a seed.

    value: the accuracy, or Pearson's correlation. k, mapping: of a mechanism that draws within groups.
    """

    mechanism: str
    eps: float | None
    k: int | None
    seed: int
    metric: str
    value: float
    embedding: str | None
    mapping: str | None
    measurement_id: str


@dataclass(frozen=True)
class UtilityEvaluation:
    """The paper's Table 1 for some data and a model. results: one per mechanism, mapping, eps and seed."""

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
    task: str = "classification",
    mechanisms: str | Sequence[str] = ("original", "custext+", "custext", "santext+", "santext", "fbdd", "random"),
    eps: float | Sequence[float] = (1.0, 2.0, 3.0),
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
    """Sanitize training and test data by each mechanism, train a model, and test it (the paper's Table 1).

    train, test: a path, or `LabeledTexts`; of files, text names the column of the texts (two for pairs) and label that
    of the labels. corpus: instead of both, "sentence_polarity" of NLTK or the path of its zip file. task:
    "classification", or "similarity" of two texts. mechanisms: some of custext, custext+, santext, santext+, fbdd,
    random, original. eps: one or several, 0.001 to 100. mappings: names; the database's default unless given. model:
    "tfidf", "embedding", or a name or folder of Hugging Face to fine-tune, with length (tokens of a text), epochs,
    batch_size and learning_rate, the paper's unless given. seeds: repetitions, 1 or more. policy: what becomes of words
    outside the vocabulary and of numbers. calibration: "paper" or "tight". convert_eps: divide eps by the largest
    distance between two words for santext, santext+ and fbdd, as the paper does. progress: called with the share done.

    Each result is saved in the table `measurements` as soon as it is there, and reused. Draws come from seeds, and no
    sanitized text is written anywhere. SettingError if a setting is out of range, SourceError if data cannot be read.
    """
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
    measured = measure_utility(database, planned.experiment, planned.trials, progress=progress)
    return UtilityEvaluation(planned.setup, tuple(map(_as_utility_result, measured)))


def measure_utility(
    database: Database, experiment: Experiment, trials: Sequence[Trial], *, progress: ShareDone | None = None
) -> list[Measurement]:
    """Return the accuracy or correlation of each trial, measured now or before."""
    subjects = {describe_trial(experiment, trial): trial for trial in trials}
    train_labels, test_labels = number_labels(experiment.task, experiment.train, experiment.test)

    def measure(subject: Subject, tell: ShareDone) -> tuple[float, None]:
        trial = subjects[subject]
        train, test = trial.sanitize([experiment.train.texts, experiment.test.texts])
        split = TrainTestSplit(train, train_labels, test, test_labels, experiment.task)
        return _train_and_score(experiment, split, trial, tell), None

    return measure_or_reuse(database, list(subjects), measure, progress=progress, one_by_one=True)


def describe_trial(experiment: Experiment, trial: Trial) -> Subject:
    """Return what is measured in a trial of an experiment."""
    return replace(
        trial.describe("utility", TASKS[experiment.task]),
        dataset=experiment.dataset,
        digest=experiment.digest,
        settings=write_settings(
            task=experiment.task,
            model=experiment.model,
            tested=experiment.test_digest,
            **experiment.options,
            **({} if experiment.model_digest is None else {"model_digest": experiment.model_digest}),
            **trial.handling,
            **({"vectors": trial.under_test.space_digest} if experiment.model == EMBEDDING else {}),
        ),
    )


def _train_and_score(experiment: Experiment, split: TrainTestSplit, trial: Trial, tell: ShareDone) -> float:
    if experiment.model == TFIDF:
        predictions = predict_by_tfidf(split, trial.seed)
    elif experiment.model == EMBEDDING:
        under_test = trial.under_test
        predictions = predict_by_vectors(split, trial.seed, under_test.vocabulary, under_test.space.points)
    else:
        from custext_sql.experiments.evaluation.fine_tuning import fine_tune  # PyTorch: an extra

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


def _as_utility_result(measurement: Measurement) -> UtilityResult:
    subject = measurement.subject
    assert subject.mechanism is not None and subject.seed is not None and measurement.value is not None
    return UtilityResult(
        mechanism=subject.mechanism,
        eps=subject.eps,
        k=subject.k,
        seed=subject.seed,
        metric=subject.metric,
        value=measurement.value,
        embedding=subject.embedding,
        mapping=subject.mapping,
        measurement_id=measurement.measurement_id,
    )
