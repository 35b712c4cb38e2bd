"""Values of the paper's Tables 1 and 2, to be shown beside ours, and how an evaluation differs from the paper's.

Huimin Chen, Fengran Mo, Yanhao Wang, Cen Chen, Jian-Yun Nie, Chengyu Wang and Jamie Cui, "A Customized Text
Sanitization Mechanism with Differential Privacy", Findings of ACL 2023, doi 10.18653/v1/2023.findings-acl.355.
"""

import math
import re
from dataclasses import dataclass

from custext_sql.experiments.evaluation.experiment import EvaluationSetup
from custext_sql.experiments.mechanisms import ORIGINAL, RANDOM

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
    used = zip(setup.mappings, setup.recipes, strict=True)
    for measure in (
        one.measure for name, one in used if mapping == name or (not mapping and embedding == one.embedding)
    ):
        values = dict(zip(_EPS, task.values.get((mechanism, measure), []), strict=False))
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
