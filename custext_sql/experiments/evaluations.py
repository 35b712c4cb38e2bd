"""Evaluations: the utility of sanitized texts (the paper's Table 1), and its trade-off with privacy (Figures 3, 4).

The paper's values are shown beside ours: Huimin Chen, Fengran Mo, Yanhao Wang, Cen Chen, Jian-Yun Nie, Chengyu Wang and
Jamie Cui, "A Customized Text Sanitization Mechanism with Differential Privacy", Findings of ACL 2023, doi
10.18653/v1/2023.findings-acl.355.
"""

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from custext_sql.errors import SettingError
from custext_sql.experiments.bayes_attack import measure_guess
from custext_sql.experiments.charts import Point, Series, embed_chart, shorten
from custext_sql.experiments.context_attack import ContextAttacker, read_public
from custext_sql.experiments.extras import check_installed
from custext_sql.experiments.mask_attack import attack_trial, choose_guesser, find_r_mask
from custext_sql.experiments.mechanisms import (
    ORIGINAL,
    RANDOM,
    MappingUnderTest,
    ShareDone,
    Trial,
    count_in_clear,
    list_epsilons,
    list_strings,
    list_trials,
    part_of,
)
from custext_sql.experiments.models import (
    BUILT_IN,
    EMBEDDING,
    TASKS,
    TFIDF,
    TrainTestSplit,
    fine_tune,
    number_labels,
    predict_by_tfidf,
    predict_by_vectors,
    score_predictions,
)
from custext_sql.experiments.texts import LabeledTexts, list_public, read_labeled, read_sentence_polarity
from custext_sql.files.inputs.texts import AnyPath, DataFiles, DataTable, Texts, name_texts
from custext_sql.html.escaped_pages import render_page
from custext_sql.kinds import Kind
from custext_sql.mapping.recipe import Recipe
from custext_sql.parameters import check_at_least, find_closest
from custext_sql.sanitizer.policy import Policy, name_policy
from custext_sql.store.database import Database
from custext_sql.store.outputs import publish_text
from custext_sql.text.columns import open_column

ATTACKS = ("bayes", "context", "mask")
LabeledData = AnyPath | DataFiles | DataTable | LabeledTexts  # files, a table, or labeled texts
_FINE_TUNING = ("length", "epochs", "batch_size", "learning_rate")

CITATION = "Chen et al., Findings of ACL 2023, Tables 1 and 2"
_K, _WORDS = 20, 65_713
_VECTORS = {"euclidean": "GloVe", "cosine": "Counter-Fitting"}
_EPS = (1.0, 2.0, 3.0, 8.0)  # of the columns below; those of `original` and `random` have no eps
_TABLE = """
SST-2   accuracy  bert-base-uncased  67000 1800
original                    0.9050
random                      0.5014
fbdd      euclidean         0.5022  0.5041  0.5032
santext   euclidean         0.5014  0.4827  0.5091
custext   euclidean         0.6985  0.7172  0.7029  0.8155
custext   cosine            0.7117  0.7370  0.7298  0.7957
santext+  euclidean         0.7211  0.7446  0.7260
custext+  euclidean         0.7501  0.7452  0.7683

MedSTS  pearson   ClinicalBERT       1642 412
original                    0.7598
random                      0.0382
fbdd      euclidean         0.0321  0.0368  0.0411
santext   euclidean         0.0850  0.1673  0.1124
custext   euclidean         0.4957  0.5112  0.5242
santext+  euclidean         0.4143  0.4271  0.5423
custext+  euclidean         0.6172  0.6316  0.6213

QNLI    accuracy  bert-base-uncased  105000 5200
original                    0.9096
random                      0.5037
fbdd      euclidean         0.5021  0.5152  0.5368
santext   euclidean         0.5304  0.5302  0.5357
custext   euclidean         0.6926  0.6884  0.7133
santext+  euclidean         0.7607  0.7636  0.7493
custext+  euclidean         0.7528  0.7602  0.7740
"""


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


