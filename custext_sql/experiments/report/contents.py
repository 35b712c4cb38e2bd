"""Everything a report says, as values that know the rows of `measurements` they come from."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from custext_sql.experiments.attacks.measuring import (
    SAMPLE_TRIALS,
    BayesResult,
    QueryResult,
    attack_tables,
    attack_words,
    describe_mapping,
    find_quantile,
)
from custext_sql.experiments.attacks.priors import Prior, uniform_prior
from custext_sql.experiments.choosing import CURVE
from custext_sql.experiments.evaluation.datasets import stream_texts
from custext_sql.experiments.measurements import (
    Measurement,
    ShareDone,
    Subject,
    obtain,
    part_of,
    read_measurements,
    write_settings,
)
from custext_sql.experiments.mechanisms import Arena
from custext_sql.experiments.report.results import TradeOffCurves, UtilityTable, find_tradeoffs, find_utility
from custext_sql.mechanism.weights import CALIBRATIONS, check_epsilon
from custext_sql.replacing.policy import DEFAULT_POLICY, choose_policy
from custext_sql.replacing.receipt import Receipt, Tally
from custext_sql.sanitizer import Sanitizer
from custext_sql.store.auditing import Certificate, certify_mapping
from custext_sql.store.database import Database
from custext_sql.store.digests import TextDigest
from custext_sql.store.key_files import digest_stopwords
from custext_sql.text.columns import TextColumn
from custext_sql.text.word_boundaries import RULES

WORDS = ("car", "she", "doctor", "happy")  # that are shown if nobody names any
TRIALS = 5_000  # for each of them: to about 2%
SAMPLE = 50  # words of the vocabulary, for quantiles
QUANTILES = (0.05, 0.5, 0.95)

_QUERY_EPSILONS = (1.0, 2.0, 3.0, 8.0)
_LET_THROUGH = (
    "rows",
    "words",
    "sampled",
    "stopwords",
    "numbers",
    "unknown_kept",
    "unknown_masked",
    "unknown_random",
    "endings",
    "alone_masked",
    "symbols",
    "characters_in_clear",
)


@dataclass(frozen=True)
class Number:
    """A value and where it comes from."""

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
    """What becomes of the words of some texts."""

    dataset: str
    policy: str
    plus: bool
    counts: dict[str, Number]


@dataclass(frozen=True)
class Report:
    """All that a report says."""

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


@dataclass(frozen=True)
class Chosen:
    """What a report is about. data: a file, and the column of its texts."""

    eps: float = 1.0
    calibration: str = "paper"
    plus: bool = False
    policy: str = DEFAULT_POLICY
    words: tuple[str, ...] = ()
    data: tuple[str, str | None] | None = None


def collect(
    database: Database, arena: Arena, chosen: Chosen, prior: Prior | None = None, *, progress: ShareDone | None = None
) -> Report:
    """Measure what takes seconds and is not there yet, and gather it with what experiments found before.

    prior: how frequent words are, beside the uniform one.
    """
    mapping, epsilon = arena.mapping, check_epsilon(chosen.eps)
    tell = (part_of(progress, number, 4) for number in range(4))
    priors = [uniform_prior(len(mapping.words)), *([] if prior is None else [prior])]
    if chosen.plus:
        priors = [one.without(arena.is_stopword) for one in priors]
    certificate = tuple(_certify(database, arena, epsilon, plus=chosen.plus))
    grid = sorted({*CURVE, epsilon})
    bayes: list[BayesResult] = []
    for calibration in CALIBRATIONS:
        told = next(tell)
        bayes += attack_tables(
            database, mapping, priors, grid, calibration=calibration, plus=chosen.plus, progress=told
        )
    kept = arena.stopwords if chosen.plus else frozenset()
    words = chosen.words or tuple(word for word in WORDS if word in mapping.index and word not in kept)
    some = sorted({*_QUERY_EPSILONS, epsilon})
    queries = attack_words(
        database, mapping, words, some, calibration=chosen.calibration, trials=TRIALS, progress=next(tell)
    )
    count = min(SAMPLE, len(mapping.words))
    drawn = [mapping.words[place] for place in np.random.default_rng(0).choice(len(mapping.words), count, False)]
    sampled = attack_words(
        database, mapping, drawn, some, calibration=chosen.calibration, trials=SAMPLE_TRIALS, progress=next(tell)
    )
    known = read_measurements(database)
    info = mapping.info
    return Report(
        created_at=datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        mapping=info.name,
        fingerprint=info.fingerprint,
        k=info.k,
        words=len(mapping.words),
        groups=len(mapping.sizes),
        eps=epsilon,
        calibration=chosen.calibration,
        plus=chosen.plus,
        policy=chosen.policy,
        priors=tuple(one.name for one in priors),
        certificate=certificate,
        bayes=tuple(bayes),
        queries=tuple(queries),
        quantiles=tuple(_find_quantiles(sampled, some)),
        sample=count,
        utility=tuple(find_utility(known)),
        tradeoffs=tuple(find_tradeoffs(known)),
        let_through=None if chosen.data is None else _count_let_through(database, arena, chosen, *chosen.data),
    )


def _certify(database: Database, arena: Arena, epsilon: float, *, plus: bool) -> Iterator[CertificateRow]:
    made: dict[str, Certificate] = {}
    settings = write_settings(plus=True, stopwords=digest_stopwords(arena.stopwords)) if plus else "{}"

    def measure(subject: Subject, tell: ShareDone) -> tuple[float, None]:
        calibration = str(subject.calibration)
        if calibration not in made:
            made[calibration] = certify_mapping(
                arena.mapping, arena.vocabulary, epsilon, plus=plus, calibration=calibration
            )
        return float(getattr(made[calibration], subject.metric)), None

    for calibration in CALIBRATIONS:
        subjects = [
            replace(
                describe_mapping(arena.mapping, "certificate", metric, epsilon, calibration),
                settings=settings,
            )
            for metric in ("worst_log_ratio", "median_log_ratio", "shrunk", "hides_among")
        ]
        yield CertificateRow(calibration, *map(_as_number, obtain(database, subjects, measure)))


def _find_quantiles(sampled: Sequence[QueryResult], epsilons: Sequence[float]) -> Iterator[Quantile]:
    for share in QUANTILES:
        for epsilon in epsilons:
            some = [result for result in sampled if result.eps == epsilon]
            numbers = []
            for place, (value, error) in enumerate((("n_mode", "n_mode_error"), ("n_ml", "n_ml_error"))):
                wanted = find_quantile([getattr(result, value) for result in some], share)
                whose = next(result for result in some if getattr(result, value) == wanted)
                numbers.append(Number(wanted, whose.measurement_ids[place], getattr(whose, error)))
            yield Quantile(share, epsilon, *numbers)


def _count_let_through(database: Database, arena: Arena, chosen: Chosen, path: str, column: str | None) -> LetThrough:
    digest = _digest_texts(stream_texts(path, column))
    kept = digest_stopwords(arena.stopwords) if chosen.plus else None
    about = replace(
        describe_mapping(arena.mapping, "policy", "", None, None),
        dataset=Path(path).name,
        digest=digest,
        settings=write_settings(policy=asdict(choose_policy(chosen.policy)), rules=RULES, stopwords=kept),
    )
    made: list[Receipt] = []

    def measure(subject: Subject, tell: ShareDone) -> tuple[float, None]:
        if not made:
            sanitizer = Sanitizer(arena.mapping, arena.stopwords, policy=chosen.policy)
            tally = Tally()
            for texts in stream_texts(path, column):
                sanitizer.sanitize_column(texts, chosen.eps, chosen.plus, tally=tally)
            made.append(sanitizer.receipt(tally, chosen.eps, chosen.plus))
        return float(getattr(made[0], subject.metric)), None

    subjects = [replace(about, metric=metric) for metric in _LET_THROUGH]
    counts = zip(_LET_THROUGH, map(_as_number, obtain(database, subjects, measure)), strict=True)
    return LetThrough(Path(path).name, chosen.policy, chosen.plus, dict(counts))


def _digest_texts(texts: Iterator[TextColumn]) -> str:
    found = TextDigest()
    for column in texts:
        found.update(column.text.tobytes())
        found.update(np.diff(column.offsets).astype("<i8").tobytes())
    return found.hexdigest()


def _as_number(measurement: Measurement) -> Number:
    return Number(measurement.value, measurement.measurement_id, measurement.standard_error)
