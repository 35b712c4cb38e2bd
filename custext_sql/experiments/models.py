"""Models that learn a task from texts: linear ones, and pretrained ones that are fine-tuned; and their scores."""

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Floats, Numbers, Points
from custext_sql.errors import SourceError
from custext_sql.experiments.extras import Pretrained, choose_device, import_library, load_pretrained
from custext_sql.experiments.mechanisms import ShareDone
from custext_sql.experiments.texts import LabeledTexts
from custext_sql.parameters import check_at_least, check_limit, count_of
from custext_sql.sanitizer.words import Vocabulary, find_words
from custext_sql.text.columns import open_column
from custext_sql.text.encoded_text import EncodedText

TASKS = {"classification": "accuracy", "similarity": "pearson"}  # each task and its metric
TFIDF, EMBEDDING = BUILT_IN = ("tfidf", "embedding")
_MANY = 10  # classes; more decimal numbers than this are taken for similarity scores
_ADVICE = "give the path of a pretrained model, such as a copy of bert-base-uncased"
_WARM_UP = 0.1  # the share of steps in which the learning rate grows
_WEIGHT_DECAY = 0.01  # BERT's, for matrices only
_LARGEST_GRADIENT = 1.0
_BATCHES_TOGETHER = 50  # texts are sorted by length within this many batches, to need little padding

Labels = npt.NDArray[Any]
Rows = Sequence[tuple[str, ...]]  # one or two texts per row


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
    if len(classes) > _MANY and all(re.fullmatch(r"\d+\.\d+", label) for label in classes):
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


def _read_degrees(part: LabeledTexts) -> Floats:
    degrees = np.empty(len(part.labels))
    for row, label in enumerate(part.labels):
        try:
            degrees[row] = float(label)
        except ValueError:
            degrees[row] = np.nan
    if not (finite := np.isfinite(degrees)).all():
        raise SourceError(
            f"{part.name}, row {finite.argmin() + 1}: expected a finite number, since the task is similarity; for "
            'classes, use --task classification (in Python: task="classification")'
        )
    return degrees


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
    return _fit_and_predict(split, vectorizer.transform, seed)


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

    return _fit_and_predict(split, average, seed)


def _fit_and_predict(split: TrainTestSplit, featurize: Callable[[Sequence[str]], Any], seed: int) -> Labels:
    linear, similar = import_library("sklearn.linear_model"), split.task == "similarity"
    known, new = (_join(rows, featurize, similar=similar) for rows in (split.train, split.test))
    model = linear.Ridge(random_state=seed) if similar else linear.LogisticRegression(random_state=seed, max_iter=1000)
    predictions: Labels = model.fit(known, split.train_labels).predict(new)
    return predictions


def _join(rows: Rows, featurize: Callable[[Sequence[str]], Any], *, similar: bool) -> Any:
    """Return the features of each row: for one text, its own; for a pair, those of both texts, their absolute
    difference, their product and their cosine.

    For similarity, only the last three: how similar two texts are does not depend on what they are about.
    """
    sparse, normalize = import_library("scipy.sparse"), import_library("sklearn.preprocessing").normalize
    sides = [sparse.csr_matrix(featurize(texts)) for texts in zip(*rows, strict=True)]
    if len(sides) == 1:
        return sides[0]
    first, second = sides
    cosine = sparse.csr_matrix(normalize(first).multiply(normalize(second)).sum(axis=1))
    compared = [abs(first - second), first.multiply(second), cosine]
    return sparse.hstack(compared if similar else [*sides, *compared]).tocsr()