@dataclass(frozen=True)
class UtilityResult:
    """The utility of the texts of one trial: a mechanism at an eps, with a seed."""

    mechanism: str
    eps: float | None  # the budget per word; None if the mechanism needs none
    k: int | None  # the group size K; None if the mechanism does not use groups
    seed: int  # of the draws and of the training
    metric: str  # "accuracy" or "pearson" (Pearson's correlation)
    value: float  # the accuracy, 0 to 1, or the correlation, -1 to 1, on the test rows
    paper: float | None  # the value in the paper for this task, mechanism, measure and eps; None if it has none
    in_clear: float  # the share of the words of the test texts that stay in the clear, 0 to 1
    embedding: str | None  # None for "original"
    mapping: str | None  # None if the mechanism does not use groups


@dataclass(frozen=True)
class UtilityEvaluation:
    """The paper's Table 1 for some data and a model."""

    setup: EvaluationSetup
    results: tuple[UtilityResult, ...]  # one per mechanism, mapping, eps and seed


def evaluate_utility(
    database: Database = None,
    *,
    mechanisms: str | Sequence[str] = ("original", "custext+", "custext", "santext+", "santext", "fbdd", "random"),
    eps: float | Sequence[float] = (0.0, 1.0, 2.0, 3.0),
    progress: ShareDone | None = None,
    **settings: Any,
) -> UtilityEvaluation:
    """Sanitize training and test data with each mechanism, then train and test a model (the paper's Table 1).

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    mechanisms: one or more of "custext", "custext+", "santext", "santext+", "fbdd", "random" and "original".
    eps: one budget per word or several: 0, or 0.001 to 100.
    progress: called with the share of the work done, 0 to 1.
    settings: the data, the task, the model and the rest, as in `EvaluationSettings`: train=..., test=..., text=...

    Returns a UtilityEvaluation. Draws come from seeds, and no sanitized text is written anywhere.

    SettingError if a setting is invalid; SourceError if the data cannot be read; MappingError if a mapping or the
    vectors that a mechanism needs do not exist.
    """
    experiment, trials, setup = plan_experiment(database, mechanisms, eps, EvaluationSettings(**settings))
    values = measure_utility(experiment, trials, progress=progress)
    results = []
    for trial, value, share in zip(trials, values, measure_in_clear(experiment, trials), strict=True):
        place = trial.describe()
        used = {name: place[name] for name in ("embedding", "mapping")}
        paper = find_paper_value(setup, trial.name, trial.epsilon, **used)
        more: dict[str, Any] = {
            "seed": trial.seed,
            "metric": setup.metric,
            "value": value,
            "paper": paper,
            "in_clear": share,
        }
        results.append(UtilityResult(**place, **more))
    return UtilityEvaluation(setup, tuple(results))


def measure_utility(
    experiment: Experiment, trials: Sequence[Trial], *, progress: ShareDone | None = None
) -> list[float]:
    """Return the accuracy or correlation of each trial."""
    parts = experiment.train, experiment.test
    labels = number_labels(experiment.task, *parts)
    texts, values = [text for part in parts for row in part.texts for text in row], []
    for number, trial in enumerate(trials):
        tell = part_of(progress, number, len(trials))
        tell(0.0)
        new = iter(trial.sanitize(texts))  # in one run: some mechanisms do much work per distinct word
        train, test = ([tuple(islice(new, len(row))) for row in part.texts] for part in parts)
        split = TrainTestSplit(train, labels[0], test, labels[1], experiment.task)
        if experiment.model == TFIDF:
            predictions = predict_by_tfidf(split, trial.seed)
        elif experiment.model == EMBEDDING:
            under_test = trial.under_test
            predictions = predict_by_vectors(split, trial.seed, under_test.vocabulary, under_test.space.points)
        else:
            predictions = fine_tune(experiment.model, split, seed=trial.seed, progress=tell, **experiment.options)
        values.append(score_predictions(split, predictions))
    return values


def measure_in_clear(experiment: Experiment, trials: Sequence[Trial]) -> list[float]:
    """Return for each trial the share of the words of the test texts that stay in the clear.

    Utility without it makes a mechanism look too good. These are words that the policy and the mechanism keep:
    stopwords, unknown words, and those that SANTEXT+ does not replace. A word that draws itself is not among them. The
    share depends on neither eps nor the seed, except that SANTEXT+ chooses by chance; it is measured with the first
    seed.
    """
    measure = cache(lambda under_test, name: Trial(under_test, name).find_share_in_clear(experiment.tested))
    return [measure(trial.under_test, trial.name) for trial in trials]


