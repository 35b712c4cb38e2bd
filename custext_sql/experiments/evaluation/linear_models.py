"""Linear models on TF-IDF or on mean word vectors: trained on the training rows, asked about the test rows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from custext_sql.arrays import Floats, Points
from custext_sql.errors import SourceError
from custext_sql.experiments.evaluation.tasks import Labels, TrainTestSplit
from custext_sql.experiments.extras import import_library
from custext_sql.experiments.trials import Rows
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.replacing.words import find_words
from custext_sql.text.columns import open_column
from custext_sql.text.encoded_text import EncodedText

TFIDF, EMBEDDING = "tfidf", "embedding"
BUILT_IN = (TFIDF, EMBEDDING)


def predict_by_tfidf(split: TrainTestSplit, seed: int) -> Labels:
    """Return the labels that a linear model on the TF-IDF of single words predicts for the test rows.

    SourceError if the training rows contain no words.
    """
    features = import_library("sklearn.feature_extraction.text")
    vectorizer = features.TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    try:
        vectorizer.fit([text for row in split.train for text in row])
    except ValueError:
        raise SourceError("there are no words in the training rows") from None
    return _predict(split, vectorizer.transform, seed)


def predict_by_vectors(split: TrainTestSplit, seed: int, vocabulary: Vocabulary, points: Points) -> Labels:
    """Return the labels that a linear model on the mean vector of each text's words predicts for the test rows."""
    sparse = import_library("scipy.sparse")

    def average(texts: Sequence[str]) -> Floats:
        column = open_column(list(texts))[0]
        found = find_words(EncodedText(column.text), column.offsets, vocabulary, plus=False)
        places = ((found.numbers >= 0) & (found.numbers < len(points))).nonzero()[0]  # those that have a vector
        rows, words = found.rows[places], found.numbers[places]
        counts = sparse.csr_matrix((np.ones(len(rows)), (rows, words)), shape=(len(column), len(points)))
        means: Floats = (counts @ points.astype(np.float64)) / np.maximum(np.asarray(counts.sum(axis=1)), 1.0)
        return means

    return _predict(split, average, seed)


def _predict(split: TrainTestSplit, featurize: Callable[[Sequence[str]], Any], seed: int) -> Labels:
    linear = import_library("sklearn.linear_model")
    known, new = _join(split.train, featurize, split.task), _join(split.test, featurize, split.task)
    if split.task == "similarity":
        model = linear.Ridge(random_state=seed)
    else:
        model = linear.LogisticRegression(max_iter=1000, random_state=seed)
    model.fit(known, split.train_labels)
    predictions: Labels = model.predict(new)
    return predictions


def _join(rows: Rows, featurize: Callable[[Sequence[str]], Any], task: str) -> Any:
    """Return the features of each row: for one text, its own; for a pair, those of both texts, their absolute
    difference, their product and their cosine.

    For similarity, only the last three: how similar two texts are does not depend on what they are about.
    """
    sparse, normalize = import_library("scipy.sparse"), import_library("sklearn.preprocessing").normalize
    sides = [sparse.csr_matrix(featurize([row[side] for row in rows])) for side in range(len(rows[0]))]
    if len(sides) == 1:
        return sides[0]
    first, second = sides
    cosine = sparse.csr_matrix(normalize(first).multiply(normalize(second)).sum(axis=1))
    compared = [abs(first - second), first.multiply(second), cosine]
    return sparse.hstack(compared if task == "similarity" else [first, second, *compared]).tocsr()
