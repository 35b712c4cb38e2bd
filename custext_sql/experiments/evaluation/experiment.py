"""An experiment: the data, task and model that all trials of a table share, as a caller asked for them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from custext_sql.errors import SettingError
from custext_sql.experiments.evaluation.datasets import LabeledTexts, read_labeled, read_sentence_polarity
from custext_sql.experiments.evaluation.models import BUILT_IN, EMBEDDING, TASKS
from custext_sql.experiments.extras import check_installed
from custext_sql.experiments.mechanisms import (
    MappingUnderTest,
    Trial,
    list_epsilons,
    list_once,
    list_strings,
    list_trials,
)
from custext_sql.files.inputs.texts import AnyPath, DataFiles, DataTable
from custext_sql.mapping.recipe import Recipe
from custext_sql.parameters import check_at_least, find_closest
from custext_sql.sanitizer.policy import Policy, name_policy
from custext_sql.store.database import Database

LabeledData = AnyPath | DataFiles | DataTable | LabeledTexts  # files, a table, or labeled texts
_FINE_TUNING = ("length", "epochs", "batch_size", "learning_rate")


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """What an evaluation can be told besides mechanisms and eps: the data, the task, the model, and how to sanitize."""

    # The path of a file, DataFiles, a DataTable, or LabeledTexts. In GLUE's TSV files, quotes are ordinary characters:
    # DataFiles("SST-2/train.tsv", quotes=False). Rows without a text or a label are skipped and counted.
    train: LabeledData | None = None
    test: LabeledData | None = None
    # instead of train and test: "sentence_polarity" (NLTK's corpus) or the path of its zip file
    corpus: str | os.PathLike[str] | None = None
    text: str | Sequence[str] = ()  # the column of the texts in files; two columns for pairs
    label: str = "label"  # the column of the labels
    limit: int | None = None  # the most training rows, and the most test rows, to use, spread evenly; None: all
    task: str = "classification"  # or "similarity" of two texts
    mappings: str | Sequence[str] = ()  # a name, or several; by default the database's default mapping
    # "tfidf" or "embedding" (need the extra `evaluation`), or the name or folder of a Hugging Face model to fine-tune
    # (needs the extra `models`)
    model: str | os.PathLike[str] = "tfidf"
    seeds: int = 3  # repetitions, at least 1
    policy: str | Policy = "paper"  # what to do with unknown words and numbers: "paper", "strict" or a Policy
    calibration: str = "paper"  # or "tight"
    convert_eps: bool = True  # divide eps by the largest distance of two words for santext(+) and fbdd, as in the paper
    # for fine-tuning only; by default as in the paper: 128, 3, 64 and 2e-5
    length: int | None = None  # tokens per text, at least 8
    epochs: int | None = None  # passes over the data
    batch_size: int | None = None  # texts per step
    learning_rate: float | None = None  # the step size


@dataclass(frozen=True)
class Experiment:
    """The data, task and model that all trials of a table share. options: of fine-tuning, if not the paper's."""

    train: LabeledTexts
    test: LabeledTexts
    task: str = "classification"
    model: str = "tfidf"
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count = len(self.train.texts[0])
        if self.task not in TASKS:
            raise SettingError(f"task must be one of {', '.join(TASKS)}; found {self.task!r}")
        if self.task == "similarity" and count != 2:
            raise SettingError(
                "the task similarity compares two texts: name two columns, --text A --text B (in Python: "
                'text=["A", "B"])'
            )
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
    """The setup of an evaluation."""

    dataset: str  # the names of the training and test data
    metric: str  # "accuracy" or "pearson" (Pearson's correlation)
    model: str  # "tfidf", "embedding", or the name or folder of the fine-tuned model
    train_rows: int
    test_rows: int
    mappings: tuple[str, ...]  # their names
    calibration: str  # how eps sets the temperature: "paper" or "tight"
    policy: str  # "paper" or "strict"; for any other Policy, how it differs from "strict"
    skipped: dict[str, int]  # by the name of the data, how many rows were skipped because they lack a text or a label
    recipes: tuple[Recipe, ...] = ()  # how each mapping is made
    words: tuple[int, ...] = ()  # how many words each mapping has


def check_model(model: str) -> None:
    """Check a model's name and that its libraries are installed. SettingError names the missing extra."""
    close = find_closest(model, BUILT_IN, cutoff=0.7)
    if close not in (None, model) and not Path(model).exists():
        raise SettingError(f"model {model!r} does not exist; did you mean {close!r}?")
    check_installed(*(("sklearn", "scipy") if model in BUILT_IN else ("torch", "transformers")))


def plan_experiment(
    database: Database, mechanisms: str | Sequence[str], eps: float | Sequence[float], settings: EvaluationSettings
) -> tuple[Experiment, list[Trial], EvaluationSetup]:
    """Return an experiment, its trials and its setup."""
    model = os.fspath(settings.model)
    check_model(model)  # before anything is read: a missing library is reported at once
    names: Sequence[str | None] = list_once(settings.mappings, "mappings") or [None]
    under_test = [
        MappingUnderTest(
            database,
            mapping=name,
            policy=settings.policy,
            calibration=settings.calibration,
            converted=settings.convert_eps,
        )
        for name in names
    ]
    train, test = _read_data(settings)
    given = {name: getattr(settings, name) for name in _FINE_TUNING}
    options = {name: value for name, value in given.items() if value is not None}
    experiment = Experiment(train, test, settings.task, model, options)
    if model == EMBEDDING:
        _ = [one.space for one in under_test]  # an error about the vectors comes before hours of work
    trials = list_trials(under_test, list_once(mechanisms, "mechanisms"), list_epsilons(eps), settings.seeds)
    infos = [one.mapping.info for one in under_test]
    setup = EvaluationSetup(
        dataset=f"{train.name}; {test.name}",
        metric=TASKS[experiment.task],
        model=model,
        train_rows=len(train.texts),
        test_rows=len(test.texts),
        mappings=tuple(info.name for info in infos),
        calibration=settings.calibration,
        policy=name_policy(under_test[0].policy),
        skipped={part.name: part.skipped for part in (train, test)},
        recipes=tuple(info.recipe for info in infos),
        words=tuple(info.words for info in infos),
    )
    return experiment, trials, setup


def _read_data(settings: EvaluationSettings) -> list[LabeledTexts]:
    """Return the training data and the test data."""
    if settings.limit is not None:
        check_at_least(settings.limit, 1, "limit")
    given, text = (settings.train, settings.test), list_strings(settings.text, "text")
    if sum(part is None for part in given) != (0 if settings.corpus is None else 2):
        raise SettingError(
            "name the data: --train FILE and --test FILE, --data FILE with --train-table and --test-table, or --corpus "
            "sentence_polarity (in Python: train=... and test=..., or corpus=...)"
        )
    found = [] if settings.corpus is None else [*read_sentence_polarity(settings.corpus)]
    for part in given:
        if isinstance(part, LabeledTexts):
            found.append(part)
        elif part is not None:
            if not text:
                raise SettingError("name the column of the texts, or two for pairs: --text NAME (in Python: text=...)")
            found.append(read_labeled(part, text, settings.label))
    return found if settings.limit is None else [part.take(settings.limit) for part in found]
