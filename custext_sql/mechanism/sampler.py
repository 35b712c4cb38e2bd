"""Draws replacements from verified tables, which are built and verified when they are first needed."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Draws, Flags, Floats, Numbers, Places, Sizes, Weights
from custext_sql.mapping.mapping import Mapping
from custext_sql.mapping.similarity import STEPS
from custext_sql.mechanism.certified_table import certify, find_representatives
from custext_sql.mechanism.verifier import verify_weights
from custext_sql.mechanism.weights import cells_of, check_calibration, check_epsilon
from custext_sql.text.word_boundaries import fold_word

Shortcuts = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]

_BYTES = 1 << 28  # cached for all eps together; the least recently used eps is dropped first
_EPSILONS = 256  # largest number of eps in the cache
_CELLS_BUILT = 1 << 18  # at once: each takes some 60 bytes meanwhile
_CELLS_VERIFIED = 1 << 19  # at once, when no table is kept
_DRAWS_PER_ROW = 0.5  # in one call; from here on, shortcuts pay off
_ROWS_AT_ONCE = 2048  # of shortcuts: the counts of so many take a few megabytes
_SHORTCUTS_PER_OUTPUT = 12  # at least; fewer are ambiguous more often, more take more memory
_LAST = np.uint64((1 << 64) - 1)  # the largest draw: no draw is above it


def count_below(thresholds: Weights, shortcuts: Shortcuts | None, rows: Numbers, draws: Draws) -> Numbers:
    """Return how many thresholds of its row lie below each draw.

    thresholds: in ascending order in each row, the last one 2**64 - 1. shortcuts: of `find_shortcuts`; None without.

    With the thresholds (9, 19, 2**64 - 1) and (4, 2**64 - 1, 2**64 - 1), rows 0 0 1 and draws 9 20 5 give 0 2 1.
    """
    if shortcuts is None:
        return _bisect(thresholds, rows, draws)
    bits = shortcuts.shape[1].bit_length() - 1
    places = (draws >> np.uint64(64 - bits)).view(np.int64)
    places += rows << bits
    found = shortcuts.reshape(-1).take(places)
    several = (found == np.iinfo(found.dtype).max).nonzero()[0]
    counts = found.astype(np.int64)
    counts[several] = _bisect(thresholds, rows.take(several), draws.take(several))
    return counts


def _bisect(thresholds: Weights, rows: Numbers, draws: Draws) -> Numbers:
    last = thresholds.shape[1] - 1
    flat, starts = thresholds.reshape(-1), rows * thresholds.shape[1]
    below = np.zeros(len(rows), dtype=np.int64)
    step = 1 << last.bit_length()
    while step := step >> 1:
        middle = np.minimum(below + (step - 1), last)  # the last threshold is not below any draw
        middle += starts
        below += (flat.take(middle) < draws) * step
    return below


def find_shortcuts(thresholds: Weights, used: int | None = None) -> Shortcuts:
    """Return for each row, and each value of a draw's highest bits, how many thresholds lie below all such draws.

    Where a threshold has the same highest bits, draws differ: the largest number of the type is stored instead, and all
    64 bits decide. used: the number of rows to fill; the others stay undefined.
    """
    (room, largest), used = thresholds.shape, len(thresholds) if used is None else used
    kind: Any = np.uint8 if largest < np.iinfo(np.uint8).max else np.uint16
    bits = (_SHORTCUTS_PER_OUTPUT * largest).bit_length()
    shortcuts: Shortcuts = np.empty((room, 1 << bits), dtype=kind)
    for first in range(0, used, _ROWS_AT_ONCE):
        some = slice(first, min(first + _ROWS_AT_ONCE, used))
        rows, columns = (thresholds[some] < _LAST).nonzero()
        places = (thresholds[some][rows, columns] >> np.uint64(64 - bits)).view(np.int64)
        size = len(thresholds[some])
        counts = np.bincount(places + (rows << bits), minlength=size << bits).astype(kind).reshape(size, 1 << bits)
        np.cumsum(counts, axis=1, dtype=kind, out=shortcuts[some])
        shortcuts[some][counts > 0] = np.iinfo(kind).max
    return shortcuts


@dataclass(frozen=True, eq=False)
class _Table:
    """What was verified so far at one eps.

    shifts: by group, what to add to the number of a word to find its row; the sum is negative if the group is not
    verified yet. rows: how many there are; the arrays have room for more, which later versions of the table share.
    thresholds: for each row, the last draw that selects each output, then 2**64 - 1 up to the largest group's size.
    """

    shifts: Numbers
    rows: int
    thresholds: Weights
    shortcuts: Shortcuts | None = None

    def extend(self, groups: Sizes, mapping: Mapping, thresholds: Weights) -> "_Table":
        """Return the table with the rows of more groups. Other threads may be reading this one."""
        sizes, shifts = mapping.sizes[groups], self.shifts.copy()
        shifts[groups] = self.rows + np.cumsum(sizes) - sizes - mapping.word_starts[groups]
        rows, most, shortcuts = self.rows + len(thresholds), len(mapping.words), self.shortcuts
        if shortcuts is not None:
            shortcuts = _append(shortcuts, self.rows, find_shortcuts(thresholds), most)
        return _Table(shifts, rows, _append(self.thresholds, self.rows, thresholds, most), shortcuts)

    def wants_shortcuts(self, draws: int) -> bool:
        """Return whether so many draws make shortcuts pay off that the table does not have yet."""
        return self.shortcuts is None and _DRAWS_PER_ROW * self.rows <= draws


def _append(rows: npt.NDArray[Any], used: int, new: npt.NDArray[Any], most: int) -> npt.NDArray[Any]:
    """Return an array whose first `used` rows are those given, then new ones. most: rows that it may ever need."""
    end = used + len(new)
    if end > len(rows):  # four times what it needs: memory that is never written to costs nothing
        larger = np.empty((min(4 * end, most), rows.shape[1]), dtype=rows.dtype)
        larger[:used] = rows[:used]
        rows = larger
    rows[used:end] = new
    return rows


class Sampler:
    """The exponential mechanism on the groups of a mapping. Threads may share it.

    The table of a group at an eps is verified in this process before the first draw from it.
    """

    def __init__(self, mapping: Mapping, calibration: str) -> None:
        self.mapping = mapping
        self.calibration = check_calibration(calibration)
        self._group_of = mapping.group_of
        self._first_of = mapping.word_starts[self._group_of]
        self._tables: OrderedDict[float, _Table] = OrderedDict()
        self._latest = (0.0, self._empty())  # the last eps; read without the lock, so that threads do not wait
        self._lock = threading.Lock()

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the replacement of each word. epsilon: one for all words or one per word. draws: one per word."""
        if not len(words):
            return words
        if isinstance(epsilon, float):
            before, table = self._latest
            rows = self._find_rows(table, words)
            if before != epsilon or rows.min() < 0 or table.wants_shortcuts(len(words)):
                [table] = self._prepare([epsilon], [words])
                rows = self._find_rows(table, words)
            return self._first_of.take(words) + count_below(table.thresholds, table.shortcuts, rows, draws)
        chosen = np.empty_like(words)
        order = np.argsort(epsilon, kind="stable")
        distinct, starts = np.unique(epsilon[order], return_index=True)
        places = np.split(order, starts[1:])
        cells = np.cumsum([(self.mapping.sizes[self._group_of[words[place]]] ** 2).sum() for place in places])
        for part in _cut(cells, _CELLS_BUILT):
            tables = self._prepare(distinct[part].tolist(), [words[place] for place in places[part]])
            for table, place in zip(tables, places[part], strict=True):
                rows = self._find_rows(table, words[place])
                chosen[place] = count_below(table.thresholds, table.shortcuts, rows, draws[place])
        return self._first_of[words] + chosen

    def row(self, word: int, epsilon: float) -> list[int]:
        """Return the weights of the possible replacements of a word, in the order of its group. They sum to 2**64."""
        words = np.array([word])
        [table] = self._prepare([epsilon], [words])
        size = self.mapping.sizes[self._group_of[word]]
        ends = table.thresholds[self._find_rows(table, words)[0], :size].tolist()
        return [end - before for before, end in zip([-1, *ends], ends, strict=False)]

    def worst_log_ratio(self, epsilons: Sequence[float], drawn: Flags | None = None) -> float:
        """Return the largest log-ratio of all groups, over the tables at all these eps together, of the drawn words."""
        budgets, mapping = [check_epsilon(epsilon) for epsilon in epsilons], self.mapping
        found = []
        for part in _cut(np.cumsum(mapping.sizes**2), _CELLS_VERIFIED):
            sizes = mapping.sizes[part]
            scores = mapping.scores[cells_of(mapping.sizes, np.arange(part.start, part.stop))]
            tables = [certify(sizes, scores, epsilon, self.calibration) for epsilon in budgets]
            ratios = tables[0].log_ratios
            if len(tables) > 1 or drawn is not None:  # else `certify` has just verified the same
                most, first = np.full(len(sizes), max(budgets)), int(mapping.word_starts[part.start])
                inputs = None if drawn is None else drawn[first : first + int(sizes.sum())]
                verdict = verify_weights(sizes, [table.weights for table in tables], most, inputs)
                ratios = np.where(verdict.holds, np.minimum(verdict.log_ratios, most), verdict.log_ratios)
            found.append(float(ratios.max()))
        return max(found)

    def _prepare(self, epsilons: Sequence[float], words: Sequence[Numbers]) -> list[_Table]:
        """Return the table at each eps, extended to include all of these words."""
        epsilons = [check_epsilon(epsilon) for epsilon in epsilons]
        with self._lock:
            tables = [self._tables.get(epsilon) or self._empty() for epsilon in epsilons]
            missing = [
                np.unique(self._group_of[some[self._find_rows(table, some) < 0]])
                for table, some in zip(tables, words, strict=True)
            ]
            if any(map(len, missing)):
                tables = self._extend(epsilons, tables, missing)
            for place, (epsilon, table) in enumerate(zip(epsilons, tables, strict=True)):
                if table.wants_shortcuts(len(words[place])):
                    tables[place] = replace(table, shortcuts=find_shortcuts(table.thresholds, table.rows))
                self._tables[epsilon] = tables[place]
                self._tables.move_to_end(epsilon)
            self._latest = (epsilons[-1], tables[-1])
            self._forget(len(epsilons))
        return tables

    def _find_rows(self, table: _Table, words: Numbers) -> Numbers:
        """Return the rows of words in a table, negative for those of groups that are not verified yet."""
        return words + table.shifts.take(self._group_of.take(words))

    def _empty(self) -> _Table:
        shifts = np.full(len(self.mapping.sizes), -len(self.mapping.words), dtype=np.int64)
        return _Table(shifts, 0, np.zeros((0, int(self.mapping.sizes.max())), dtype=np.uint64))

    def _extend(self, epsilons: Sequence[float], tables: Sequence[_Table], missing: Sequence[Sizes]) -> list[_Table]:
        """Return the tables at each eps, extended by their missing groups, which are built and verified in parts."""
        mapping, extended, groups = self.mapping, list(tables), np.concatenate(missing)
        owners = np.repeat(np.arange(len(tables)), list(map(len, missing)))
        for part in _cut(np.cumsum(mapping.sizes[groups] ** 2), _CELLS_BUILT):
            some, owner_of = groups[part], owners[part]
            sizes, scores = mapping.sizes[some], mapping.scores[cells_of(mapping.sizes, some)]
            outputs = np.repeat(sizes, sizes)[:, None]
            thresholds = np.full((len(outputs), int(mapping.sizes.max())), _LAST)
            filled = np.arange(thresholds.shape[1]) < outputs
            thresholds[filled] = certify(sizes, scores, np.array(epsilons)[owner_of], self.calibration).last_draws()
            for owner in np.unique(owner_of).tolist():
                own = owner_of == owner
                extended[owner] = extended[owner].extend(some[own], mapping, thresholds[np.repeat(own, sizes)])
        return extended

    def _forget(self, keep: int) -> None:
        """Drop the least recently used tables while the cache is too large, but keep those of the last `keep` eps."""
        arrays = ((table.shifts, table.thresholds, table.shortcuts) for table in self._tables.values())
        sizes = [sum(part.nbytes for part in parts if part is not None) for parts in arrays]
        while len(self._tables) > keep and (sum(sizes) > _BYTES or len(self._tables) > _EPSILONS):
            self._tables.popitem(last=False)
            sizes.pop(0)

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