def fine_tune(
    model: str | os.PathLike[str],
    split: TrainTestSplit,
    *,
    seed: int,
    length: int | None = None,
    epochs: int = 3,
    batch_size: int = 64,
    learning_rate: float = 2e-5,
    progress: ShareDone = lambda share: None,
) -> Labels:
    """Train a model on the training rows, and return its predictions for the test rows: classes, or scores.

    model: a name or a folder. length: the largest number of tokens per text, or per pair. The defaults are the paper's:
    128 tokens, or as many as the model takes. The same seed gives the same predictions on the same machine. progress:
    called with the share of steps done. SettingError if an argument is invalid.

    The loop is our own because `transformers.Trainer` needs one more library, accelerate, and seeds the whole process.
    """
    epochs, batch_size = check_at_least(epochs, 1, "epochs"), check_at_least(batch_size, 1, "batch_size")
    check_limit(learning_rate, "--learning-rate", "learning_rate")
    torch, transformers, place = import_library("torch"), import_library("transformers"), choose_device()
    similar = split.task == "similarity"
    with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []):
        torch.manual_seed(seed)
        pretrained = load_pretrained(
            model,
            "AutoModelForSequenceClassification",
            advice=_ADVICE,
            num_labels=1 if similar else int(split.train_labels.max()) + 1,
            problem_type="regression" if similar else "single_label_classification",
            ignore_mismatched_sizes=True,  # the head is trained from scratch
        )
        length, network = pretrained.check_length(length, 8), pretrained.model.to(place)
        train, test = (_encode(pretrained, rows, length) for rows in (split.train, split.test))
        labels = torch.tensor(split.train_labels, dtype=torch.float32 if similar else torch.int64, device=place)
        pad = transformers.DataCollatorWithPadding(pretrained.tokenizer)
        batches = list(shuffle_batches(_count_tokens(train), batch_size, epochs, np.random.default_rng(seed)))
        groups = [
            {"params": [one for one in network.parameters() if (one.ndim > 1) == decays], "weight_decay": decay}
            for decays, decay in ((True, _WEIGHT_DECAY), (False, 0.0))
        ]
        optimizer, warm_up = torch.optim.AdamW(groups, lr=learning_rate), math.ceil(_WARM_UP * len(batches))
        schedule = transformers.get_linear_schedule_with_warmup(optimizer, warm_up, len(batches))
        network.train()
        for done, rows in enumerate(batches, start=1):
            network(**pad([train[row] for row in rows]).to(place), labels=labels[rows]).loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), _LARGEST_GRADIENT)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            progress(done / len(batches))
        network.eval()
        order, found = np.argsort(_count_tokens(test), kind="stable"), np.zeros(len(test))
        with torch.inference_mode():
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                scores = network(**pad([test[row] for row in rows]).to(place)).logits
                found[rows] = (scores[:, 0] if similar else scores.argmax(dim=-1)).cpu().numpy()
    return found if similar else found.astype(np.int64)


def _encode(pretrained: Pretrained, rows: Rows, length: int) -> list[dict[str, list[int]]]:
    """Return what the model takes for each row, such as {"input_ids": [2, 8, 9, 3], "attention_mask": [1, 1, 1, 1]}."""
    encoded = pretrained.tokenizer(
        *(list(column) for column in zip(*rows, strict=True)),
        truncation=True,
        max_length=length,
        split_special_tokens=True,  # [SEP] in a text is just text
        verbose=False,
    )
    return [{name: column[row] for name, column in encoded.items()} for row in range(len(rows))]


def _count_tokens(encoded: Sequence[dict[str, list[int]]]) -> Numbers:
    return np.array([len(row["input_ids"]) for row in encoded], dtype=np.int64)


def shuffle_batches(lengths: Numbers, batch_size: int, epochs: int, random: np.random.Generator) -> Iterator[Numbers]:
    """Yield batches: every text once per epoch, in random order, with texts of similar length."""
    together = _BATCHES_TOGETHER * batch_size
    for _ in range(epochs):
        order, batches = random.permutation(len(lengths)), []
        for start in range(0, len(order), together):
            rows = order[start : start + together]
            rows = rows[np.argsort(lengths[rows], kind="stable")]
            batches += [rows[first : first + batch_size] for first in range(0, len(rows), batch_size)]
        yield from (batches[number] for number in random.permutation(len(batches)))
