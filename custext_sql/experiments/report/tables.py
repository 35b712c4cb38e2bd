"""What a report measures on the tables of a mapping: the certificate, and the query attack on a sample of words."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from custext_sql.experiments.attacks.query_attack import QueryResult, find_quantile, measure_queries
from custext_sql.experiments.measurements import (
    ShareDone,
    Subject,
    describe_mapping,
    measure_or_reuse,
    write_settings,
)
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.report.contents import CertificateRow, Number, Quantile, as_number
from custext_sql.experiments.trials import describe_policy
from custext_sql.mechanism.weights import CALIBRATIONS
from custext_sql.store.auditing import Certificate, certify_mapping
from custext_sql.store.database import Database
from custext_sql.store.key_files import digest_stopwords

QUANTILES = (0.05, 0.5, 0.95)
_SIMULATIONS = 400  # per number: precise to about 7%, less than what differs from sample to sample


def certify_tables(
    database: Database, under_test: MappingUnderTest, epsilon: float, *, plus: bool
) -> Iterator[CertificateRow]:
    """Yield what is verified under each calibration."""
    made: dict[str, Certificate] = {}
    known = {"plus": True, "stopwords": digest_stopwords(under_test.stopwords)} if plus else {}
    if under_test.policy.keep_words:
        known["keep_words"] = describe_policy(under_test.policy)["keep_words"]

    def measure(subject: Subject, tell: ShareDone) -> tuple[float, None]:
        calibration = str(subject.calibration)
        if calibration not in made:
            made[calibration] = certify_mapping(
                under_test.mapping, under_test.vocabulary, epsilon, plus=plus, calibration=calibration
            )
        return float(getattr(made[calibration], subject.metric)), None

    for calibration in CALIBRATIONS:
        subjects = [
            replace(
                describe_mapping(under_test.mapping, "certificate", metric, epsilon, calibration),
                settings=write_settings(**known),
            )
            for metric in ("worst_log_ratio", "median_log_ratio", "shrunk", "hides_among")
        ]
        yield CertificateRow(calibration, *map(as_number, measure_or_reuse(database, subjects, measure)))


def measure_sample(
    database: Database,
    under_test: MappingUnderTest,
    count: int,
    epsilons: Sequence[float],
    *,
    calibration: str,
    progress: ShareDone | None,
) -> Iterator[Quantile]:
    """Yield how many draws suffice for shares of some random words of the vocabulary, at each eps."""
    words = under_test.mapping.words
    places = np.random.default_rng(0).choice(len(words), count, replace=False)
    found = measure_queries(
        database,
        under_test.mapping,
        [words[place] for place in places],
        epsilons,
        calibration=calibration,
        simulations=_SIMULATIONS,
        progress=progress,
    )
    for share in QUANTILES:
        for epsilon in epsilons:
            some = [result for result in found if result.eps == epsilon]
            yield Quantile(share, epsilon, _find_number(some, "n_mode", share, 0), _find_number(some, "n_ml", share, 1))


def _find_number(results: Sequence[QueryResult], name: str, share: float, place: int) -> Number:
    """Return a quantile of the draws that words need, with its row. place: that of its measurement."""
    counts = [getattr(result, name) for result in results]
    wanted = find_quantile(counts, share)
    whose = next(result for result in results if getattr(result, name) == wanted)
    own = getattr(whose, f"{name}_error")
    wide = math.sqrt(share * (1.0 - share) / len(counts))  # standard error of a share of the sample
    low, high = (find_quantile(counts, min(max(share + step, 0.0), 1.0)) for step in (-wide, wide))
    error = None
    if own is not None and low is not None and high is not None:
        error = math.hypot(own, (high - low) / 2.0)
    return Number(wanted, whose.measurement_ids[place], error)
