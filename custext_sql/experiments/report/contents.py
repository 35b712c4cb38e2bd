"""The contents of a report, as values that know the rows of the table `measurements` they come from."""

from dataclasses import dataclass
from datetime import datetime

from custext_sql.experiments.attacks.bayes_attack import BayesResult
from custext_sql.experiments.attacks.context_attack import ContextAttack
from custext_sql.experiments.attacks.query_attack import QueryResult
from custext_sql.experiments.measurements import Measurement
from custext_sql.experiments.report.results import TradeOffCurves, UtilityTable
from custext_sql.experiments.verdict.figures import Verdict


@dataclass(frozen=True)
class Number:
    """A value and the row of the table `measurements` that it comes from.

    value: None if there is none, as for a word that no number of draws identifies. error: its standard error, if any.
    """

    value: float | None
    measurement_id: str
    error: float | None = None


@dataclass(frozen=True)
class Quantile:
    """How many draws suffice to identify a share of the vocabulary with probability 0.95, at one eps.

    Errors are those of the quantile: most of them is due to the words that happen to be in the sample.

    share: 0 to 1. n_mode: for an attacker who guesses the most frequent output. n_ml: for one who guesses the input of
    maximum likelihood.
    """

    share: float
    eps: float
    n_mode: Number
    n_ml: Number


@dataclass(frozen=True)
class CertificateRow:
    """What was verified at the eps of the report, under one calibration, about the words that are replaced by a draw.

    worst_log_ratio, median_log_ratio, shrunk, hides_among: as in `Certificate`.
    """

    calibration: str
    worst_log_ratio: Number
    median_log_ratio: Number
    shrunk: Number
    hides_among: Number


@dataclass(frozen=True)
class OneOutput:
    """What one output reveals at the eps of the report, besides the best single guess. Shares of the replaced words.

    certain: words of which the attacker of the best single guess is at least 90% certain.
    unchanged: words that are expected to be replaced by themselves.
    floor_of_joined: the floor of the best single guess, if every two neighboring groups were one.
    """

    certain: Number
    unchanged: Number
    floor_of_joined: Number


@dataclass(frozen=True)
class LetThrough:
    """What becomes of the words of some texts.

    dataset: the name of the texts. policy: its name. plus: whether stopwords are kept. numbers: what becomes of numbers
    outside the vocabulary, as in a policy.
    counts: the counts of a `Receipt`, by name, such as "words", "sampled" and "characters_in_clear"; also the median
    and the largest number of replaced words of a text, "median_replaced" and "largest_replaced".
    """

    dataset: str
    policy: str
    plus: bool
    numbers: str
    counts: dict[str, Number]


@dataclass(frozen=True)
class Report:
    """How private and how useful texts are at one eps.

    verdict: what all of this means, in plain words, for the person who must sign.
    created_at: UTC. mapping, fingerprint, k, words, groups: the name of the mapping, the SHA-256 of its tables, its
        group size K, and its numbers of words and groups.
    eps: the budget per word. calibration: how eps sets the temperature, "paper" or "tight". plus: whether stopwords are
        kept. policy: its name.
    priors: the names of the priors: "uniform", and that of your texts or of a file, if given.
    certificate: what was verified, one row per calibration.
    bayes: the best single guess, one result per prior, calibration and eps. one_output: what else one output reveals.
    context: the context attack on your texts; None if no public texts were given.
    queries: the query attack, one result per word and eps.
    quantiles: the draws that suffice for shares of random words of the vocabulary. sample: the number of these words.
    utility, tradeoffs: what earlier evaluations of this mapping found, and of other mechanisms on the same data.
    let_through: what becomes of the words of your texts; None if there are none.

    Shares and probabilities are 0 to 1.
    """

    verdict: Verdict
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
    one_output: OneOutput
    context: ContextAttack | None
    queries: tuple[QueryResult, ...]
    quantiles: tuple[Quantile, ...]
    sample: int
    utility: tuple[UtilityTable, ...]
    tradeoffs: tuple[TradeOffCurves, ...]
    let_through: LetThrough | None


def as_number(measurement: Measurement) -> Number:
    """Return a measurement as a number of a report."""
    return Number(measurement.value, measurement.measurement_id, measurement.standard_error)
