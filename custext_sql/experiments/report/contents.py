"""The contents of a report."""

from dataclasses import dataclass
from datetime import datetime

from custext_sql.experiments.attacks.bayes_attack import BayesResult
from custext_sql.experiments.attacks.context_attack import ContextAttack
from custext_sql.experiments.attacks.query_attack import QueryResult
from custext_sql.experiments.report.let_through import LetThrough
from custext_sql.experiments.report.one_output import OneOutput
from custext_sql.experiments.report.quantiles import Quantile
from custext_sql.experiments.verdict.figures import Verdict
from custext_sql.store.auditing import Certificate


@dataclass(frozen=True)
class Report:
    """How private texts are at one eps.

    verdict: what all of this means, in plain words, for the person who must sign.
    created_at: UTC. mapping, fingerprint, k, words, groups: the name of the mapping, the SHA-256 of its tables, its
        group size K, and its numbers of words and groups.
    eps: the budget per word. calibration: how eps sets the temperature, "paper" or "tight". plus: whether stopwords are
        kept. policy: its name.
    priors: the names of the priors: "uniform", and that of your texts or of a file, if given.
    certificate: what was verified, one Certificate per calibration.
    bayes: the best single guess, one result per prior, calibration and eps. one_output: what else one output reveals.
    context: the context attack on your texts; None if no public texts were given.
    queries: the query attack, one result per word and eps.
    quantiles: the draws that suffice for shares of random words of the vocabulary. sample: the number of these words.
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
    certificate: tuple[Certificate, ...]
    bayes: tuple[BayesResult, ...]
    one_output: OneOutput
    context: ContextAttack | None
    queries: tuple[QueryResult, ...]
    quantiles: tuple[Quantile, ...]
    sample: int
    let_through: LetThrough | None
