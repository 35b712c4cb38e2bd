"""Linear models on TF-IDF or on mean vectors, trained on some texts and asked about others."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from custext_sql.arrays import Floats, Points
from custext_sql.errors import SourceError
from custext_sql.experiments.evaluation.tasks import Labels, TrainTestSplit
from custext_sql.experiments.trials import Rows
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.replacing.words import find_words
from custext_sql.text.columns import open_column
from custext_sql.text.encoded_text import EncodedText

TFIDF, EMBEDDING = "tfidf", "embedding"
BUILT_IN = (TFIDF, EMBEDDING)


def predict_by_tfidf(split: TrainTestSplit, seed: int) -> Labels:
    """Return what a linear model on the TF-IDF of single words predicts for the test texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    try:
        vectorizer.fit([text for row in split.train for text in row])
    except ValueError:
        raise SourceError("there are no words in the training data") from None
    return _predict(split, vectorizer.transform, seed)


def predict_by_vectors(split: TrainTestSplit, seed: int, vocabulary: Vocabulary, points: Points) -> Labels:
    """Return what a linear model on the mean vector of a text's words predicts for the test texts."""

    def average(texts: Sequence[str]) -> Floats:
        from scipy.sparse import csr_matrix

        column = open_column(list(texts))[0]
        found = find_words(EncodedText(column.text), column.offsets, vocabulary, plus=False)
        places = found.at(Kind.SAMPLED)
        rows, words = found.rows[places], found.numbers[places]
        counts = csr_matrix((np.ones(len(rows)), (rows, words)), shape=(len(column), len(points)))
        means: Floats = (counts @ points.astype(np.float64)) / np.maximum(np.asarray(counts.sum(axis=1)), 1.0)
        return means

    return _predict(split, average, seed)


def _predict(split: TrainTestSplit, featurize: Callable[[Sequence[str]], Any], seed: int) -> Labels:
    from sklearn.linear_model import LogisticRegression, Ridge

    known, new = _join(split.train, featurize, split.task), _join(split.test, featurize, split.task)
    if split.task == "similarity":
        model: Any = Ridge(random_state=seed)
    else:
        model = LogisticRegression(max_iter=1000, random_state=seed)
    model.fit(known, split.train_labels)
    predictions: Labels = model.predict(new)
    return predictions


def _join(rows: Rows, featurize: Callable[[Sequence[str]], Any], task: str) -> Any:
    """Return the features of rows: those of a text; of a pair those of both, their difference, product and cosine.

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
