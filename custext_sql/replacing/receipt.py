"""What a run did: how many words it drew, how many it let through, and what it spent."""

import math
import threading
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, Protocol

import numpy as np

from custext_sql.arrays import Flags, Hashes
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.policy import Policy
from custext_sql.replacing.replacer import Counts

_SUMS = 1 << 256


_ENOUGH_WORDS = 10  # to judge a language by
_PENDING = 1 << 16  # hashes at least, before they are sorted


@dataclass(frozen=True)
class Receipt:
    """Counts of one run. Protection is per word: a row with n sampled words has spent n * eps, and only these spend.

    words = sampled + stopwords + numbers + unknown_kept + unknown_masked + unknown_random + endings + kept +
    alone_masked. kept: words that a choice of what is sensitive left as they are. alone_masked: words that were masked,
    being the only ones of their group that would be drawn. sampled_unchanged: sampled words that drew themselves; it
    tells about the originals, so it is for the operator alone (see `to_dict`). characters_in_clear: of words that came
    out as they were without being drawn. symbols: characters that are neither words, spaces nor punctuation (pictures,
    circled letters, control characters) and stand in the output as they were. unknown_distinct: how many words
    unknown_kept counts, each counted once, whatever its case. eps: the largest of `budgets`.

    What is promised holds among the words of a group that are drawn, as verified: no log-ratio is above
    worst_log_ratio within the table of one budget, or above union_log_ratio over those of all budgets, for two words of
    a group that were drawn at different ones. A drawn word hides among at least `hides_among` words, itself included.
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
    kept: int
    alone_masked: int
    sampled_unchanged: int
    characters_in_clear: int
    eps: float
    budgets: tuple[float, ...]
    largest_row_eps: float
    mean_row_eps: float
    mapping: str
    fingerprint: str
    worst_log_ratio: float
    union_log_ratio: float
    hides_among: int
    symbols: int = 0
    unknown_distinct: int = 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what somebody should know before the output is given away, as sentences without a full stop."""
        found = []
        if self.unknown_kept:
            words, are = ("word", "is") if self.unknown_kept == 1 else ("words", "are")
            found.append(
                f"{self.unknown_kept:,} {words} ({self.unknown_distinct:,} distinct) {are} not in the vocabulary and "
                "passed unchanged"
            )
        unknown = self.unknown_kept + self.unknown_masked + self.unknown_random
        decided = self.words - self.stopwords - self.endings - self.kept
        if decided >= _ENOUGH_WORDS and 2 * unknown > decided:
            found.append(
                f"most words ({unknown:,} of {decided:,}) are not in the vocabulary; the texts may be in another "
                "language or script than the mapping"
            )
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return what may stand beside the text: everything but `sampled_unchanged`."""
        return {name: value for name, value in asdict(self).items() if name != "sampled_unchanged"}


@dataclass(frozen=True)
class Guarantee:
    """What is verified of the tables that a run draws from, for the words of a group that are drawn.

    budgets: every eps in use, in ascending order. worst_log_ratio: the largest of all groups, each table alone.
    union_log_ratio: the same over all tables together, for two words of a group that may be drawn at different eps.
    hides_among: how many words of a group are drawn at least, where any are.
    """

    mapping: str
    fingerprint: str
    budgets: tuple[float, ...]
    worst_log_ratio: float
    union_log_ratio: float
    hides_among: int


class Counter(Protocol):
    """Takes what blocks report, in their order."""

    def add(self, counts: Counts, *, missing: Flags | None = None) -> None:
        """Count some texts. missing: those that are none."""

    def add_sum(self, keyed_sum: int) -> None:
        """Add what a key makes of some records and texts."""


class _Distinct:
    """Counts different numbers, 8 bytes each; what is new is sorted in when it is as much as all before."""

    def __init__(self) -> None:
        self._known = np.zeros(0, dtype=np.uint64)
        self._new: list[Hashes] = []
        self._pending = 0

    def add(self, numbers: Hashes) -> None:
        if len(numbers):
            self._new.append(numbers)
            self._pending += len(numbers)
            if self._pending > max(_PENDING, len(self._known)):
                self._merge()

    def __len__(self) -> int:
        self._merge()
        return len(self._known)

    def _merge(self) -> None:
        if self._new:
            self._known = np.unique(np.concatenate([self._known, *self._new]))
            self._new, self._pending = [], 0


class Tally:
    """Adds up what blocks report; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds = np.zeros(len(Kind), dtype=np.int64)
        self._rows = self._unchanged = self._clear = self._symbols = 0
        self._unknown = _Distinct()
        self._largest = self._spent = 0.0
        self._largest_sampled = 0
        self._keyed_sum: int | None = None

    def add(self, counts: Counts, *, missing: Flags | None = None) -> None:
        """Count some texts. missing: those that are none."""
        with self._lock:
            self._kinds += counts.by_kind.sum(axis=0)
            self._rows += len(counts.spent) - (0 if missing is None else int(missing.sum()))
            self._unchanged += int(counts.unchanged.sum())
            self._clear += int(counts.characters_in_clear.sum())
            self._symbols += int(counts.symbols.sum())
            self._unknown.add(counts.unknown_hashes)
            self._largest = max(self._largest, float(counts.spent.max(initial=0.0)))
            self._spent += float(counts.spent.sum())
            self._largest_sampled = max(self._largest_sampled, int(counts.by_kind[:, Kind.SAMPLED].max(initial=0)))

    def add_sum(self, keyed_sum: int) -> None:
        """Add what a key makes of some records and texts."""
        with self._lock:
            self._keyed_sum = ((self._keyed_sum or 0) + keyed_sum) % _SUMS

    @property
    def keyed_sum(self) -> str | None:
        """Return what tells equal keyed releases, if a key was used: the same records with the same texts."""
        return None if self._keyed_sum is None else f"{self._keyed_sum:064x}"

    @property
    def rows(self) -> int:
        """So far."""
        return self._rows

    @property
    def words(self) -> int:
        """So far."""
        return int(self._kinds.sum())

    def receipt(self, policy: Policy, guarantee: Guarantee) -> Receipt:
        kinds = [int(count) for count in self._kinds]
        unknown = {
            choice: kinds[Kind.UNKNOWN] if policy.unknown == choice else 0 for choice in ("keep", "mask", "random")
        }
        return Receipt(
            rows=self._rows,
            words=sum(kinds),
            sampled=kinds[Kind.SAMPLED],
            stopwords=kinds[Kind.STOPWORD],
            numbers=kinds[Kind.NUMBER],
            unknown_kept=unknown["keep"],
            unknown_masked=unknown["mask"],
            unknown_random=unknown["random"],
            endings=kinds[Kind.ENDING],
            kept=kinds[Kind.KEPT],
            alone_masked=kinds[Kind.ALONE],
            sampled_unchanged=self._unchanged,
            characters_in_clear=self._clear,
            eps=guarantee.budgets[-1],
            budgets=guarantee.budgets,
            largest_row_eps=self._find_largest(guarantee.budgets),
            mean_row_eps=self._spent / self._rows if self._rows else 0.0,
            mapping=guarantee.mapping,
            fingerprint=guarantee.fingerprint,
            worst_log_ratio=guarantee.worst_log_ratio,
            union_log_ratio=guarantee.union_log_ratio,
            hides_among=guarantee.hides_among,
            symbols=self._symbols,
            unknown_distinct=len(self._unknown),
        )

    def _find_largest(self, budgets: tuple[float, ...]) -> float:
        """Return what the row spent that spent most, as near to the exact decimal as a float can be."""
        exact = float(Decimal(repr(budgets[-1])) * self._largest_sampled)
        return exact if math.isclose(exact, self._largest, rel_tol=1e-9) else float(f"{self._largest:.15g}")
