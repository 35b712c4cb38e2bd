"""The utility of sanitized text: trains and tests a model on the texts of each trial (the paper's Table 1)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from custext_sql.experiments.evaluation.experiment import EvaluationSetup, Experiment, LabeledData, plan_experiment
from custext_sql.experiments.evaluation.linear_models import EMBEDDING, TFIDF, predict_by_tfidf, predict_by_vectors
from custext_sql.experiments.evaluation.paper_table import find_paper_value
from custext_sql.experiments.evaluation.tasks import TASKS, TrainTestSplit, number_labels, score_predictions
from custext_sql.experiments.evaluation.words_in_clear import measure_in_clear
from custext_sql.experiments.measurements import Measurement, ShareDone, Subject, measure_or_reuse, write_settings
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
    measurement_id, in_clear_id: the rows of the table `measurements` that hold the value and the share in the clear.
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
    measurement_id: str
    in_clear_id: str


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

    Returns a UtilityEvaluation. Each result is saved in the table `measurements` as soon as it is known, and reused.
    Draws come from seeds, and no sanitized text is written anywhere.

    SettingError if a setting is invalid; SourceError if the data cannot be read; MappingError if a mapping or the
    vectors that a mechanism needs do not exist.
    """
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
    measured = measure_utility(database, planned.experiment, planned.trials, progress=progress)
    in_clear = measure_in_clear(database, planned.experiment, planned.trials)
    results = [_as_utility_result(planned.setup, *found) for found in zip(measured, in_clear, strict=True)]
    return UtilityEvaluation(planned.setup, tuple(results))


def measure_utility(
    database: Database, experiment: Experiment, trials: Sequence[Trial], *, progress: ShareDone | None = None
) -> list[Measurement]:
    """Return the accuracy or correlation of each trial, measured now or saved before."""
    subjects = {describe_trial(experiment, trial): trial for trial in trials}
    train_labels, test_labels = number_labels(experiment.task, experiment.train, experiment.test)

    def measure(subject: Subject, tell: ShareDone) -> tuple[float, None]:
        trial = subjects[subject]
        train, test = trial.sanitize([experiment.train.texts, experiment.test.texts])
        split = TrainTestSplit(train, train_labels, test, test_labels, experiment.task)
        return _train_and_score(experiment, split, trial, tell), None

    return measure_or_reuse(database, list(subjects), measure, progress=progress, one_by_one=True)


def describe_trial(experiment: Experiment, trial: Trial) -> Subject:
    """Return the subject of a trial of an experiment."""
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


def _as_utility_result(setup: EvaluationSetup, measurement: Measurement, in_clear: Measurement) -> UtilityResult:
    subject = measurement.subject
    assert subject.mechanism is not None and subject.seed is not None
    assert measurement.value is not None and in_clear.value is not None
    return UtilityResult(
        mechanism=subject.mechanism,
        eps=subject.eps,
        k=subject.k,
        seed=subject.seed,
        metric=subject.metric,
        value=measurement.value,
        paper=find_paper_value(
            setup, subject.mechanism, subject.eps, embedding=subject.embedding, mapping=subject.mapping
        ),
        in_clear=in_clear.value,
        embedding=subject.embedding,
        mapping=subject.mapping,
        measurement_id=measurement.measurement_id,
        in_clear_id=in_clear.measurement_id,
    )
