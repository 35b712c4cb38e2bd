"""Models that learn labels from texts."""

from pathlib import Path

import numpy as np
import pytest

from custext_sql.errors import CusTextError
from custext_sql.experiments.evaluations import Experiment
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.models import (
    Labels,
    Rows,
    TrainTestSplit,
    number_labels,
    predict_by_tfidf,
    predict_by_vectors,
    score_predictions,
)
from custext_sql.experiments.texts import LabeledTexts

GOOD, BAD = ["great", "wonderful", "lovely", "excellent"], ["bad", "poor", "worst", "stupid"]


def make_sentences(count: int, seed: int) -> tuple[Rows, Labels]:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, size=count)
    rows = [
        (f"the {generator.choice(GOOD if label else BAD)} film number {number}",) for number, label in enumerate(labels)
    ]
    return rows, labels


def make_pairs(count: int, seed: int) -> tuple[Rows, Labels]:
    """Return pairs of three words each, some of them equal, and how similar they are."""
    generator = np.random.default_rng(seed)
    words = np.array([*GOOD, *BAD, "doctor", "nurse", "camera", "pizza", "river", "music"])
    rows, degrees = [], []
    for _ in range(count):
        first = generator.choice(words, 3, replace=False)
        same = int(generator.integers(0, 4))
        second = [*first[:same], *generator.choice(np.setdiff1d(words, first), 3 - same, replace=False)]
        rows.append((" ".join(first), " ".join(second)))
        degrees.append(float(same))
    return rows, np.array(degrees)


def test_tfidf_learns_classes() -> None:
    split = TrainTestSplit(*make_sentences(200, 0), *make_sentences(100, 1), "classification")
    assert score_predictions(split, predict_by_tfidf(split, 0)) > 0.95


def test_tfidf_learns_how_similar_texts_are() -> None:
    split = TrainTestSplit(*make_pairs(400, 0), *make_pairs(200, 1), "similarity")
    assert score_predictions(split, predict_by_tfidf(split, 0)) > 0.9


def test_vectors_generalize_to_unseen_words(few_db: Path) -> None:
    """TF-IDF cannot: the words of the test rows do not occur in the training rows."""
    under_test = MappingUnderTest(few_db)
    train = [(word,) for word in (*GOOD[:3], *BAD[:3])] * 5
    test = [(GOOD[3],), (BAD[3],)]
    split = TrainTestSplit(train, np.array([1, 1, 1, 0, 0, 0] * 5), test, np.array([1, 0]), "classification")
    assert predict_by_vectors(split, 0, under_test.vocabulary, under_test.space.points).tolist() == [1, 0]


def label(*labels: str) -> LabeledTexts:
    return LabeledTexts("some.tsv", [("text",)] * len(labels), labels)


def test_labels_become_numbers() -> None:
    train, test = number_labels("classification", label("no", "yes", "no"), label("yes"))
    assert (train.tolist(), test.tolist()) == ([0, 1, 0], [1])
    train, test = number_labels("similarity", label("1.5", "5"), label("0"))
    assert (train.tolist(), test.tolist()) == ([1.5, 5.0], [0.0])


def test_scores_are_accuracy_and_correlation() -> None:
    some = TrainTestSplit([], np.array([]), [], np.array([0, 1, 1, 0]), "classification")
    assert score_predictions(some, np.array([0, 1, 0, 0])) == 0.75
    degrees = TrainTestSplit([], np.array([]), [], np.array([1.0, 2.0, 3.0]), "similarity")
    assert score_predictions(degrees, np.array([2.0, 4.0, 6.0])) == pytest.approx(1.0)
    assert score_predictions(degrees, np.array([3.0, 2.0, 1.0])) == pytest.approx(-1.0)
    assert score_predictions(degrees, np.array([2.0, 2.0, 2.0])) == 0.0


@pytest.mark.parametrize(
    ("task", "train", "test", "message"),
    [
        ("classification", ["a", "a"], ["a"], "some.tsv: expected at least two classes"),
        (
            "classification",
            ["a", "b"],
            ["secret"],
            "some.tsv: expected only classes that occur in some.tsv, found 1 other",
        ),
        ("classification", [f"{number}.500" for number in range(11)], ["1.500"], "use --task similarity"),
        ("similarity", ["1", "secret"], ["2"], "some.tsv, row 2: expected a finite number"),
        ("similarity", ["1", "nan"], ["2"], "finite number"),
    ],
)
def test_bad_labels_are_refused(task: str, train: list[str], test: list[str], message: str) -> None:
    with pytest.raises(CusTextError, match=message) as caught:
        number_labels(task, label(*train), label(*test))
    assert "secret" not in str(caught.value)


def test_tasks_are_checked() -> None:
    with pytest.raises(CusTextError, match="task must be one of classification, similarity; found 'x'"):
        Experiment(label("a"), label("a"), task="x")
    with pytest.raises(CusTextError, match="pairs: expected as many texts per row as in some.tsv, 1"):
        Experiment(label("a"), LabeledTexts("pairs", [("one", "two")], ["1"]))
    with pytest.raises(CusTextError, match="--text A --text B"):
        Experiment(label("a"), label("a"), task="similarity")
    empty = TrainTestSplit([("",), ("",)], np.array([0, 1]), [("",)], np.array([0]), "classification")
    with pytest.raises(CusTextError, match="no words in the training rows"):
        predict_by_tfidf(empty, 0)
