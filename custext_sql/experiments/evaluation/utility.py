"""What sanitized text is still good for: train on it, test on it, cell by cell of the paper's Table 1."""

import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

from custext_sql.errors import SettingError
from custext_sql.experiments.evaluation.datasets import LabelledTexts
from custext_sql.experiments.evaluation.models import (
    BUILT_IN,
    TASKS,
    Trial,
    check_task,
    number_labels,
    predict_by_tfidf,
    predict_by_vectors,
    score_predictions,
)
from custext_sql.experiments.measurements import Measurement, ShareDone, Subject, digest_texts, obtain, write_settings
from custext_sql.experiments.pretrained import digest_model
from custext_sql.experiments.trials import Cell
from custext_sql.store.database import Database


@dataclass(frozen=True)
class Experiment:
    """Data, task and model: what all cells of a table share. options: of fine-tuning, if not the paper's."""

    train: LabelledTexts
    test: LabelledTexts
    task: str = "classification"
    model: str = "tfidf"
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        close = difflib.get_close_matches(self.model, BUILT_IN, n=1, cutoff=0.7)
        if self.model not in BUILT_IN and close and not Path(self.model).exists():
            raise SettingError(f"there is no model {self.model!r}; did you mean {close[0]!r}?")
        check_task(self.task, len(self.train.texts[0]))
        if self.options and self.model in BUILT_IN:
            names = ", ".join(self.options)
            raise SettingError(f"{names}: these are for fine-tuning a model of Hugging Face, not for {self.model}")

    @property
    def dataset(self) -> str:
        return f"{self.train.name}; {self.test.name}"

    @cached_property
    def tested(self) -> str:
        """A digest of the texts that are tested on, by which attacks on the same texts are found."""
        return digest_texts(text for row in self.test.texts for text in row)

    @cached_property
    def model_digest(self) -> str | None:
        """Of a model in a folder."""
        return None if self.model in BUILT_IN else digest_model(self.model)

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.train.digest} {self.test.digest}".encode()).hexdigest()


def measure_utility(
    database: Database,
    experiment: Experiment,
    cells: Sequence[Cell],
    *,
    progress: ShareDone | None = None,
) -> list[Measurement]:
    """Accuracy or correlation in each cell. A cell that was measured before is not measured again."""
    subjects = {describe_cell(experiment, cell): cell for cell in cells}
    train_labels, test_labels = number_labels(experiment.task, experiment.train, experiment.test)

    def measure(subject: Subject, tell: ShareDone) -> tuple[float, None]:
        cell = subjects[subject]
        train, test = cell.sanitize([experiment.train.texts, experiment.test.texts])
        trial = Trial(train, train_labels, test, test_labels, experiment.task)
        return _train_and_score(experiment, trial, cell, tell), None

    return obtain(database, list(subjects), measure, progress=progress, one_by_one=True)


def describe_cell(experiment: Experiment, cell: Cell) -> Subject:
    """What is measured in a cell of a table."""
    return replace(
        cell.describe("utility", TASKS[experiment.task]),
        dataset=experiment.dataset,
        digest=experiment.digest,
        settings=write_settings(
            task=experiment.task,
            model=experiment.model,
            tested=experiment.tested,
            **experiment.options,
            **({} if experiment.model_digest is None else {"model_digest": experiment.model_digest}),
            **cell.handling,
            **({"vectors": cell.arena.space_digest} if experiment.model == "embedding" else {}),
        ),
    )


def _train_and_score(experiment: Experiment, trial: Trial, cell: Cell, tell: ShareDone) -> float:
    if experiment.model == "tfidf":
        predictions = predict_by_tfidf(trial, cell.seed)
    elif experiment.model == "embedding":
        arena = cell.arena
        predictions = predict_by_vectors(trial, cell.seed, arena.vocabulary, arena.space.points)
    else:
        from custext_sql.experiments.evaluation.fine_tuning import fine_tune  # PyTorch: an extra

        predictions = fine_tune(
            experiment.model,
            trial.train,
            trial.train_labels,
            trial.test,
            task=cast(Literal["classification", "similarity"], trial.task),
            seed=cell.seed,
            progress=tell,
            **experiment.options,
        )
    return score_predictions(trial, predictions)