@dataclass(frozen=True)
class Figure:
    """A mean over seeds, in the unit of the measured values."""

    mean: float
    spread: float | None  # the standard deviation; None if there is only one value


@dataclass(frozen=True)
class TradeOff:
    """One point of a trade-off: how useful the texts of a mechanism are, and how often an attack on them succeeds."""

    mechanism: str
    embedding: str | None
    mapping: str | None  # None if the mechanism does not use groups
    k: int | None  # the group size K; None if the mechanism does not use groups
    eps: float | None  # the budget per word; None if the mechanism needs none
    metric: str  # "accuracy" or "pearson"
    utility: Figure  # on the test rows
    attack: str  # "bayes", "context" or "mask (MODEL)"
    success: Figure  # the share of all words guessed, 0 to 1; words in the clear count as guessed, except by "mask"


@dataclass(frozen=True)
class TradeOffEvaluation:
    """The paper's Figures 3 and 4 for some data, a model and an attack."""

    setup: EvaluationSetup
    attack: str  # "bayes", "context" or "mask (MODEL)"
    points: tuple[TradeOff, ...]  # one per mechanism, mapping and eps


def evaluate_tradeoff(
    database: Database = None,
    *,
    mechanisms: str | Sequence[str] = ("custext", "custext+"),
    eps: float | Sequence[float] = (0.0, 1.0, 2.0, 3.0, 5.0, 8.0),
    attack: str = "mask",
    attack_model: str | os.PathLike[str] = "ngram",
    public: Texts | None = None,
    public_column: str | None = None,
    progress: ShareDone | None = None,
    **settings: Any,
) -> TradeOffEvaluation:
    """Measure how useful sanitized texts are and how often an attack on them succeeds (the paper's Figures 3 and 4).

    attack: "mask" (mask token inference), "bayes" (the best single guess from the tables), or "context" (the best guess
        from the whole text, as in `attack_context`). The last two work only for the mechanisms custext and custext+.
    attack_model: for "mask", the name or folder of a masked language model of Hugging Face, or "ngram".
    public: the texts from which "context" and "ngram" learn: the path of a file, a DataTable, or a sequence of texts;
        by default the training texts. public_column: their column; None for lines of text and for a sequence.

    All other arguments, and the errors, are those of `evaluate_utility`, but the mechanism "original" cannot be
    attacked. SettingError also if the attack does not apply to a mechanism.

    Returns a TradeOffEvaluation.
    """
    if attack not in ATTACKS:
        raise SettingError(f"attack must be one of {', '.join(ATTACKS)}; found {attack!r}")
    experiment, trials, setup = plan_experiment(database, mechanisms, eps, EvaluationSettings(**settings))
    if any(trial.name == ORIGINAL for trial in trials):
        raise SettingError(
            "the mechanism original leaves all words in the clear, so there is nothing to attack; remove it from "
            "--mechanisms (in Python: mechanisms)"
        )
    if attack != "mask" and not all(trial.uses_groups for trial in trials):
        raise SettingError(
            f"the {attack} attack needs groups, which only custext and custext+ have; use --attack mask "
            '(in Python: attack="mask")'
        )
    guess, empty = _open_attack(attack, os.fspath(attack_model), experiment, public, public_column)
    if public is not None and attack != "bayes":
        setup = replace(setup, skipped=setup.skipped | {name_texts(public): empty})
    shown = f"mask ({os.fspath(attack_model)})" if attack == "mask" else attack
    values = measure_utility(experiment, trials, progress=part_of(progress, 0, 2))
    found: dict[tuple[tuple[str, Any], ...], list[tuple[float, float]]] = {}
    for number, (trial, utility) in enumerate(zip(trials, values, strict=True)):
        tell = part_of(part_of(progress, 1, 2), number, len(trials))
        success = guess(trial, tell)
        tell(1.0)
        found.setdefault(tuple(trial.describe().items()), []).append((utility, success))
    points = [
        TradeOff(
            **dict(place),
            metric=setup.metric,
            utility=summarize([utility for utility, _ in some]),
            attack=shown,
            # the best single guess depends on no seed
            success=summarize([success for _, success in some[: 1 if attack == "bayes" else None]]),
        )
        for place, some in found.items()
    ]
    return TradeOffEvaluation(setup, shown, tuple(points))


