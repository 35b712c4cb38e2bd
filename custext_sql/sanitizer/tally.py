"""Counts what happened in each text, and adds it up into a receipt; what a key drew is counted by record."""

import json
import math
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Flags, Floats, Hashes, Numbers, Places
from custext_sql.kinds import COUNTS, Kind
from custext_sql.sanitizer.policy import Policy
from custext_sql.sanitizer.receipt import Guarantee, Receipt

# The columns of `Counts.numbers`: words of each kind; then replaced words that drew themselves; 1 if the text has words
# and all of them came out as they went in, apart from case; characters of words that were kept; and characters of the
# new text that are neither words, spaces nor punctuation.
UNCHANGED, TEXT_UNCHANGED, CLEAR, SYMBOLS = range(len(Kind), len(Kind) + 4)
COLUMNS = len(Kind) + 4

PREFIXES = 256  # parts of a log of draws, by the first byte of the digest of the record
DRAWN = np.dtype([("record", "<u8"), ("text", "<u8"), ("words", "<u4")])  # digests, and the words drawn: 20 bytes
Drawn = npt.NDArray[np.void]  # of the type DRAWN

_RUN = 1 << 17  # draws to collect in memory before they go to a file
_PENDING = 1 << 16  # least number of hashes to collect before sorting them


