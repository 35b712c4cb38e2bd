"""A mapping checked as a whole: fingerprint, partition, and the certificate of every group at one epsilon."""

from dataclasses import dataclass

import numpy as np

from custext_sql.certified_table import certify
from custext_sql.database import Database
from custext_sql.errors import CertificateError
from custext_sql.mapping_store import load_mapping
from custext_sql.mechanism import check_epsilon


@dataclass(frozen=True)
class Certificate:
    """What was verified, on the very integers that are sampled from.

    A log-ratio is the logarithm of the largest ratio of the probabilities of one output for two inputs of a group; the
    promise is that none exceeds eps. shrunk: groups whose temperature was lowered to keep it.
    """

    mapping: str
    fingerprint: str
    eps: float
    calibration: str
    words: int
    groups: int
    smallest_group: int
    largest_group: int
    worst_log_ratio: float
    median_log_ratio: float
    shrunk: int


def audit(
    database: Database = None, *, mapping: str | None = None, epsilon: float = 1.0, calibration: str = "paper"
) -> Certificate:
    """Recompute a mapping's fingerprint, check that its groups are a partition, and verify every group at epsilon.

    Raises MappingError where the tables are not those that were built, CertificateError where a group fails.
    """
    loaded = load_mapping(database, mapping)  # refuses other words, groups and scores than those of the fingerprint
    try:
        table = certify(loaded.sizes, loaded.scores, epsilon, calibration)
    except CertificateError as error:
        start = int(loaded.word_starts[error.group])
        words = loaded.words[start : start + int(loaded.sizes[error.group])]
        raise CertificateError(error.group, epsilon, words) from None
    return Certificate(
        mapping=loaded.info.name,
        fingerprint=loaded.info.fingerprint,
        eps=check_epsilon(epsilon),
        calibration=calibration,
        words=len(loaded.words),
        groups=len(loaded.sizes),
        smallest_group=int(loaded.sizes.min()),
        largest_group=int(loaded.sizes.max()),
        worst_log_ratio=float(table.log_ratios.max()),
        median_log_ratio=float(np.median(table.log_ratios)),
        shrunk=table.shrunk,
    )
