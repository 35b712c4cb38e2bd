"""Tasks that models learn: classification and similarity, with labels as numbers, and how predictions are scored."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Floats
from custext_sql.errors import SettingError, SourceError
from custext_sql.experiments.evaluation.datasets import LabeledTexts
from custext_sql.experiments.trials import Rows
from custext_sql.parameters import count_of

TASKS = {"classification": "accuracy", "similarity": "pearson"}  # each task and its metric
_MANY = 10  # classes; more decimal numbers than this are taken for similarity scores

Labels = npt.NDArray[Any]


@dataclass(frozen=True)
class TrainTestSplit:
    """Training and test texts, sanitized by some mechanism, and their labels as numbers."""

    train: Rows
    train_labels: Labels
    test: Rows
    test_labels: Labels
    task: str


def number_labels(task: str, train: LabeledTexts, test: LabeledTexts) -> tuple[Labels, Labels]:
    """Return the labels of training and test rows as numbers: classes sorted by name, or similarity scores.

    SourceError if the labels do not suit the task.
    """
    if task == "similarity":
        return _read_degrees(train), _read_degrees(test)
    classes = sorted(set(train.labels))
    if len(classes) < 2:
        raise SourceError(f"{train.name}: expected at least two classes, found {len(classes)}")
    if len(classes) > _MANY and all(_is_decimal(label) for label in classes):
        raise SourceError(
            f"{train.name}: the labels are {len(classes):,} different decimal numbers; if they say how similar two "
            'texts are, use --task similarity (in Python: task="similarity")'
        )
    if unseen := set(test.labels) - set(classes):
        raise SourceError(
            f"{test.name}: expected only classes that occur in {train.name}, found {count_of(len(unseen), 'other')}"
        )
    number = {label: index for index, label in enumerate(classes)}
    return np.array([number[label] for label in train.labels]), np.array([number[label] for label in test.labels])


def score_predictions(split: TrainTestSplit, predictions: Labels) -> float:
    """Return the accuracy, or Pearson's correlation (0 if the predictions or the labels are all equal)."""
    if split.task == "classification":
        return float((predictions == split.test_labels).mean())
    if np.ptp(predictions) == 0.0 or np.ptp(split.test_labels) == 0.0:
        return 0.0
    return float(np.corrcoef(predictions, split.test_labels)[0, 1])


def check_task(task: str, texts_per_row: int) -> str:
    """Return the task; SettingError if it does not exist or does not suit the number of texts per row."""
    if task not in TASKS:
        raise SettingError(f"task must be one of {', '.join(TASKS)}; found {task!r}")
    if task == "similarity" and texts_per_row != 2:
        raise SettingError(
            'the task similarity compares two texts: name two columns, --text A --text B (in Python: text=["A", "B"])'
        )
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
                f"{part.name}, row {row + 1}: expected a finite number, since the task is similarity; for classes, use "
                '--task classification (in Python: task="classification")'
            )
    return degrees


def _is_decimal(label: str) -> bool:
    whole, point, part = label.partition(".")
    return bool(point) and whole.isdecimal() and part.isdecimal()