def no_draws() -> Drawn:
    """Return an array without draws."""
    return np.zeros(0, dtype=DRAWN)


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts for each of some new texts."""

    numbers: Numbers  # a row for each text, see above
    spent: Floats  # eps
    unknown_texts: Places  # the index of the text of each unknown word that was kept
    unknown_hashes: Hashes  # the hash of each of these words, folded
    drawn: Drawn = field(default_factory=no_draws)  # what a key drew, in any order; without texts that spend nothing

    @property
    def by_kind(self) -> Numbers:
        """Words of each kind, one row for each text."""
        return self.numbers[:, : len(Kind)]

    def __getitem__(self, texts: slice) -> "Counts":
        """Return the counts of some consecutive texts, without what a key drew."""
        first, last, _ = texts.indices(len(self.spent))
        within = (self.unknown_texts >= first) & (self.unknown_texts < last)
        unknown = self.unknown_texts[within] - first, self.unknown_hashes[within]
        return Counts(self.numbers[texts], self.spent[texts], *unknown)

    def with_digests(self, rows: Places, records: Hashes, texts: Hashes) -> "Counts":
        """Return the counts with the digests of the record and of the text of rows that spent anything."""
        words = self.numbers[:, Kind.REPLACED].take(rows)
        some = ((words > 0) & (self.spent.take(rows) > 0)).nonzero()[0]
        drawn = np.empty(len(some), dtype=DRAWN)
        drawn["record"], drawn["text"], drawn["words"] = records.take(some), texts.take(some), words.take(some)
        return replace(self, drawn=drawn)

    def __add__(self, other: "Counts") -> "Counts":
        """Return the counts of texts that are pairwise counted as one, such as the columns of a row."""
        return Counts(
            self.numbers + other.numbers,
            self.spent + other.spent,
            np.concatenate([self.unknown_texts, other.unknown_texts]),
            np.concatenate([self.unknown_hashes, other.unknown_hashes]),
            np.concatenate([self.drawn, other.drawn]),
        )


def join_counts(parts: Sequence[Counts]) -> Counts:
    """Return the counts of the texts of all parts, one after the other."""
    none = np.zeros(0, dtype=np.int64)
    firsts = np.cumsum([0, *(len(part.spent) for part in parts)])
    return Counts(
        np.concatenate([np.zeros((0, COLUMNS), dtype=np.int64), *(part.numbers for part in parts)]),
        np.concatenate([np.zeros(0), *(part.spent for part in parts)]),
        np.concatenate([none, *(part.unknown_texts + first for part, first in zip(parts, firsts, strict=False))]),
        np.concatenate([np.zeros(0, dtype=np.uint64), *(part.unknown_hashes for part in parts)]),
        np.concatenate([no_draws(), *(part.drawn for part in parts)]),
    )


def find_prefixes(draws: Drawn) -> Numbers:
    """Return where the draws of each prefix begin, and where the last ones end, in sorted draws."""
    edges = np.arange(PREFIXES, dtype=np.uint64) << np.uint64(56)
    return np.append(np.ascontiguousarray(draws["record"]).searchsorted(edges), len(draws))


class RecordLog:
    """The draws of a release, by prefix. Most of those of a long release are in a private file without a name."""

    def __init__(self) -> None:
        self._file: BinaryIO | None = None
        self.clear()

    def clear(self) -> None:
        """Forget all draws."""
        self._new: list[Drawn] = []
        self._pending = 0
        self._runs: list[tuple[Drawn | int, Numbers]] = []  # sorted draws or where they begin in the file; their places
        if self._file is not None:
            self._file.close()
        self._file = None

    def __del__(self) -> None:
        self.clear()

    def add(self, draws: Drawn) -> None:
        """Add draws, in any order."""
        self._new += [draws] if len(draws) else []
        self._pending += len(draws)
        if self._pending >= _RUN:
            self._end_run(to_file=True)

    def __bool__(self) -> bool:
        return bool(self._new or self._runs)

    def take_all(self) -> Drawn:
        """Return all draws, for a log of a few texts."""
        return np.concatenate([no_draws(), *map(self.read, range(PREFIXES))])

    def read(self, prefix: int) -> Drawn:
        """Return all draws with a prefix."""
        if self._new:
            self._end_run(to_file=False)
        found = [no_draws()]
        for run, places in self._runs:
            first, last = int(places[prefix]), int(places[prefix + 1])
            if isinstance(run, int):
                assert self._file is not None
                self._file.seek(run + first * DRAWN.itemsize)
                found.append(np.frombuffer(self._file.read((last - first) * DRAWN.itemsize), dtype=DRAWN))
            else:
                found.append(run[first:last])
        return np.concatenate(found)

    def _end_run(self, *, to_file: bool) -> None:
        draws = np.concatenate(self._new)
        draws = draws[np.argsort(np.ascontiguousarray(draws["record"]))]
        self._new, self._pending = [], 0
        run: Drawn | int = draws
        if to_file:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="custext-")  # noqa: SIM115  (closed with the log)
            run = self._file.seek(0, 2)
            self._file.write(draws.tobytes())
        self._runs.append((run, find_prefixes(draws)))


class Recorder(Protocol):
    """Takes the counts of blocks, in order."""

    def add(self, counts: Counts, *, missing: Flags | None = None) -> None: ...


class _Distinct:
    """Distinct hashes. New ones are merged when there are as many as all earlier ones."""

    def __init__(self) -> None:
        self._parts = [np.zeros(0, dtype=np.uint64)]  # first those that are merged
        self._pending = 0

    def add(self, hashes: Hashes) -> None:
        self._parts += [hashes] if len(hashes) else []
        self._pending += len(hashes)
        if self._pending > max(_PENDING, len(self._parts[0])):
            self.merge()

    def merge(self) -> Hashes:
        """Return the distinct hashes so far, in ascending order."""
        if self._pending:
            self._parts, self._pending = [np.unique(np.concatenate(self._parts))], 0
        return self._parts[0]


class Tally:
    """Adds up the counts of blocks. Threads may share it. records: what a key drew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals = np.zeros(COLUMNS, dtype=np.int64)
        self._is_part = False  # whether other processes counted some of it; they keep to themselves what drew itself
        self._rows = self._most_replaced = 0
        self._largest = self._spent = 0.0
        self._unknown = _Distinct()
        self.records = RecordLog()

    def add(self, counts: Counts, *, missing: Flags | None = None) -> None:
        """Add the counts of some texts. missing: which of them are NULL."""
        with self._lock:
            self._totals += counts.numbers.sum(axis=0)
            self._rows += len(counts.spent) - (0 if missing is None else int(missing.sum()))
            self._most_replaced = max(self._most_replaced, int(counts.numbers[:, Kind.REPLACED].max(initial=0)))
            self._largest = max(self._largest, float(counts.spent.max(initial=0.0)))
            self._spent += float(counts.spent.sum())
            self._unknown.add(counts.unknown_hashes)
            self.records.add(counts.drawn)

    def pack(self) -> bytes:
        """Return the counts that may be stored, to be added to the tally of another process."""
        counts = {
            "totals": np.where(np.arange(COLUMNS) == UNCHANGED, 0, self._totals).tolist(),
            "rows": self._rows,
            "most_replaced": self._most_replaced,
            "largest": self._largest,
            "spent": self._spent,
            "unknown": self._unknown.merge().astype("<u8").tobytes().hex(),
            "drawn": self.records.take_all().tobytes().hex(),
        }
        return json.dumps(counts).encode()

    def add_packed(self, packed: bytes) -> None:
        """Add the counts that another tally packed."""
        counts = json.loads(packed)
        with self._lock:
            self._totals += np.array(counts["totals"], dtype=np.int64)
            self._is_part = True
            self._rows += counts["rows"]
            self._most_replaced = max(self._most_replaced, counts["most_replaced"])
            self._largest = max(self._largest, counts["largest"])
            self._spent += counts["spent"]
            self._unknown.add(np.frombuffer(bytes.fromhex(counts["unknown"]), dtype="<u8").astype(np.uint64))
            self.records.add(np.frombuffer(bytes.fromhex(counts["drawn"]), dtype=DRAWN))

    @property
    def rows(self) -> int:
        """Texts so far that are not NULL."""
        return self._rows

    @property
    def words(self) -> int:
        """Words so far."""
        return int(self._totals[: len(Kind)].sum())

    def receipt(self, policy: Policy, guarantee: Guarantee) -> Receipt:
        """Return the receipt of all texts so far, which were sanitized under this policy and guarantee."""
        totals = self._totals.tolist()
        counts = dict.fromkeys(COUNTS, 0)
        counts |= {one.name: totals[kind] for kind, one in policy.treatments.items()}
        return Receipt(
            rows=self._rows,
            words=self.words,
            counts=counts,
            replaced_unchanged=None if self._is_part else totals[UNCHANGED],
            characters_in_clear=totals[CLEAR],
            eps=guarantee.budgets[-1],
            budgets=guarantee.budgets,
            largest_row_eps=self._find_largest(guarantee.budgets),
            mean_row_eps=self._spent / self._rows if self._rows else 0.0,
            mapping=guarantee.mapping,
            fingerprint=guarantee.fingerprint,
            worst_log_ratio=guarantee.worst_log_ratio,
            union_log_ratio=guarantee.union_log_ratio,
            hides_among=guarantee.hides_among,
            symbols=totals[SYMBOLS],
            unknown_distinct=len(self._unknown.merge()),
            texts_unchanged=totals[TEXT_UNCHANGED],
        )

    def _find_largest(self, budgets: tuple[float, ...]) -> float:
        """Return the largest eps of a row, as the float closest to the exact decimal value."""
        exact = float(Decimal(repr(budgets[-1])) * self._most_replaced)
        return exact if math.isclose(exact, self._largest, rel_tol=1e-9) else float(f"{self._largest:.15g}")