def summarize(values: Sequence[float]) -> Figure:
    """Return the mean and spread of values."""
    return Figure(fmean(values), stdev(values) if len(values) > 1 else None)


def _open_attack(
    attack: str, model: str, experiment: Experiment, public: Texts | None, column: str | None
) -> tuple[Callable[[Trial, ShareDone], float], int]:
    """Return a function that attacks the test texts in a trial and returns the share of all words guessed; and how many
    public texts are empty. By default, the attacker learns from the training texts.
    """
    texts, clear = experiment.tested, [text for row in experiment.train.texts for text in row]
    if attack == "bayes":
        return _open_single_guess(texts), 0
    if attack == "context":
        known = read_public(clear if public is None else public, column, texts)
        attacker = ContextAttacker(texts, known, experiment.test.name)

        def guess(trial: Trial, tell: ShareDone) -> float:
            counts = attacker.attack(trial, tell)
            return (counts["guessed"] + counts["in_clear"]) / counts["words"]

        return guess, known.skipped
    learned, empty = (clear, 0) if public is None else list_public(public, column)
    open_guesser = choose_guesser(model, public=learned)
    return lambda trial, tell: find_r_mask(attack_trial(trial, texts, open_guesser, tell)), empty


def _open_single_guess(texts: Sequence[str]) -> Callable[[Trial, ShareDone], float]:
    """Return the best single guess from the tables as an attack, computed exactly.

    The attacker knows how frequent words are in these texts. Words in the clear count as guessed.
    """
    column = open_column(list(texts))[0]

    @cache
    def guess(trial: Trial) -> float:
        found, under_test = trial.find_words(column), trial.under_test
        words = max(len(found.kinds), 1)
        drawn = np.bincount(found.numbers[found.at(Kind.REPLACED)], minlength=under_test.vocabulary.size)
        assert trial.epsilon is not None
        in_clear = count_in_clear(found, under_test.policy) / words
        return in_clear + measure_guess(under_test, drawn / words, trial.epsilon)

    return lambda trial, tell: guess(replace(trial, seed=0))  # it depends on no seed


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
    names: Sequence[str | None] = [*dict.fromkeys(list_strings(settings.mappings, "mappings"))] or [None]
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
    chosen = [*dict.fromkeys(list_strings(mechanisms, "mechanisms"))]
    trials = list_trials(under_test, chosen, list_epsilons(eps), settings.seeds)
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


def write_tradeoff(evaluation: TradeOffEvaluation, html: str | os.PathLike[str], *, force: bool = False) -> None:
    """Draw the results of `evaluate_tradeoff` as curves on a self-contained page.

    html: where to write the page. force: whether to overwrite an existing file. OutputError if the page cannot be
    written or already exists.
    """
    publish_text(Path(html), render_tradeoff(evaluation), force=force)


def render_tradeoff(evaluation: TradeOffEvaluation) -> str:
    """Return the page: utility over 1 - attack success, with a curve per mechanism and mapping in the order of eps."""
    setup = evaluation.setup
    several = len({point.mapping or point.embedding for point in evaluation.points}) > 1
    curves: dict[str, list[Point]] = {}
    for point in evaluation.points:
        name = f"{point.mechanism}, {point.mapping or point.embedding}" if several else point.mechanism
        label = "" if point.eps is None else f"{point.eps:g}"
        shown = Point(1.0 - point.success.mean, point.utility.mean, point.utility.spread or 0.0, label)
        curves.setdefault(name, []).append(shown)
    caption = (
        f"{shorten(setup.dataset.rpartition('; ')[2])}: {setup.metric} ({setup.model}), attack: {evaluation.attack}"
    )
    chart = embed_chart(
        caption,
        [Series(name, points) for name, points in curves.items()],
        x_label="1 - attack success",
        y_label=setup.metric,
        y_limits=(-1.0, 1.0) if setup.metric == "pearson" else (0.0, 1.0),
    )
    title = f"{setup.metric.capitalize()} versus privacy"
    return render_page("tradeoff.html", title=title, note="", evaluation=evaluation, caption=caption, chart=chart)


