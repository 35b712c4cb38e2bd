"""Attacks on the tables of a stored mapping, measured and kept."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from custext_sql.arrays import Floats
from custext_sql.experiments.attacks.bayes import measure_floor, measure_success
from custext_sql.experiments.attacks.priors import Prior
from custext_sql.experiments.attacks.query import TRIALS, count_for_likeliest, count_for_mode
from custext_sql.experiments.measurements import Measurement, ShareDone, Subject, obtain, write_settings
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import CertifiedTable, certify
from custext_sql.mechanism.weights import check_calibration, check_epsilon
from custext_sql.store.database import Database

SAMPLE_TRIALS = 1_000  # for a word of a sample: enough for quantiles


@dataclass(frozen=True)
class QueryResult:
    """How many draws of a word tell which word it is, at 95%: to whoever takes the most frequent output, and to whoever
    takes the input of greatest likelihood. None: no number does.
    """

    word: str
    eps: float
    n_mode: int | None
    n_mode_error: float | None
    n_ml: int | None
    n_ml_error: float | None
    mapping: str
    calibration: str
    measurement_ids: tuple[str, str]


@dataclass(frozen=True)
class BayesResult:
    """How probably the best guess from one output is right, and how probably if only the group were known."""

    mapping: str
    k: int
    eps: float
    calibration: str
    plus: bool
    prior: str
    success: float
    floor: float
    measurement_ids: tuple[str, str]


def attack_words(
    database: Database,
    mapping: Mapping,
    words: Sequence[str],
    epsilons: Sequence[float],
    *,
    calibration: str = "paper",
    trials: int = TRIALS,
    seed: int = 0,
    progress: ShareDone | None = None,
) -> list[QueryResult]:
    """The query attack on some words, simulated. The seed makes it repeatable; nothing is released by it."""
    settings = write_settings(trials=trials)
    subjects = [
        replace(
            describe_mapping(mapping, "query", metric, epsilon, calibration), word=word, seed=seed, settings=settings
        )
        for word in [mapping.words[mapping.find(word)] for word in words]
        for epsilon in epsilons
        for metric in ("n_mode", "n_ml")
    ]

    def measure(subject: Subject, tell: ShareDone) -> tuple[float | None, float | None]:
        assert subject.word is not None and subject.eps is not None
        number = mapping.index[subject.word]
        matrix, place = _read_group(mapping, number, subject.eps, calibration)
        generator = np.random.default_rng([seed, number])
        if subject.metric == "n_mode":
            found = count_for_mode(matrix[place], place, trials=trials, generator=generator)
        else:
            found = count_for_likeliest(matrix, place, trials=trials, generator=generator)
        return found.draws, found.standard_error

    measured = iter(obtain(database, subjects, measure, progress=progress))
    return [_as_query_result(mode, likeliest) for mode, likeliest in zip(measured, measured, strict=True)]


def attack_tables(
    database: Database,
    mapping: Mapping,
    priors: Sequence[Prior],
    epsilons: Sequence[float],
    *,
    calibration: str = "paper",
    plus: bool = False,
    progress: ShareDone | None = None,
) -> list[BayesResult]:
    """The best one-shot guess, exactly, under each prior. plus: the priors are of words that are no stopwords."""
    by_digest = {prior.digest: prior for prior in priors}
    made: dict[float, CertifiedTable] = {}

    def make_table(epsilon: float) -> CertifiedTable:
        if epsilon not in made:
            made.clear()  # one at a time is enough, since subjects are in the order of eps
            made[epsilon] = certify(mapping.sizes, mapping.scores, epsilon, calibration)
        return made[epsilon]

    def measure(subject: Subject, tell: ShareDone) -> tuple[float | None, float | None]:
        chances = by_digest[str(subject.digest)].chances
        if subject.eps is None:
            return measure_floor(mapping.sizes, chances), None
        return measure_success(mapping.sizes, make_table(subject.eps).weights, chances), None

    def describe(prior: Prior, metric: str, epsilon: float | None) -> Subject:
        subject = describe_mapping(mapping, "bayes", metric, epsilon, None if epsilon is None else calibration)
        return replace(subject, dataset=prior.name, digest=prior.digest, settings=write_settings(plus=plus))

    pairs = [(epsilon, prior) for epsilon in map(check_epsilon, epsilons) for prior in priors]
    floors = [describe(prior, "floor", None) for _, prior in pairs]
    successes = [describe(prior, "success", epsilon) for epsilon, prior in pairs]
    measured = obtain(database, [*floors, *successes], measure, progress=progress)
    return [
        _as_bayes_result(floor, success, plus)
        for floor, success in zip(measured[: len(pairs)], measured[len(pairs) :], strict=True)
    ]


def attack_all_words(
    database: Database,
    mapping: Mapping,
    drawn: Floats,
    in_clear: float,
    epsilon: float,
    *,
    about: Subject,
    calibration: str = "paper",
) -> Measurement:
    """The same over all words of some texts. drawn: the share of all words that each word of the mapping is, where
    it is drawn. in_clear: the share that stands as it was, and need not be guessed. about: what the texts are.
    """

    def measure(subject: Subject, tell: ShareDone) -> tuple[float, None]:
        weights = certify(mapping.sizes, mapping.scores, epsilon, calibration).weights
        return in_clear + measure_success(mapping.sizes, weights, drawn), None

    subject = describe_mapping(mapping, "bayes", "success_of_all", epsilon, calibration)
    subject = replace(
        subject, mechanism=about.mechanism, dataset=about.dataset, digest=about.digest, settings=about.settings
    )
    return obtain(database, [subject], measure)[0]


def find_quantile(counts: Sequence[int | None], share: float) -> int | None:
    """The least number of draws that is enough for that share of words; None: no number is."""
    known = sorted(count for count in counts if count is not None)
    place = max(0, math.ceil(share * len(counts)) - 1)
    return known[place] if place < len(known) else None


def describe_mapping(
    mapping: Mapping, kind: str, metric: str, epsilon: float | None, calibration: str | None
) -> Subject:
    """What is measured of a mapping's tables."""
    return Subject(
        kind,
        metric,
        embedding=mapping.info.embedding,
        mapping=mapping.info.name,
        fingerprint=mapping.info.fingerprint,
        k=mapping.info.k,
        eps=None if epsilon is None else check_epsilon(epsilon),
        calibration=None if calibration is None else check_calibration(calibration),
    )


