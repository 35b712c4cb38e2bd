"""Values of the paper's Table 1, to be shown beside ours, and how an evaluation differs from the paper's.

The table: Huimin Chen, Fengran Mo, Yanhao Wang, Cen Chen, Jian-Yun Nie, Chengyu Wang and Jamie Cui, "A Customized Text
Sanitization Mechanism with Differential Privacy", Findings of ACL 2023, doi 10.18653/v1/2023.findings-acl.355. It has
more cells than these: FBDD, SANTEXT and SANTEXT+, MedSTS and QNLI, which could not be checked. Two independent records
agree on the original text and on CusText at eps = 1; the other values are in one of them.
"""

import re

from custext_sql.experiments.evaluation.experiment import EvaluationSetup
from custext_sql.experiments.mechanisms import CUSTEXT, CUSTEXT_PLUS, ORIGINAL

CITATION = "Chen et al., Findings of ACL 2023, Table 1"
_MODEL, _K = "bert-base-uncased", 20
_POLICY = _CALIBRATION = "paper"
_SST2_ROWS = (67_349, 872)  # of GLUE's train.tsv and dev.tsv
_SST2: dict[tuple[str, float | None], float] = {
    (ORIGINAL, None): 0.9050,
    (CUSTEXT_PLUS, 1.0): 0.75,  # known to two digits only
    (CUSTEXT, 1.0): 0.6985,
    (CUSTEXT, 2.0): 0.7172,
    (CUSTEXT, 3.0): 0.7029,
}
_IS_SST2 = re.compile(r"(^|[^a-z0-9])sst[-_ ]?2([^a-z0-9]|$)")


def find_paper_value(setup: EvaluationSetup, mechanism: str, epsilon: float | None) -> float | None:
    """Return the paper's value for a mechanism at an eps, on the same data; None if it is not known.

    The data is recognized by the names of files and folders: SST-2/train.tsv.
    """
    return _SST2.get((mechanism, epsilon)) if is_sst2(setup) else None


def is_sst2(setup: EvaluationSetup) -> bool:
    """Return whether the names of the data say that it is SST-2 of GLUE."""
    return setup.metric == "accuracy" and bool(_IS_SST2.search(setup.dataset.lower()))


def list_differences(setup: EvaluationSetup) -> list[str]:
    """Return what differs from the paper's evaluation on SST-2: the model, the groups, the vectors, the data."""
    differences = [] if _MODEL in setup.model else [f"model {setup.model} (paper: {_MODEL}, fine-tuned)"]
    if set(setup.k) != {_K}:
        differences.append(f"K = {', '.join(map(str, dict.fromkeys(setup.k)))} (paper: {_K})")
    differences.append(f"vectors {', '.join(dict.fromkeys(setup.embeddings))}")
    if (setup.train_rows, setup.test_rows) != _SST2_ROWS:
        expected = " and ".join(f"{rows:,}" for rows in _SST2_ROWS)
        differences.append(f"{setup.train_rows:,} and {setup.test_rows:,} rows (paper: {expected})")
    if setup.policy != _POLICY:
        differences.append(f"policy {setup.policy} (paper: {_POLICY})")
    if setup.calibration != _CALIBRATION:
        differences.append(f"calibration {setup.calibration} (paper: {_CALIBRATION})")
    return differences