@dataclass(frozen=True)
class _PaperTask:
    """A task of the paper. rows: of training and test data. values: by mechanism, with the measure if it has one."""

    name: str
    metric: str
    model: str
    rows: tuple[int, int]
    values: dict[tuple[str, ...], list[float]]


def _read_task(block: str) -> _PaperTask:
    (name, metric, model, train, test), *rows = (line.split() for line in block.strip().splitlines())
    values: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        names = tuple(cell for cell in row if not cell.startswith("0."))
        values[names] = [float(cell) for cell in row[len(names) :]]
    return _PaperTask(name, metric, model, (int(train), int(test)), values)


_TASKS = [_read_task(block) for block in _TABLE.split("\n\n")]


def find_paper_value(
    setup: EvaluationSetup, mechanism: str, epsilon: float | None, *, embedding: str | None, mapping: str | None
) -> float | None:
    """Return the paper's value for a mechanism at an eps, on the same task; None if the paper has none.

    The task is recognized by the names of files and folders: SST-2/train.tsv. The measure tells which vectors: the
    paper's Euclidean mappings are of GloVe, its cosine ones of counter-fitted vectors. embedding, mapping: the names of
    those that the mechanism uses, if any.
    """
    task = _find_task(setup)
    if task is None or mechanism in (ORIGINAL, RANDOM):
        return None if task is None else task.values[mechanism,][0]
    for name, recipe in zip(setup.mappings, setup.recipes, strict=True):
        if mapping == name or (not mapping and embedding == recipe.embedding):
            values = dict(zip(_EPS, task.values.get((mechanism, recipe.measure), []), strict=False))
            if epsilon in values:
                return values[epsilon]
    return None


def list_differences(setup: EvaluationSetup) -> list[str]:
    """Return what differs from the paper's evaluation: the model, the groups, the vectors, the vocabulary, the data."""
    task = _find_task(setup)
    assert task is not None
    differences = [] if task.model.lower() in setup.model.lower() else [f"model {setup.model} (paper: {task.model})"]
    groups = [f"{one.grouping}{', stopwords apart' * bool(one.stopword_language)}" for one in setup.recipes]
    vectors = " or ".join(dict.fromkeys(_VECTORS.get(one.measure, "GloVe") for one in setup.recipes))
    for name, ours, theirs in (
        ("K =", [str(one.k) for one in setup.recipes], str(_K)),
        ("groups", groups, "greedy"),
        ("vectors", [one.embedding for one in setup.recipes], vectors),
        ("words in the vocabulary:", [f"{words:,}" for words in setup.words], f"{_WORDS:,}"),
    ):
        if set(ours) != {theirs}:
            differences.append(f"{name} {', '.join(dict.fromkeys(ours))} (paper: {theirs})")
    rows = setup.train_rows, setup.test_rows
    if not all(math.isclose(here, there, rel_tol=0.02) for here, there in zip(rows, task.rows, strict=True)):
        theirs = " and ".join(f"{count:,}" if count % 100 else f"{count / 1000:g}k" for count in task.rows)
        differences.append(f"{rows[0]:,} and {rows[1]:,} rows (paper: {theirs})")
    for name, own in (("policy", setup.policy), ("calibration", setup.calibration)):
        differences += [] if own == "paper" else [f"{name} {own} (paper: paper)"]
    return differences


def _find_task(setup: EvaluationSetup) -> _PaperTask | None:
    for task in _TASKS:
        pattern = rf"(^|[^a-z0-9]){task.name.lower().replace('-', '[-_ ]?')}([^a-z0-9]|$)"
        if task.metric == setup.metric and re.search(pattern, setup.dataset.lower()):
            return task
    return None