@dataclass(frozen=True)
class Replacement:
    """A possible replacement: the output word, its score (at most 1 in absolute value) and its probability."""

    output: str
    score: float
    probability: float


@dataclass(frozen=True)
class Distribution:
    """All possible replacements of a word, most probable first."""

    word: str
    mapping: str
    eps: float
    group: tuple[Replacement, ...]


def find_distribution(
    sampler: Sampler, word: str, epsilon: float, representatives: Places | None = None
) -> Distribution:
    """Return the possible replacements of a word. representatives: at eps = 0; by default as if no stopwords were kept.

    Raise MappingError if the mapping does not have the word, SettingError if eps is invalid.
    """
    mapping, epsilon = sampler.mapping, check_epsilon(epsilon)
    number, (outputs, scores) = mapping.find(word), mapping.find_row(word)
    if epsilon:
        chances = [weight / 2.0**64 for weight in sampler.row(number, epsilon)]
    else:
        chosen = find_representatives(mapping) if representatives is None else representatives
        chances = [float(output == mapping.words[chosen[number]]) for output in outputs]
    group = map(Replacement, outputs, (int(score) / STEPS for score in scores), chances)
    ordered = sorted(group, key=lambda replacement: (-replacement.probability, -replacement.score))
    return Distribution(fold_word(word), mapping.info.name, epsilon, tuple(ordered))
