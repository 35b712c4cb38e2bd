"""What a run did: how many words it drew, how many it let through, and what it spent."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from custext_sql.policy import Policy
from custext_sql.replacement import Replaced
from custext_sql.vocabulary import ENDING, NUMBER, SAMPLED, STOPWORD, UNKNOWN


@dataclass(frozen=True)
class Receipt:
    """Counts of one run. Protection is per word: a row with n sampled words has spent n * eps, and only these spend.

    words = sampled + stopwords + numbers + unknown_kept + unknown_masked + unknown_random + endings.
    sampled_unchanged: sampled words that drew themselves. characters_in_clear: of words that came out as they were
    without being drawn. worst_log_ratio: the largest of all groups at this eps, as verified.
    """

    rows: int
    words: int
    sampled: int
    stopwords: int
    numbers: int
    unknown_kept: int
    unknown_masked: int
    unknown_random: int
    endings: int
    sampled_unchanged: int
    characters_in_clear: int
    eps: float
    largest_row_eps: float
    mean_row_eps: float
    mapping: str
    fingerprint: str
    worst_log_ratio: float


class Tally:
    """Adds up what blocks report."""

    def __init__(self) -> None:
        self._counts = np.zeros(5, dtype=np.int64)
        self._rows = self._unchanged = self._clear = self._largest = 0

    def add(self, block: Replaced, *, missing: npt.NDArray[np.bool_] | None = None) -> None:
        """Count a block. missing: the rows that have no text."""
        counts = block.count()
        self._counts += counts.by_kind
        self._rows += len(counts.sampled_by_row) - (0 if missing is None else int(missing.sum()))
        self._unchanged += counts.unchanged
        self._clear += counts.characters_in_clear
        self._largest = max(self._largest, int(counts.sampled_by_row.max(initial=0)))

    def receipt(self, *, policy: Policy, eps: float, mapping: str, fingerprint: str, worst_log_ratio: float) -> Receipt:
        counts = [int(count) for count in self._counts]
        unknown = {choice: counts[UNKNOWN] if policy.unknown == choice else 0 for choice in ("keep", "mask", "random")}
        return Receipt(
            rows=self._rows,
            words=sum(counts),
            sampled=counts[SAMPLED],
            stopwords=counts[STOPWORD],
            numbers=counts[NUMBER],
            unknown_kept=unknown["keep"],
            unknown_masked=unknown["mask"],
            unknown_random=unknown["random"],
            endings=counts[ENDING],
            sampled_unchanged=self._unchanged,
            characters_in_clear=self._clear,
            eps=eps,
            largest_row_eps=self._largest * eps,
            mean_row_eps=counts[SAMPLED] * eps / self._rows if self._rows else 0.0,
            mapping=mapping,
            fingerprint=fingerprint,
            worst_log_ratio=worst_log_ratio,
        )
