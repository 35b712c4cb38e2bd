"""An experiment: the data, task and model that all trials of a table share, as a caller asked for them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from custext_sql.errors import SettingError
from custext_sql.experiments.evaluation.datasets import LabeledTexts, read_labeled, read_sentence_polarity
from custext_sql.experiments.evaluation.models import BUILT_IN, EMBEDDING, TASKS, check_task
from custext_sql.experiments.extras import check_installed
from custext_sql.experiments.mechanisms import (
    MappingUnderTest,
    Trial,
    list_epsilons,
    list_once,
    list_strings,
    list_trials,
)
from custext_sql.mapping.recipe import Recipe
from custext_sql.parameters import check_at_least, find_closest
from custext_sql.release.inputs.texts import AnyPath, DataFiles, DataTable
from custext_sql.sanitizer.policy import name_policy

LabeledData = AnyPath | DataFiles | DataTable | LabeledTexts  # files, a table, or labeled texts
_FINE_TUNING = ("length", "epochs", "batch_size", "learning_rate")


@dataclass(frozen=True)
class Experiment:
    """The data, task and model that all trials of a table share. options: of fine-tuning, if not the paper's."""

    train: LabeledTexts
    test: LabeledTexts
    task: str = "classification"
    model: str = "tfidf"
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_model(self.model)
        count = len(self.train.texts[0])
        check_task(self.task, count)
        if len(self.test.texts[0]) != count:
            raise SettingError(f"{self.test.name}: expected as many texts per row as in {self.train.name}, {count}")
        if self.options and self.model in BUILT_IN:
            names = ", ".join(self.options)
            raise SettingError(f"{names}: only for fine-tuning a Hugging Face model, not for the model {self.model}")

    @property
    def tested(self) -> list[str]:
        """All texts of the test rows."""
        return [text for row in self.test.texts for text in row]


@dataclass(frozen=True)
class EvaluationSetup:
    """The setup of an evaluation.

    dataset: the names of the training and test data. metric: "accuracy" or "pearson" (Pearson's correlation).
    model: "tfidf", "embedding", or the name or folder of the fine-tuned model.
    train_rows, test_rows: the numbers of rows. mappings: their names.
    calibration: how eps sets the temperature, "paper" or "tight".
    policy: "paper" or "strict"; for any other Policy, how it differs from "strict".
    recipes: how each mapping is made. words: how many words each has.
    skipped: by the name of the data, how many rows were skipped because they have no text or no label.
    """

    dataset: str
    metric: str
    model: str
    train_rows: int
    test_rows: int
    mappings: tuple[str, ...]
    calibration: str
    policy: str
    skipped: dict[str, int]
    recipes: tuple[Recipe, ...] = ()
    words: tuple[int, ...] = ()


def check_model(model: str) -> None:
    """Check a model's name and that its libraries are installed. SettingError names the missing extra."""
    close = find_closest(model, BUILT_IN, cutoff=0.7)
    if close not in (None, model) and not Path(model).exists():
        raise SettingError(f"model {model!r} does not exist; did you mean {close!r}?")
    check_installed(*(("sklearn", "scipy") if model in BUILT_IN else ("torch", "transformers")))


def plan_experiment(given: dict[str, Any]) -> tuple[Experiment, list[Trial], EvaluationSetup]:
    """Return an experiment, its trials and its setup, from the arguments of `evaluate_utility` or `evaluate_tradeoff`.

    given: all of these arguments, by name; those that do not concern an experiment are ignored.
    """
    model, calibration = os.fspath(given["model"]), given["calibration"]
    check_model(model)  # before anything is read: a missing library is reported at once
    settings = {"policy": given["policy"], "calibration": calibration, "converted": given["convert_eps"]}
    names: Sequence[str | None] = list_once(given["mappings"], "mappings") or [None]
    under_test = [MappingUnderTest(given["database"], mapping=name, **settings) for name in names]
    train, test = _read_data(given)
    options = {name: given[name] for name in _FINE_TUNING if given[name] is not None}
    experiment = Experiment(train, test, given["task"], model, options)
    if model == EMBEDDING:
        _ = [one.space for one in under_test]  # an error about the vectors comes before hours of work
    mechanisms, epsilons = list_once(given["mechanisms"], "mechanisms"), list_epsilons(given["eps"])
    trials = list_trials(under_test, mechanisms, epsilons, given["seeds"])
    infos = [one.mapping.info for one in under_test]
    setup = EvaluationSetup(
        dataset=f"{train.name}; {test.name}",
        metric=TASKS[experiment.task],
        model=model,
        train_rows=len(train.texts),
        test_rows=len(test.texts),
        mappings=tuple(info.name for info in infos),
        calibration=calibration,
        policy=name_policy(under_test[0].policy),
        skipped={part.name: part.skipped for part in (train, test)},
        recipes=tuple(info.recipe for info in infos),
        words=tuple(info.words for info in infos),
    )
    return experiment, trials, setup


def _read_data(given: dict[str, Any]) -> Sequence[LabeledTexts]:
    """Return the training data and the test data."""
    if (limit := given["limit"]) is not None:
        check_at_least(limit, 1, "limit")
    parts, corpus, text = (given["train"], given["test"]), given["corpus"], list_strings(given["text"], "text")
    if sum(part is None for part in parts) != (0 if corpus is None else 2):
        raise SettingError(
            "name the data: --train FILE and --test FILE, --data FILE with --train-table and --test-table, or --corpus "
            "sentence_polarity (in Python: train=... and test=..., or corpus=...)"
        )
    parts = parts if corpus is None else read_sentence_polarity(corpus)
    if not text and not all(isinstance(part, LabeledTexts) for part in parts):
        raise SettingError("name the column of the texts, or two for pairs: --text NAME (in Python: text=...)")
    found = [part if isinstance(part, LabeledTexts) else read_labeled(part, text, given["label"]) for part in parts]
    return found if limit is None else [part.take(limit) for part in found]
