"""Checks a mapping as a whole: its fingerprint, its partition into groups, and every group at one eps."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Floats
from custext_sql.errors import CertificateError
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import certify
from custext_sql.mechanism.verifier import verify_weights
from custext_sql.mechanism.weights import check_calibration, check_epsilon
from custext_sql.sanitizer.policy import Policy
from custext_sql.sanitizer.words import Vocabulary
from custext_sql.store.database import Database, reading
from custext_sql.store.mappings import find_mapping, read_mapping
from custext_sql.store.stopwords import SHIPPED_LANGUAGE, read_stopwords


@dataclass(frozen=True)
class Certificate:
    """What was verified of a mapping at one eps, on the same integers that words are sampled from.

    mapping, fingerprint: the name of the mapping, and the SHA-256 of its words, groups and scores.
    eps: the budget per word at which it was verified.
    plus: whether stopwords are kept (CusText+). The guarantee is then about the words of a group that are drawn, and
        groups without such words are left out of the log-ratios.
    calibration: how eps sets the temperature, "paper" or "tight".
    words, groups: how many the mapping has. smallest_group, largest_group: numbers of words.
    hides_among: the smallest number of words, itself included, that a drawn word hides among; 0 if no word is drawn.
    worst_log_ratio, median_log_ratio: over the groups. The log-ratio of a group is the natural logarithm of the largest
        ratio between the probabilities of one output for two inputs. The guarantee is that it never exceeds eps.
    shrunk: the number of groups whose temperature was lowered to satisfy the guarantee.
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
    keep_words: Collection[str] = (),
) -> Certificate:
    """Verify a stored mapping at one eps, and return a Certificate.

    This recomputes the fingerprint, checks that every word is in exactly one group, and verifies every group.

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database. mapping: its name; by
    default the database's default mapping. eps: the budget per word: 0, or 0.001 to 100. plus: keep the stopwords of
    `language`. calibration: "paper" or "tight". keep_words: public words that stay, as in a Policy. Other words do not
    hide among words that are kept.

    MappingError if the mapping does not exist or its tables were changed; CertificateError if a group does not satisfy
    the guarantee; SettingError if a setting is invalid; DatabaseError if the database cannot be read.
    """
    with reading(database) as connection:
        loaded = read_mapping(connection, find_mapping(connection, mapping))  # checks the fingerprint
        stopwords = read_stopwords(connection, language) if plus else frozenset()
    vocabulary = Vocabulary(loaded, stopwords, Policy(keep_words=keep_words).keep_words)
    return certify_mapping(loaded, vocabulary, eps, plus=plus, calibration=calibration)


def certify_mapping(
    mapping: Mapping, vocabulary: Vocabulary, epsilon: float, *, plus: bool, calibration: str
) -> Certificate:
    """Verify every group of a mapping at epsilon, and return a Certificate; see `audit`.

    vocabulary: that of the mapping, with the stopwords that `plus` keeps, and the words that always stay.
    """
    epsilon = check_epsilon(epsilon)
    check_calibration(calibration)
    try:
        log_ratios, shrunk = _verify(mapping, vocabulary, epsilon, plus=plus, calibration=calibration)
    except CertificateError as error:
        start = int(mapping.word_starts[error.group])
        words = mapping.words[start : start + int(mapping.sizes[error.group])]
        raise CertificateError(error.group, epsilon, words) from None
    return Certificate(
        mapping=mapping.info.name,
        fingerprint=mapping.info.fingerprint,
        eps=epsilon,
        plus=plus,
        calibration=calibration,
        words=len(mapping.words),
        groups=len(mapping.sizes),
        smallest_group=int(mapping.sizes.min()),
        largest_group=int(mapping.sizes.max()),
        hides_among=vocabulary.hides_among(plus),
        worst_log_ratio=float(log_ratios.max(initial=0.0)),
        median_log_ratio=float(np.median(log_ratios)) if len(log_ratios) else 0.0,
        shrunk=shrunk,
    )


def _verify(
    mapping: Mapping, vocabulary: Vocabulary, epsilon: float, *, plus: bool, calibration: str
) -> tuple[Floats, int]:
    """Return the log-ratios of the groups that have words to be drawn, and how many groups were shrunk."""
    drawn = vocabulary.drawn(plus)
    has_drawn = mapping.sizes > 0 if drawn is None else np.add.reduceat(drawn, mapping.word_starts) > 0
    if epsilon == 0.0:
        vocabulary.representatives(plus)  # verified when they are found
        return np.zeros(int(has_drawn.sum())), 0
    table = certify(mapping.sizes, mapping.scores, epsilon, calibration)
    if drawn is None:
        return table.log_ratios, table.shrunk
    verdict = verify_weights(mapping.sizes, [table.weights], np.full(len(mapping.sizes), epsilon), drawn)
    if not verdict.holds.all():
        raise CertificateError(int(np.argmin(verdict.holds)), epsilon)
    return np.minimum(verdict.log_ratios, table.log_ratios)[has_drawn], table.shrunk
