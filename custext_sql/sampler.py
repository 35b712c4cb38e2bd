"""Draws words of a mapping from verified tables, which are made and verified as they are needed."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from custext_sql.certified_table import cells_of, certify
from custext_sql.mapping import Mapping
from custext_sql.mechanism import Weights, check_calibration, check_epsilon
from custext_sql.randomness import Draws
from custext_sql.similarity import Floats

Numbers = npt.NDArray[np.int64]

_CELLS = 1 << 24  # thresholds kept for all eps together (128 MB); the eps least recently used goes
_EPSILONS = 256  # for which any are kept
_CELLS_AT_ONCE = 1 << 21  # made for several eps at once


@dataclass(frozen=True, eq=False)
class _Table:
    """What is verified at one eps so far: where the thresholds of each word begin (-1: nowhere yet), and these.

    high_bits: the highest 16 bits of each threshold, so that a word's row fits into one or two lines of the cache.
    """

    rows: Numbers
    last_draws: Weights
    high_bits: npt.NDArray[np.uint16]
    worst_log_ratio: float


class Sampler:
    """The exponential mechanism on the groups of a mapping. Threads may share it.

    A group's table at some eps is verified, in this process, before the first draw from it; groups that do not occur
    cost nothing.
    """

    def __init__(self, mapping: Mapping, calibration: str) -> None:
        self.mapping = mapping
        self.calibration = check_calibration(calibration)
        self._group_of = np.repeat(np.arange(len(mapping.sizes)), mapping.sizes)
        self._last_of = mapping.sizes[self._group_of] - 1
        self._first_of = mapping.word_starts[self._group_of]
        self._first_step = 1 << int(mapping.sizes.max() - 1).bit_length()
        self._tables: OrderedDict[float, _Table] = OrderedDict()
        self._latest = (0.0, self._empty())  # the eps used last; read without the lock, so that threads do not wait
        self._lock = threading.Lock()

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """The replacement of each word, at one eps or at one for each word, by a draw for each."""
        if not len(words):
            return words
        if isinstance(epsilon, float):
            before, table = self._latest
            if before != epsilon or self._misses(table, words):
                [table] = self._prepare([check_epsilon(epsilon)], [words])
            return self._choose(table, words, draws)
        chosen = np.empty_like(words)
        order = np.argsort(epsilon, kind="stable")
        distinct, starts = np.unique(epsilon[order], return_index=True)
        places = np.split(order, starts[1:])
        for part in self._parts(words, places):
            within = [words[place] for place in places[part]]
            tables = self._prepare([check_epsilon(value) for value in distinct[part].tolist()], within)
            for table, place in zip(tables, places[part], strict=True):
                chosen[place] = self._choose(table, words[place], draws[place])
        return chosen

    def row(self, word: int, epsilon: float) -> list[int]:
        """The weights from which a word's replacement is drawn, in the order of its group; they sum to 2**64."""
        [table] = self._prepare([check_epsilon(epsilon)], [np.array([word])])
        start = int(table.rows[word])
        ends = table.last_draws[start : start + int(self._last_of[word]) + 1].tolist()
        return [end - before for before, end in zip([-1, *ends], ends, strict=False)]

    def worst_log_ratio(self, epsilon: float) -> float:
        """The largest of all groups at this eps."""
        [table] = self._prepare([check_epsilon(epsilon)], [self.mapping.word_starts])
        return table.worst_log_ratio

    def _choose(self, table: _Table, words: Numbers, draws: Draws) -> Numbers:
        """The output to which each draw falls: so many thresholds lie below it.

        16 bits decide nearly always; where they are those of the next threshold too, all 64 do.
        """
        starts, last = table.rows.take(words), self._last_of.take(words)
        high = (draws >> np.uint64(48)).astype(np.uint16)
        below = self._count_below(table.high_bits, starts, last, high)
        tied = (table.high_bits.take(starts + below) == high).nonzero()[0]
        below[tied] = self._count_below(table.last_draws, starts[tied], last[tied], draws[tied])
        chosen: Numbers = self._first_of.take(words) + below
        return chosen

    def _count_below(
        self, thresholds: npt.NDArray[Any], starts: Numbers, last: Numbers, draws: npt.NDArray[Any]
    ) -> Numbers:
        """How many thresholds of each row lie below the draw, by bisection; the last never does."""
        below = np.zeros(len(starts), dtype=np.int64)
        step = self._first_step
        while step := step >> 1:
            middle = np.minimum(below + (step - 1), last)
            middle += starts
            below += (thresholds.take(middle) < draws) * step
        return below

    def _parts(self, words: Numbers, places: Sequence[Numbers]) -> list[slice]:
        """Consecutive eps whose groups may be made together."""
        cells = np.cumsum([((self._last_of[words[place]] + 1) ** 2).sum() for place in places])
        bounds = np.flatnonzero(np.diff(cells // _CELLS_AT_ONCE)) + 1
        return [slice(start, end) for start, end in zip([0, *bounds], [*bounds, len(places)], strict=True)]

    def _prepare(self, epsilons: Sequence[float], words: Sequence[Numbers]) -> list[_Table]:
        """For each eps a table in which all these words have their thresholds."""
        with self._lock:
            tables = [self._tables.get(epsilon) or self._empty() for epsilon in epsilons]
            missing = [self._find_missing(table, found) for table, found in zip(tables, words, strict=True)]
            if any(map(len, missing)):
                tables = self._extend(epsilons, tables, missing)
            for epsilon, table in zip(epsilons, tables, strict=True):
                self._tables[epsilon] = table
                self._tables.move_to_end(epsilon)
            self._latest = (epsilons[-1], tables[-1])
            self._forget(len(epsilons))
        return tables

    def _misses(self, table: _Table, words: Numbers) -> bool:
        """Whether the table does not have the groups of all these words yet."""
        return int(table.rows.take(words).min(initial=0)) < 0

    def _find_missing(self, table: _Table, words: Numbers) -> Numbers:
        """The groups of these words that the table does not have yet."""
        if not self._misses(table, words):
            return words[:0]
        return np.unique(self._group_of[words[table.rows[words] < 0]])

    def _empty(self) -> _Table:
        rows = np.full(len(self.mapping.words), -1, dtype=np.int64)
        return _Table(rows, np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint16), 0.0)

    def _extend(self, epsilons: Sequence[float], tables: Sequence[_Table], missing: Sequence[Numbers]) -> list[_Table]:
        """Each table with the groups it misses, all verified in one go."""
        groups = np.concatenate(missing)
        counts = [len(some) for some in missing]
        sizes = self.mapping.sizes[groups]
        scores = self.mapping.scores[cells_of(self.mapping.sizes, groups)]
        made = certify(sizes, scores, np.repeat(np.array(epsilons), counts), self.calibration)
        last_draws = made.last_draws()
        starts = np.concatenate([[0], np.cumsum(sizes**2)])
        extended = []
        end = 0
        for table, count in zip(tables, counts, strict=True):
            begin, end = end, end + count
            if count:
                rows = table.rows.copy()  # other threads may read the table as it was
                first = len(table.last_draws) + starts[begin:end] - starts[begin]
                members, rows_of = _lay_out(self.mapping.word_starts[groups[begin:end]], first, sizes[begin:end])
                rows[members] = rows_of
                thresholds = np.concatenate([table.last_draws, last_draws[starts[begin] : starts[end]]])
                worst = max(table.worst_log_ratio, float(made.log_ratios[begin:end].max()))
                table = _Table(rows, thresholds, (thresholds >> np.uint64(48)).astype(np.uint16), worst)
            extended.append(table)
        return extended

    def _forget(self, keep: int) -> None:
        """Drop what was used least recently, but not the tables of the last `keep` eps."""
        cells = sum(len(table.last_draws) for table in self._tables.values())
        while len(self._tables) > keep and (cells > _CELLS or len(self._tables) > _EPSILONS):
            cells -= len(self._tables.popitem(last=False)[1].last_draws)

    def __getstate__(self) -> dict[str, Any]:
        """Without tables: what another process samples from, it verifies itself."""
        return {**self.__dict__, "_tables": OrderedDict(), "_latest": (0.0, self._empty()), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


def _lay_out(firsts: Numbers, starts: Numbers, sizes: Numbers) -> tuple[Numbers, Numbers]:
    """The words of groups, given by the first of each, and where the row of each word begins."""
    place = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(firsts, sizes) + place, np.repeat(starts, sizes) + place * np.repeat(sizes, sizes)
