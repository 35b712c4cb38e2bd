"""Tasks that models learn: classes or degrees of similarity, labels as numbers, and how predictions are scored."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Floats
from custext_sql.errors import SettingError, SourceError
from custext_sql.experiments.evaluation.datasets import LabeledTexts
from custext_sql.experiments.trials import Rows

TASKS = {"classification": "accuracy", "similarity": "pearson"}  # and what each is measured by
_MANY = 10  # classes: more decimal numbers than these are degrees

Labels = npt.NDArray[Any]


@dataclass(frozen=True)
class TrainTestSplit:
    """Texts to train on and to test on, as some mechanism rewrote them, and their labels as numbers."""

    train: Rows
    train_labels: Labels
    test: Rows
    test_labels: Labels
    task: str


def number_labels(task: str, train: LabeledTexts, test: LabeledTexts) -> tuple[Labels, Labels]:
    """Return labels as numbers: classes in the order of their names, or the degrees of similarity themselves."""
    if task == "similarity":
        return _read_degrees(train), _read_degrees(test)
    classes = sorted(set(train.labels))
    if len(classes) < 2:
        raise SourceError(f"{train.name}: expected at least two classes to tell apart, found {len(classes)}")
    if len(classes) > _MANY and all(_is_decimal(label) for label in classes):
        raise SourceError(
            f"{train.name}: its labels are {len(classes)} different decimal numbers; for degrees of similarity set the "
            "task to similarity (--task similarity)"
        )
    if unseen := set(test.labels) - set(classes):
        raise SourceError(f"{test.name}: {len(unseen)} of its labels do not occur in {train.name}")
    number = {label: index for index, label in enumerate(classes)}
    return np.array([number[label] for label in train.labels]), np.array([number[label] for label in test.labels])


def score_predictions(split: TrainTestSplit, predictions: Labels) -> float:
    """Return the accuracy, or Pearson's correlation (0 where the predictions are all the same)."""
    if split.task == "classification":
        return float((predictions == split.test_labels).mean())
    if np.ptp(predictions) == 0.0 or np.ptp(split.test_labels) == 0.0:
        return 0.0
    return float(np.corrcoef(predictions, split.test_labels)[0, 1])


def check_task(task: str, texts_per_row: int) -> str:
    """Return the task if rows are of its shape; SettingError if not."""
    if task not in TASKS:
        raise SettingError(f"task must be one of {', '.join(TASKS)}; found {task!r}")
    if task == "similarity" and texts_per_row != 2:
        raise SettingError("similarity is that of two texts: name two columns, --text A --text B")
    return task


def _read_degrees(part: LabeledTexts) -> Floats:
    degrees = np.empty(len(part.labels))
    for row, label in enumerate(part.labels):
        try:
            degrees[row] = float(label)
        except ValueError:
            degrees[row] = np.nan
        if not np.isfinite(degrees[row]):
            raise SourceError(
                f"{part.name}: similarity needs finite numbers as labels, found another in row {row + 1}; "
                "is the task classification?"
            )
    return degrees


def _is_decimal(label: str) -> bool:
    whole, point, part = label.partition(".")
    return bool(point) and whole.isdecimal() and part.isdecimal()
