"""Draws replacements from verified tables, which are built and verified when they are first needed."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from custext_sql.arrays import Draws, Flags, Floats, Numbers
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import cells_of, certify
from custext_sql.mechanism.draw_table import DrawTable
from custext_sql.mechanism.verifier import verify_union
from custext_sql.mechanism.weights import check_calibration, check_epsilon

_BYTES = 1 << 28  # cached for all eps together; the least recently used eps is dropped first
_EPSILONS = 256  # largest number of eps in the cache
_CELLS_BUILT = 1 << 21  # at once, for several eps
_CELLS_VERIFIED = 1 << 19  # at once, when no table is kept
_DRAWS_PER_ROW = 0.5  # in one call; from here on, shortcuts pay off


@dataclass(frozen=True, eq=False)
class _Verified:
    """The tables verified so far at one eps.

    shifts: by group, what to add to the number of a word to find its row in `table`. The sum is negative if the group
    is not verified yet.
    """

    shifts: Numbers
    table: DrawTable

    @property
    def nbytes(self) -> int:
        """The memory that they take."""
        return self.shifts.nbytes + self.table.nbytes


class Sampler:
    """The exponential mechanism on the groups of a mapping. Threads may share it.

    The table of a group at an eps is verified in this process before the first draw from it. Groups that do not occur
    cost nothing.
    """

    def __init__(self, mapping: Mapping, calibration: str) -> None:
        self.mapping = mapping
        self.calibration = check_calibration(calibration)
        self._group_of = np.repeat(np.arange(len(mapping.sizes)), mapping.sizes)
        self._first_of = mapping.word_starts[self._group_of]
        self._largest = int(mapping.sizes.max())
        self._tables: OrderedDict[float, _Verified] = OrderedDict()
        self._latest = (0.0, self._empty())  # the last eps; read without the lock, so that threads do not wait
        self._lock = threading.Lock()

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the replacement of each word. epsilon: one for all words or one per word. draws: one per word."""
        if not len(words):
            return words
        if isinstance(epsilon, float):
            before, verified = self._latest
            rows = self._find_rows(verified, words)
            if before != epsilon or rows.min() < 0 or _wants_shortcuts(verified.table, words):
                [verified] = self._prepare([check_epsilon(epsilon)], [words])
                rows = self._find_rows(verified, words)
            return self._first_of.take(words) + verified.table.choose(rows, draws)
        chosen = np.empty_like(words)
        order = np.argsort(epsilon, kind="stable")
        distinct, starts = np.unique(epsilon[order], return_index=True)
        places = np.split(order, starts[1:])
        for part in self._parts(words, places):
            within = [words[place] for place in places[part]]
            prepared = self._prepare([check_epsilon(value) for value in distinct[part].tolist()], within)
            for verified, place in zip(prepared, places[part], strict=True):
                chosen[place] = verified.table.choose(self._find_rows(verified, words[place]), draws[place])
        return self._first_of[words] + chosen

    def row(self, word: int, epsilon: float) -> list[int]:
        """Return the weights of the possible replacements of a word, in the order of its group. They sum to 2**64."""
        words = np.array([word])
        [verified] = self._prepare([check_epsilon(epsilon)], [words])
        return verified.table.row(int(self._find_rows(verified, words)[0]))

    def worst_log_ratio(self, epsilons: Sequence[float], drawn: Flags | None = None) -> float:
        """Return the largest log-ratio of all groups, over the tables at all these eps together.

        drawn: which words of the mapping are drawn at all; others are not considered as inputs. None: all are drawn.
        """
        budgets = [check_epsilon(epsilon) for epsilon in epsilons]
        cells = np.cumsum(self.mapping.sizes**2)
        return max(self._find_worst(part, budgets, drawn) for part in _cut(cells, _CELLS_VERIFIED))

    def _find_worst(self, groups: slice, epsilons: Sequence[float], drawn: Flags | None) -> float:
        """Return the largest log-ratio of consecutive groups."""
        sizes, scores = self.mapping.sizes, self.mapping.scores
        before, within = int((sizes[: groups.start] ** 2).sum()), sizes[groups]
        scores = scores[before : before + int((within**2).sum())]
        tables = [certify(within, scores, epsilon, self.calibration) for epsilon in epsilons]
        if len(tables) == 1 and drawn is None:
            return float(tables[0].log_ratios.max())
        if drawn is not None:
            first = int(self.mapping.word_starts[groups.start])
            drawn = drawn[first : first + int(within.sum())]
        verdict = verify_union(within, [table.weights for table in tables], max(epsilons), drawn)
        ratios = np.where(verdict.holds, np.minimum(verdict.log_ratios, max(epsilons)), verdict.log_ratios)
        return float(ratios.max())

    def _parts(self, words: Numbers, places: Sequence[Numbers]) -> list[slice]:
        """Return slices of consecutive eps whose groups are built together."""
        cells = np.cumsum([(self.mapping.sizes[self._group_of[words[place]]] ** 2).sum() for place in places])
        return _cut(cells, _CELLS_BUILT)

    def _prepare(self, epsilons: Sequence[float], words: Sequence[Numbers]) -> list[_Verified]:
        """Return for each eps the verified tables, extended to include all of these words."""
        with self._lock:
            prepared = [self._tables.get(epsilon) or self._empty() for epsilon in epsilons]
            missing = [self._find_missing(before, found) for before, found in zip(prepared, words, strict=True)]
            if any(map(len, missing)):
                prepared = self._extend(epsilons, prepared, missing)
            prepared = [_with_shortcuts(verified, found) for verified, found in zip(prepared, words, strict=True)]
            for epsilon, verified in zip(epsilons, prepared, strict=True):
                self._tables[epsilon] = verified
                self._tables.move_to_end(epsilon)
            self._latest = (epsilons[-1], prepared[-1])
            self._forget(len(epsilons))
        return prepared

    def _find_missing(self, verified: _Verified, words: Numbers) -> Numbers:
        """Return the groups of these words that are not verified yet."""
        return np.unique(self._group_of[words[self._find_rows(verified, words) < 0]])

    def _find_rows(self, verified: _Verified, words: Numbers) -> Numbers:
        """Return the rows of words in a verified table, negative for those of groups that are not verified yet."""
        return words + verified.shifts.take(self._group_of.take(words))

    def _empty(self) -> _Verified:
        none = np.zeros(0, dtype=np.int64)
        shifts = np.full(len(self.mapping.sizes), -len(self.mapping.words), dtype=np.int64)
        return _Verified(shifts, DrawTable.make(none.astype(np.uint64), none, self._largest))

    def _extend(
        self, epsilons: Sequence[float], before: Sequence[_Verified], missing: Sequence[Numbers]
    ) -> list[_Verified]:
        """Return the tables at each eps, extended by their missing groups. All groups are verified in one call."""
        groups = np.concatenate(missing)
        counts = [len(some) for some in missing]
        sizes = self.mapping.sizes[groups]
        scores = self.mapping.scores[cells_of(self.mapping.sizes, groups)]
        made = certify(sizes, scores, np.repeat(np.array(epsilons), counts), self.calibration)
        last_draws = made.last_draws()
        starts = np.concatenate([[0], np.cumsum(sizes**2)])
        extended = []
        end = 0
        for verified, count in zip(before, counts, strict=True):
            begin, end = end, end + count
            if count:
                some = sizes[begin:end]
                shifts = verified.shifts.copy()  # other threads may be reading the old one
                new = groups[begin:end]
                shifts[new] = len(verified.table) + np.cumsum(some) - some - self.mapping.word_starts[new]
                more = DrawTable.make(last_draws[starts[begin] : starts[end]], np.repeat(some, some), self._largest)
                verified = _Verified(shifts, verified.table + more)
            extended.append(verified)
        return extended

    def _forget(self, keep: int) -> None:
        """Drop the least recently used tables while the cache is too large, but keep those of the last `keep` eps."""
        size = sum(verified.nbytes for verified in self._tables.values())
        while len(self._tables) > keep and (size > _BYTES or len(self._tables) > _EPSILONS):
            size -= self._tables.popitem(last=False)[1].nbytes

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without tables: another process verifies its tables itself."""
        return {**self.__dict__, "_tables": OrderedDict(), "_latest": (0.0, self._empty()), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


def _cut(cells: Numbers, most: int) -> list[slice]:
    """Return slices of consecutive things with about `most` cells each. cells: how many there are up to each thing."""
    bounds = (np.flatnonzero(np.diff(cells // most)) + 1).tolist()
    return [slice(start, end) for start, end in zip([0, *bounds], [*bounds, len(cells)], strict=True)]


def _wants_shortcuts(table: DrawTable, words: Numbers) -> bool:
    """Return whether there are enough words to make shortcuts pay off."""
    return table.shortcuts is None and _DRAWS_PER_ROW * len(table) <= len(words)


def _with_shortcuts(verified: _Verified, words: Numbers) -> _Verified:
    if not _wants_shortcuts(verified.table, words):
        return verified
    return replace(verified, table=verified.table.with_shortcuts())
