"""A mapping checked as a whole: fingerprint, partition, and the certificate of every group at one epsilon."""

from dataclasses import dataclass

import numpy as np

from custext_sql.errors import CertificateError
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import certify
from custext_sql.mechanism.verifier import verify_union
from custext_sql.mechanism.weights import check_epsilon
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.store.database import Database, reading
from custext_sql.store.rows.mappings import find_mapping, read_mapping
from custext_sql.store.rows.stopwords import SHIPPED_LANGUAGE, read_stopwords


@dataclass(frozen=True)
class Certificate:
    """What was verified, on the very integers that are sampled from.

    A log-ratio is the logarithm of the largest ratio of the probabilities of one output for two inputs of a group; the
    promise is that none exceeds eps. shrunk: groups whose temperature was lowered to keep it. plus: whether stopwords
    are kept; then the promise is about the words of a group that are drawn, and groups that have none are left out. A
    drawn word hides among at least `hides_among` words, itself included; 0 if no word is drawn.
    """

    mapping: str
    fingerprint: str
    eps: float
    plus: bool
    calibration: str
    words: int
    groups: int
    smallest_group: int
    largest_group: int
    hides_among: int
    worst_log_ratio: float
    median_log_ratio: float
    shrunk: int


def audit(
    database: Database = None,
    *,
    mapping: str | None = None,
    eps: float = 1.0,
    plus: bool = False,
    calibration: str = "paper",
    language: str = SHIPPED_LANGUAGE,
) -> Certificate:
    """Verify a stored mapping at an eps, and return a Certificate.

    Recomputes the fingerprint, checks that the groups are a partition, and verifies every group. eps: 0.001 to 100.
    plus: with the stopwords of `language` kept. Raises MappingError where the tables are not those that were built,
    CertificateError where a group fails.
    """
    with reading(database) as connection:
        loaded = read_mapping(connection, find_mapping(connection, mapping))  # refuses what has another fingerprint
        stopwords = read_stopwords(connection, language) if plus else frozenset()
    return certify_mapping(loaded, Vocabulary(loaded, stopwords), eps, plus=plus, calibration=calibration)


def certify_mapping(
    mapping: Mapping, vocabulary: Vocabulary, epsilon: float, *, plus: bool, calibration: str
) -> Certificate:
    """Verify every group of a mapping at epsilon; vocabulary: the mapping's, with the stopwords that `plus` keeps."""
    try:
        table = certify(mapping.sizes, mapping.scores, epsilon, calibration)
    except CertificateError as error:
        raise _name_words(error.group, mapping, epsilon) from None
    log_ratios = table.log_ratios
    if plus:
        verdict = verify_union(mapping.sizes, [table.weights], epsilon, vocabulary.drawn_plus)
        if not verdict.holds.all():
            raise _name_words(int(np.argmin(verdict.holds)), mapping, epsilon)
        has_drawn = np.add.reduceat(vocabulary.drawn_plus, mapping.word_starts) > 0
        log_ratios = np.minimum(verdict.log_ratios, log_ratios)[has_drawn]
    return Certificate(
        mapping=mapping.info.name,
        fingerprint=mapping.info.fingerprint,
        eps=check_epsilon(epsilon),
        plus=plus,
        calibration=calibration,
        words=len(mapping.words),
        groups=len(mapping.sizes),
        smallest_group=int(mapping.sizes.min()),
        largest_group=int(mapping.sizes.max()),
        hides_among=vocabulary.hides_among(plus),
        worst_log_ratio=float(log_ratios.max(initial=0.0)),
        median_log_ratio=float(np.median(log_ratios)) if len(log_ratios) else 0.0,
        shrunk=table.shrunk,
    )


def _name_words(group: int, mapping: Mapping, epsilon: float) -> CertificateError:
    start = int(mapping.word_starts[group])
    return CertificateError(group, epsilon, mapping.words[start : start + int(mapping.sizes[group])])
