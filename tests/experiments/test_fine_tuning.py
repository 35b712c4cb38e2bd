"""Training a model on sanitized texts."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from custext_sql.errors import SettingError
from custext_sql.experiments.models import Labels, Rows, TrainTestSplit, fine_tune, shuffle_batches
from tests.tiny_bert import SCENES, save_model, torch, train_bert, train_roberta, write_sentences

pytestmark = [pytest.mark.slow, pytest.mark.models]

WORTH = {scene[0]: float(number) for number, scene in enumerate(SCENES)}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("bert"), *train_bert())


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("roberta"), *train_roberta())


def tune(
    model: str | Path, train: Rows, labels: Sequence[float] | Labels, test: Rows, *, task: str, **options: Any
) -> Labels:
    """Return the predictions of a model for test texts, after training on others and their labels."""
    return fine_tune(model, TrainTestSplit(train, np.asarray(labels), test, np.zeros(len(test)), task), **options)


def find_worth(sentence: str) -> float:
    """Return the number that belongs to the subject of a sentence."""
    return WORTH[sentence.split()[2]]


TRAIN, TEST = write_sentences(256, seed=11), write_sentences(100, seed=12)
KINDS = np.array([int(find_worth(text)) % 3 for text in TRAIN])
classify = partial(tune, task="classification", seed=1, epochs=4, batch_size=16, learning_rate=1e-3, length=32)


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_classes_are_learned(name: str, request: pytest.FixtureRequest) -> None:
    model: Path = request.getfixturevalue(name)
    found = classify(model, [(text,) for text in TRAIN], KINDS, [(text,) for text in TEST])
    assert found.dtype == np.int64
    assert np.mean(found == [int(find_worth(text)) % 3 for text in TEST]) > 0.9


def test_pairs_have_a_similarity(bert: Path) -> None:
    def score(pairs: list[tuple[str, str]]) -> list[float]:
        return [find_worth(first) / 2 - find_worth(second) / 4 for first, second in pairs]

    train = list(zip(write_sentences(512, seed=15), write_sentences(512, seed=13), strict=True))
    test = list(zip(TEST, write_sentences(100, seed=14), strict=True))
    found = tune(
        bert, train, score(train), test, task="similarity", seed=1, epochs=6, batch_size=16, learning_rate=2e-3
    )
    assert found.dtype == np.float64
    assert np.corrcoef(found, score(test))[0, 1] > 0.9
    firsts = [find_worth(first) / 2 for first, _ in test]
    assert np.corrcoef(found - firsts, np.subtract(score(test), firsts))[0, 1] > 0.8  # the second text counts too


def test_the_same_seed_gives_the_same_predictions(bert: Path) -> None:
    train, test = [(text,) for text in TRAIN[:64]], [(text,) for text in TEST]
    labels = [find_worth(*text) for text in train]
    predict = partial(tune, bert, train, labels, test, task="similarity", epochs=1, batch_size=16)
    before = torch.get_rng_state()
    first = predict(seed=1)
    torch.rand(5)
    assert predict(seed=1).tolist() == first.tolist()
    assert predict(seed=2).tolist() != first.tolist()
    torch.set_rng_state(before)
    predict(seed=1)
    assert torch.equal(torch.get_rng_state(), before)  # the global generator is unchanged


def test_predictions_are_in_the_order_of_the_texts(bert: Path) -> None:
    longer = [(" ".join([text] * (1 + number % 3)),) for number, text in enumerate(TEST)]
    train = [(text,) for text in TRAIN]
    found = classify(bert, train, KINDS, longer)
    assert classify(bert, train, KINDS, longer[::-1]).tolist() == found.tolist()[::-1]
    assert len(set(found.tolist())) == 3


def test_every_text_is_seen_once_per_epoch() -> None:
    lengths = np.random.default_rng(0).integers(1, 50, size=1000)
    batches = list(shuffle_batches(lengths, 8, 2, np.random.default_rng(1)))
    first, second = np.concatenate(batches[:125]), np.concatenate(batches[125:])
    assert sorted(first) == sorted(second) == list(range(1000))
    assert first.tolist() != second.tolist()
    assert np.mean([np.ptp(lengths[rows]) for rows in batches]) < 5  # about 38 in random batches


TEXT = [("a",), ("b",)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs. must be at least 1; found 0"),
        ({"batch_size": 0}, "batch_size. must be at least 1; found 0"),
        ({"learning_rate": -1.0}, "learning_rate. must be greater than 0 and finite; found -1"),
    ],
)
def test_invalid_arguments_are_errors(options: dict[str, float], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        tune("nowhere", TEXT, [0, 1], TEXT, task="classification", seed=0, **options)


def test_a_missing_model_is_an_error(tmp_path: Path, bert: Path) -> None:
    with pytest.raises(SettingError, match="cannot load the model .*; give the path of a pretrained model"):
        tune(tmp_path, TEXT, [0, 1], TEXT, task="classification", seed=0)
    with pytest.raises(SettingError, match="length must be 8 to 128 tokens"):
        tune(bert, TEXT, [0, 1], TEXT, task="classification", seed=0, length=500)
