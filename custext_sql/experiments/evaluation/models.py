"""Models that learn from texts what their labels are: TF-IDF, averaged vectors, and those of Hugging Face."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Floats, Points
from custext_sql.errors import SettingError, SourceError
from custext_sql.experiments.evaluation.datasets import LabelledTexts
from custext_sql.experiments.trials import Rows
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.replacing.words import find_words
from custext_sql.text.columns import open_column
from custext_sql.text.encoded_text import EncodedText

TASKS = {"classification": "accuracy", "similarity": "pearson"}  # and what each is measured by
_MANY = 10  # classes: more decimal numbers than these are degrees
BUILT_IN = ("tfidf", "embedding")

Labels = npt.NDArray[Any]


@dataclass(frozen=True)
class Trial:
    """One training and one test: texts as some mechanism made them, and what they should be recognized as."""

    train: Rows
    train_labels: Labels
    test: Rows
    test_labels: Labels
    task: str


def number_labels(task: str, train: LabelledTexts, test: LabelledTexts) -> tuple[Labels, Labels]:
    """Labels as numbers: classes in the order of their names, or the degrees of similarity themselves."""
    if task == "similarity":
        return _read_degrees(train), _read_degrees(test)
    classes = sorted(set(train.labels))
    if len(classes) < 2:
        raise SourceError(f"{train.name}: expected at least two classes to tell apart, found {len(classes)}")
    if len(classes) > _MANY and all(_is_decimal(label) for label in classes):
        raise SourceError(
            f"{train.name}: its labels are {len(classes)} different decimal numbers; for degrees of similarity use: "
            "--task similarity"
        )
    if unseen := set(test.labels) - set(classes):
        raise SourceError(f"{test.name}: {len(unseen)} of its labels do not occur in {train.name}")
    number = {label: index for index, label in enumerate(classes)}
    return np.array([number[label] for label in train.labels]), np.array([number[label] for label in test.labels])


def _is_decimal(label: str) -> bool:
    whole, point, part = label.partition(".")
    return bool(point) and whole.isdecimal() and part.isdecimal()


def score_predictions(trial: Trial, predictions: Labels) -> float:
    """Accuracy, or Pearson's correlation (0 where the predictions are all the same)."""
    if trial.task == "classification":
        return float((predictions == trial.test_labels).mean())
    if np.ptp(predictions) == 0.0 or np.ptp(trial.test_labels) == 0.0:
        return 0.0
    return float(np.corrcoef(predictions, trial.test_labels)[0, 1])


def predict_by_tfidf(trial: Trial, seed: int) -> Labels:
    """TF-IDF of single words; a linear model on it."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    try:
        vectorizer.fit([text for row in trial.train for text in row])
    except ValueError:
        raise SourceError("there are no words in the training data") from None
    return _predict(trial, vectorizer.transform, seed)


def predict_by_vectors(trial: Trial, seed: int, vocabulary: Vocabulary, points: Points) -> Labels:
    """The mean vector of a text's words; a linear model on it."""

    def average(texts: Sequence[str]) -> Floats:
        from scipy.sparse import csr_matrix

        column = open_column(list(texts))[0]
        found = find_words(EncodedText(column.text), column.offsets, vocabulary, plus=False)
        places = found.at(Kind.SAMPLED)
        rows, words = found.rows[places], found.numbers[places]
        counts = csr_matrix((np.ones(len(rows)), (rows, words)), shape=(len(column), len(points)))
        means: Floats = (counts @ points.astype(np.float64)) / np.maximum(np.asarray(counts.sum(axis=1)), 1.0)
        return means

    return _predict(trial, average, seed)


def _predict(trial: Trial, featurize: Callable[[Sequence[str]], Any], seed: int) -> Labels:
    from sklearn.linear_model import LogisticRegression, Ridge

    known, new = _join(trial.train, featurize, trial.task), _join(trial.test, featurize, trial.task)
    if trial.task == "similarity":
        model: Any = Ridge(random_state=seed)
    else:
        model = LogisticRegression(max_iter=1000, random_state=seed)
    model.fit(known, trial.train_labels)
    predictions: Labels = model.predict(new)
    return predictions


def _join(rows: Rows, featurize: Callable[[Sequence[str]], Any], task: str) -> Any:
    """Features of a row: those of its text; of a pair those of both, their difference, their product and their cosine.

    How alike two texts are does not depend on what they are about: so for similarity only the last three.
    """
    from scipy.sparse import csr_matrix, hstack
    from sklearn.preprocessing import normalize

    sides = [csr_matrix(featurize([row[side] for row in rows])) for side in range(len(rows[0]))]
    if len(sides) == 1:
        return sides[0]
    first, second = sides
    cosine = csr_matrix(normalize(first).multiply(normalize(second)).sum(axis=1))
    compared = [abs(first - second), first.multiply(second), cosine]
    return hstack(compared if task == "similarity" else [first, second, *compared]).tocsr()


def _read_degrees(part: LabelledTexts) -> Floats:
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


def check_task(task: str, texts_a_row: int) -> str:
    """The task, if rows are of its shape."""
    if task not in TASKS:
        raise SettingError(f"task must be one of {', '.join(TASKS)}; found {task!r}")
    if task == "similarity" and texts_a_row != 2:
        raise SettingError("similarity is that of two texts: name two columns, --text A --text B")
    return task
