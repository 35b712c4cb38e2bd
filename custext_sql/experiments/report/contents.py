"""Everything that a report says, as values that know the rows of the table `measurements` they come from."""

from dataclasses import dataclass
from datetime import datetime

from custext_sql.experiments.attacks.bayes_attack import BayesResult
from custext_sql.experiments.attacks.query_attack import QueryResult
from custext_sql.experiments.report.results import TradeOffCurves, UtilityTable


@dataclass(frozen=True)
class Number:
    """A value and the row of the table `measurements` that it comes from."""

    value: float | None
    measurement_id: str
    error: float | None = None


@dataclass(frozen=True)
class Quantile:
    """How many draws are enough for a share of the vocabulary, at one eps."""

    share: float
    eps: float
    n_mode: Number
    n_ml: Number


@dataclass(frozen=True)
class CertificateRow:
    """What was verified of the drawn words of all groups at the chosen eps, under one calibration."""

    calibration: str
    worst_log_ratio: Number
    median_log_ratio: Number
    shrunk: Number
    hides_among: Number


@dataclass(frozen=True)
class LetThrough:
    """What becomes of the words of some texts. counts: words of each kind, as a receipt names them."""

    dataset: str
    policy: str
    plus: bool
    counts: dict[str, Number]


@dataclass(frozen=True)
class Report:
    """Everything that a report says."""

    created_at: datetime
    mapping: str
    fingerprint: str
    k: int
    words: int
    groups: int
    eps: float
    calibration: str
    plus: bool
    policy: str
    priors: tuple[str, ...]
    certificate: tuple[CertificateRow, ...]
    bayes: tuple[BayesResult, ...]
    queries: tuple[QueryResult, ...]
    quantiles: tuple[Quantile, ...]
    sample: int
    utility: tuple[UtilityTable, ...]
    tradeoffs: tuple[TradeOffCurves, ...]
    let_through: LetThrough | None
