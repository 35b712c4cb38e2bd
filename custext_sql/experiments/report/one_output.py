"""What one output reveals, besides the best single guess: how certain it is, and how often a word stays the same."""

from dataclasses import replace

from custext_sql.arrays import Floats
from custext_sql.experiments.attacks.best_guess import (
    join_neighbors,
    measure_certain,
    measure_certain_floor,
    measure_floor,
    measure_unchanged,
)
from custext_sql.experiments.attacks.priors import Prior
from custext_sql.experiments.measurements import (
    ShareDone,
    Subject,
    describe_mapping,
    measure_or_reuse,
    write_settings,
)
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.report.contents import OneOutput, as_number
from custext_sql.experiments.trials import describe_policy
from custext_sql.experiments.verdict.thresholds import CERTAINTY
from custext_sql.mechanism.certified_table import CertifiedTable, certify
from custext_sql.store.database import Database
from custext_sql.store.key_files import digest_stopwords

_METRICS = ("certain", "unchanged", "floor_of_joined")


def measure_one_output(
    database: Database, under_test: MappingUnderTest, prior: Prior, epsilon: float, *, calibration: str, plus: bool
) -> OneOutput:
    """Return what one output reveals at an eps, under a prior, which is without stopwords if `plus` is true."""
    mapping, chances = under_test.mapping, prior.chances
    made: list[CertifiedTable] = []

    def measure(subject: Subject, tell: ShareDone) -> tuple[float, None]:
        if subject.metric == "floor_of_joined":
            return measure_floor(join_neighbors(mapping.sizes), chances), None
        if epsilon == 0.0:
            if subject.metric == "certain":
                return measure_certain_floor(mapping.sizes, chances, CERTAINTY), None
            return _sum_representatives(under_test, chances, plus=plus), None
        if not made:
            made.append(certify(mapping.sizes, mapping.scores, epsilon, calibration))
        if subject.metric == "certain":
            return measure_certain(mapping.sizes, made[0].weights, chances, CERTAINTY), None
        return measure_unchanged(mapping.sizes, made[0].weights, chances), None

    settings = write_settings(
        plus=plus,
        certainty=CERTAINTY,
        policy=describe_policy(under_test.policy),
        stopwords=digest_stopwords(under_test.stopwords) if plus else None,
    )
    subjects = [
        replace(
            describe_mapping(mapping, "bayes", metric, epsilon, calibration),
            dataset=prior.name,
            digest=prior.digest,
            settings=settings,
        )
        for metric in _METRICS
    ]
    return OneOutput(*map(as_number, measure_or_reuse(database, subjects, measure)))


def _sum_representatives(under_test: MappingUnderTest, chances: Floats, *, plus: bool) -> float:
    """Return the probability of a word that stands for its group at eps = 0, and so stays the same."""
    representatives = under_test.vocabulary.representatives(plus)
    return float(chances[representatives == range(len(chances))].sum())