def _read_group(mapping: Mapping, word: int, epsilon: float, calibration: str) -> tuple[Floats, int]:
    """The probabilities within the group of a word, from verified weights, and the word's place there."""
    group = int(np.searchsorted(mapping.word_starts, word, side="right")) - 1
    size, start = int(mapping.sizes[group]), int(mapping.score_starts[group])
    scores = mapping.scores[start : start + size * size]
    weights = certify(mapping.sizes[group : group + 1], scores, epsilon, calibration).weights.reshape(size, size)
    matrix = weights / 2.0**64
    return matrix / matrix.sum(axis=1, keepdims=True), word - int(mapping.word_starts[group])


def _as_query_result(mode: Measurement, likeliest: Measurement) -> QueryResult:
    subject = mode.subject
    assert subject.word is not None and subject.eps is not None
    return QueryResult(
        word=subject.word,
        eps=subject.eps,
        n_mode=_whole(mode.value),
        n_mode_error=mode.standard_error,
        n_ml=_whole(likeliest.value),
        n_ml_error=likeliest.standard_error,
        mapping=str(subject.mapping),
        calibration=str(subject.calibration),
        measurement_ids=(mode.measurement_id, likeliest.measurement_id),
    )


def _as_bayes_result(floor: Measurement, success: Measurement, plus: bool) -> BayesResult:
    subject = success.subject
    assert subject.eps is not None and subject.k is not None
    assert floor.value is not None and success.value is not None
    return BayesResult(
        mapping=str(subject.mapping),
        k=subject.k,
        eps=subject.eps,
        calibration=str(subject.calibration),
        plus=plus,
        prior=str(subject.dataset),
        success=success.value,
        floor=floor.value,
        measurement_ids=(success.measurement_id, floor.measurement_id),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
