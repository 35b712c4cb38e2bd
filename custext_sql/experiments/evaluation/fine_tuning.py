"""Fine-tuning: trains a pretrained model on some texts and predicts the labels of others."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from custext_sql.arrays import Floats, Numbers
from custext_sql.errors import SettingError
from custext_sql.experiments.extras import import_library
from custext_sql.experiments.pretrained_models import (
    Pretrained,
    choose_device,
    load_pretrained,
    pad_rows,
)
from custext_sql.parameters import check_at_least, check_limit, check_whole, count_of

Task = Literal["classification", "similarity"]
Texts = Sequence[tuple[str, ...]]
Values = Numbers | Floats

_ADVICE = "give the path of a pretrained model, such as a copy of bert-base-uncased"
_WARM_UP = 0.1  # the share of steps in which the learning rate grows
_WEIGHT_DECAY = 0.01  # BERT's, for matrices only
_LARGEST_GRADIENT = 1.0
_BATCHES_TOGETHER = 50  # texts are sorted by length within this many batches, to need little padding


@dataclass(frozen=True, eq=False)
class _Encoded:
    """Encoded texts: a list of numbers per text, under each name that the model takes. fillers: for padding."""

    columns: dict[str, list[list[int]]]
    fillers: dict[str, int]

    @property
    def lengths(self) -> Numbers:
        """The number of tokens of each text."""
        return np.array([len(row) for row in self.columns["input_ids"]], dtype=np.int64)

    def batch(self, rows: Numbers, device: Any) -> dict[str, Any]:
        """Return some texts as tensors, padded to the longest of them."""
        chosen = rows.tolist()
        return {
            name: pad_rows([column[row] for row in chosen], self.fillers.get(name, 0)).to(device)
            for name, column in self.columns.items()
        }


def fine_tune(
    model: str | os.PathLike[str],
    train_texts: Texts,
    train_labels: Sequence[float] | Values,
    test_texts: Texts,
    *,
    task: Task,
    seed: int,
    length: int | None = None,
    epochs: int = 3,
    batch_size: int = 64,
    learning_rate: float = 2e-5,
    progress: Callable[[float], None] | None = None,
) -> Values:
    """Train a model on texts and their labels, and return its predictions for other texts.

    model: a name or a folder. Texts are tuples of one string or two. task: "classification", where labels and
    predictions are whole numbers from 0, or "similarity", where they are floats. length: the largest number of tokens
    per text, or per pair. The defaults are the paper's: 128 tokens, or as many as the model takes. The same seed gives
    the same predictions on the same machine. progress: called with the share of steps done. SettingError if an
    argument is invalid.
    """
    labels = _check_labels(train_labels, task)
    _check_texts(train_texts, test_texts, labels)
    epochs, batch_size, seed = (
        check_at_least(epochs, 1, "epochs"),
        check_at_least(batch_size, 1, "batch_size"),
        check_whole(seed, "seed"),
    )
    check_limit(learning_rate, "--learning-rate", "learning_rate")
    torch, place = import_library("torch"), choose_device()
    outputs = int(labels.max()) + 1 if task == "classification" else 1
    with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []):
        torch.manual_seed(seed)
        pretrained = load_pretrained(
            model,
            "AutoModelForSequenceClassification",
            advice=_ADVICE,
            num_labels=outputs,
            ignore_mismatched_sizes=True,  # the head is trained from scratch
        )
        length = pretrained.check_length(length, 8)
        train, test = _encode(pretrained, train_texts, length), _encode(pretrained, test_texts, length)
        network = pretrained.model.to(place)
        batches = list(_shuffle_batches(train.lengths, batch_size, epochs, np.random.default_rng(seed)))
        _train(network, train, torch.from_numpy(labels).to(place), batches, learning_rate, place, progress)
        return _predict(network, test, task, batch_size, place)


def _train(
    network: Any,
    texts: _Encoded,
    labels: Any,
    batches: Sequence[Numbers],
    learning_rate: float,
    device: Any,
    progress: Callable[[float], None] | None,
) -> None:
    torch = import_library("torch")
    functional = torch.nn.functional
    decaying = [parameter for parameter in network.parameters() if parameter.ndim > 1]
    others = [parameter for parameter in network.parameters() if parameter.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decaying, "weight_decay": _WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}], lr=learning_rate
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _scale_rate(step, len(batches)))
    network.train()
    for done, rows in enumerate(batches, start=1):
        scores = network(**texts.batch(rows, device)).logits
        wanted = labels[torch.from_numpy(rows).to(device)]
        if wanted.is_floating_point():
            loss = functional.mse_loss(scores[:, 0], wanted.to(scores.dtype))
        else:
            loss = functional.cross_entropy(scores, wanted)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), _LARGEST_GRADIENT)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if progress is not None:
            progress(done / len(batches))
    network.eval()


def _predict(network: Any, texts: _Encoded, task: Task, batch_size: int, device: Any) -> Values:
    torch = import_library("torch")
    order = np.argsort(texts.lengths, kind="stable")
    found: Values = np.zeros(len(order), dtype=np.int64)
    if task == "similarity":
        found = np.zeros(len(order), dtype=np.float64)
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            scores = network(**texts.batch(rows, device)).logits
            answers = scores.argmax(dim=-1) if task == "classification" else scores[:, 0]
            found[rows] = answers.cpu().numpy()
    return found


def _scale_rate(step: int, steps: int) -> float:
    """Return the factor of the learning rate, which rises from 0 to 1 and falls to 0 again."""
    warm_up = math.ceil(_WARM_UP * steps)
    return step / warm_up if step < warm_up else (steps - step) / max(1, steps - warm_up)


def _shuffle_batches(lengths: Numbers, batch_size: int, epochs: int, random: np.random.Generator) -> Iterator[Numbers]:
    """Yield batches: every text once per epoch, in random order, with texts of similar length."""
    together = _BATCHES_TOGETHER * batch_size
    for _ in range(epochs):
        order = random.permutation(len(lengths))
        batches = []
        for start in range(0, len(order), together):
            rows = order[start : start + together]
            rows = rows[np.argsort(lengths[rows], kind="stable")]
            batches += [rows[first : first + batch_size] for first in range(0, len(rows), batch_size)]
        yield from (batches[number] for number in random.permutation(len(batches)))


def _encode(pretrained: Pretrained, texts: Texts, length: int) -> _Encoded:
    tokenizer = pretrained.tokenizer
    fillers = {"input_ids": tokenizer.pad_token_id or 0, "token_type_ids": tokenizer.pad_token_type_id}
    if not texts:
        return _Encoded({"input_ids": []}, fillers)
    pairs = [list(column) for column in zip(*texts, strict=True)]
    encoded = tokenizer(
        *pairs,
        truncation=True,
        max_length=length,
        padding=False,
        split_special_tokens=True,  # [SEP] in a text is just text
        return_attention_mask=True,
        verbose=False,
    )
    return _Encoded({name: encoded[name] for name in encoded}, fillers)


def _check_labels(labels: Sequence[float] | Values, task: str) -> Values:
    if task not in ("classification", "similarity"):
        raise SettingError(f"task must be classification or similarity; found {task!r}")
    numbers = np.asarray(labels)
    if numbers.ndim != 1 or numbers.dtype.kind not in "biuf" or not np.isfinite(numbers).all():
        raise SettingError("labels must be finite numbers, one per text")
    if task == "similarity":
        return numbers.astype(np.float64)
    whole = numbers.astype(np.int64)
    if (whole != numbers).any() or whole.min(initial=0) < 0 or whole.max(initial=0) < 1:
        raise SettingError("labels of classes must be whole numbers from 0, and there must be at least two classes")
    return whole


def _check_texts(train_texts: Texts, test_texts: Texts, labels: Values) -> None:
    if not len(train_texts) or len(train_texts) != len(labels):
        raise SettingError(
            f"expected training texts with one label each; found {count_of(len(train_texts), 'text')} and "
            f"{count_of(len(labels), 'label')}"
        )
    for name, texts in (("train_texts", train_texts), ("test_texts", test_texts)):
        for place, text in enumerate(texts):
            expected = len(train_texts[0])
            if (
                not isinstance(text, tuple)
                or len(text) != expected
                or expected not in (1, 2)
                or not all(isinstance(part, str) for part in text)
            ):
                raise SettingError(
                    f"{name} must be tuples of one string, or all tuples of two; found something else at index {place}"
                )
