"""Adds up the counts of blocks of texts into a receipt."""

import json
import math
import threading
from decimal import Decimal
from typing import Protocol

import numpy as np

from custext_sql.arrays import Flags, Hashes
from custext_sql.kinds import COUNTS, Kind
from custext_sql.replacing.counts import Counts
from custext_sql.replacing.guarantee import Guarantee
from custext_sql.replacing.policy import Policy
from custext_sql.replacing.receipt import Receipt
from custext_sql.replacing.record_log import DRAWN, RecordLog

_PENDING = 1 << 16  # least number of hashes to collect before sorting them


class Recorder(Protocol):
    """Takes the counts of blocks, in order."""

    def add(self, counts: Counts, *, missing: Flags | None = None) -> None:
        """Add the counts of some texts. missing: which of them are NULL."""


class _Distinct:
    """Counts distinct hashes. New ones are merged when there are as many as all earlier ones."""

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
        return len(self.numbers)

    @property
    def numbers(self) -> Hashes:
        """The distinct hashes so far, in ascending order."""
        self._merge()
        return self._known

    def _merge(self) -> None:
        if self._new:
            self._known = np.unique(np.concatenate([self._known, *self._new]))
            self._new, self._pending = [], 0


class Tally:
    """Adds up the counts of blocks. Threads may share it. records: what a key drew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds = np.zeros(len(Kind), dtype=np.int64)
        self._rows = self._clear = self._symbols = self._texts_unchanged = 0
        self._unchanged: int | None = 0  # None: unknown
        self._unknown = _Distinct()
        self._largest = self._spent = 0.0
        self._largest_replaced = 0
        self.records = RecordLog()

    def add(self, counts: Counts, *, missing: Flags | None = None) -> None:
        """Add the counts of some texts. missing: which of them are NULL."""
        with self._lock:
            self._kinds += counts.by_kind.sum(axis=0)
            self._rows += len(counts.spent) - (0 if missing is None else int(missing.sum()))
            self._unchanged = None if self._unchanged is None else self._unchanged + int(counts.unchanged.sum())
            self._texts_unchanged += int(counts.texts_unchanged.sum())
            self._clear += int(counts.characters_in_clear.sum())
            self._symbols += int(counts.symbols.sum())
            self._unknown.add(counts.unknown_hashes)
            self._largest = max(self._largest, float(counts.spent.max(initial=0.0)))
            self._spent += float(counts.spent.sum())
            self._largest_replaced = max(self._largest_replaced, int(counts.by_kind[:, Kind.REPLACED].max(initial=0)))
            self.records.add(counts.drawn)

    def pack(self) -> bytes:
        """Return the counts that may be stored, to be added to the tally of another process."""
        counts = {
            "kinds": self._kinds.tolist(),
            "rows": self._rows,
            "texts_unchanged": self._texts_unchanged,
            "clear": self._clear,
            "symbols": self._symbols,
            "unknown": self._unknown.numbers.astype("<u8").tobytes().hex(),
            "largest": self._largest,
            "spent": self._spent,
            "largest_replaced": self._largest_replaced,
            "drawn": self.records.take_all().tobytes().hex(),
        }
        return json.dumps(counts).encode()

    def add_packed(self, packed: bytes) -> None:
        """Add the counts that another tally packed."""
        counts = json.loads(packed)
        with self._lock:
            self._kinds += np.array(counts["kinds"], dtype=np.int64)
            self._rows += counts["rows"]
            self._unchanged = None
            self._texts_unchanged += counts["texts_unchanged"]
            self._clear += counts["clear"]
            self._symbols += counts["symbols"]
            self._unknown.add(np.frombuffer(bytes.fromhex(counts["unknown"]), dtype="<u8").astype(np.uint64))
            self._largest = max(self._largest, counts["largest"])
            self._spent += counts["spent"]
            self._largest_replaced = max(self._largest_replaced, counts["largest_replaced"])
            self.records.add(np.frombuffer(bytes.fromhex(counts["drawn"]), dtype=DRAWN))

    @property
    def rows(self) -> int:
        """Texts so far that are not NULL."""
        return self._rows

    @property
    def words(self) -> int:
        """Words so far."""
        return int(self._kinds.sum())

    def receipt(self, policy: Policy, guarantee: Guarantee) -> Receipt:
        """Return the receipt of all texts so far, which were sanitized under this policy and guarantee."""
        counts = dict.fromkeys(COUNTS, 0)
        counts |= {one.name: int(self._kinds[kind]) for kind, one in policy.treatments.items()}
        return Receipt(
            rows=self._rows,
            words=self.words,
            counts=counts,
            replaced_unchanged=self._unchanged,
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
            texts_unchanged=self._texts_unchanged,
        )

    def _find_largest(self, budgets: tuple[float, ...]) -> float:
        """Return the largest eps of a row, as the float closest to the exact decimal value."""
        exact = float(Decimal(repr(budgets[-1])) * self._largest_replaced)
        return exact if math.isclose(exact, self._largest, rel_tol=1e-9) else float(f"{self._largest:.15g}")
