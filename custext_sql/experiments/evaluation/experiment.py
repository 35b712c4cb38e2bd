"""An experiment: the data, task and model that all trials of a table share, as a caller asked for them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from custext_sql.errors import SettingError
from custext_sql.experiments.evaluation.datasets import LabeledTexts, read_labeled, read_sentence_polarity
from custext_sql.experiments.evaluation.linear_models import BUILT_IN, EMBEDDING
from custext_sql.experiments.evaluation.tasks import TASKS, check_task
from custext_sql.experiments.extras import check_installed
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.trials import Trial, list_epsilons, list_once, list_strings, list_trials
from custext_sql.mapping.recipe import Recipe
from custext_sql.parameters import check_at_least, find_closest
from custext_sql.release.inputs.texts import AnyPath, DataFiles, DataTable
from custext_sql.replacing.policy import Policy, name_policy
from custext_sql.store.database import Database

LabeledData = AnyPath | DataFiles | DataTable | LabeledTexts  # files, a table, or labeled texts
FINE_TUNING = ("length", "epochs", "batch_size", "learning_rate")


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
        check_task(self.task, len(self.train.texts[0]))
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
    if model in BUILT_IN:
        check_installed("sklearn", "scipy")
        return
    close = find_closest(model, BUILT_IN, cutoff=0.7)
    if close and not Path(model).exists():
        raise SettingError(f"model {model!r} does not exist; did you mean {close!r}?")
    check_installed("torch", "transformers")


def plan_experiment(
    database: Database,
    *,
    train: LabeledData | None,
    test: LabeledData | None,
    corpus: str | os.PathLike[str] | None,
    text: str | Sequence[str],
    label: str,
    limit: int | None,
    task: str,
    mechanisms: str | Sequence[str],
    eps: float | Sequence[float],
    mappings: str | Sequence[str],
    model: str | os.PathLike[str],
    seeds: int,
    policy: str | Policy,
    calibration: str,
    convert_eps: bool,
    **others: Any,
) -> tuple[Experiment, list[Trial], EvaluationSetup]:
    """Return an experiment, its trials and its setup, from the arguments of `evaluate_utility` or `evaluate_tradeoff`.

    others: those of fine-tuning, in FINE_TUNING, and those that do not concern an experiment.
    """
    check_model(os.fspath(model))  # before anything is read: a missing library is reported at once
    names: Sequence[str | None] = list_once(mappings, "mappings") or [None]
    under_test = [
        MappingUnderTest(database, mapping=name, policy=policy, calibration=calibration, converted=convert_eps)
        for name in names
    ]
    if limit is not None:
        check_at_least(limit, 1, "limit")
    parts = _read_data(train, test, corpus, list_strings(text, "text"), label)
    if limit is not None:
        parts = parts[0].take(limit), parts[1].take(limit)
    given = {name: others[name] for name in FINE_TUNING if others[name] is not None}
    experiment = Experiment(*parts, task=task, model=os.fspath(model), options=given)
    if experiment.model == EMBEDDING:
        _ = [one.space for one in under_test]  # an error about the vectors comes before hours of work
    trials = list_trials(under_test, list_once(mechanisms, "mechanisms"), list_epsilons(eps), seeds)
    setup = EvaluationSetup(
        dataset=f"{experiment.train.name}; {experiment.test.name}",
        metric=TASKS[task],
        model=experiment.model,
        train_rows=len(experiment.train.texts),
        test_rows=len(experiment.test.texts),
        mappings=tuple(one.mapping.info.name for one in under_test),
        calibration=calibration,
        policy=name_policy(under_test[0].policy),
        skipped={part.name: part.skipped for part in parts},
        recipes=tuple(one.mapping.info.recipe for one in under_test),
        words=tuple(one.mapping.info.words for one in under_test),
    )
    return experiment, trials, setup


def _read_data(
    train: LabeledData | None,
    test: LabeledData | None,
    corpus: str | os.PathLike[str] | None,
    text: Sequence[str],
    label: str,
) -> tuple[LabeledTexts, LabeledTexts]:
    if corpus is not None and train is None and test is None:
        return read_sentence_polarity(corpus)
    if corpus is not None or train is None or test is None:
        raise SettingError(
            "name the data: --train FILE and --test FILE, --data FILE with --train-table and --test-table, or --corpus "
            "sentence_polarity (in Python: train=... and test=..., or corpus=...)"
        )
    if not text and not (isinstance(train, LabeledTexts) and isinstance(test, LabeledTexts)):
        raise SettingError("name the column of the texts, or two for pairs: --text NAME (in Python: text=...)")
    first, second = (one if isinstance(one, LabeledTexts) else read_labeled(one, text, label) for one in (train, test))
    return first, second
