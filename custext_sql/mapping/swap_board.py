"""Words in groups, ready to be swapped: costs, gains and candidates, in integers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np

from custext_sql.arrays import Flags, Floats, Numbers, Places, Points
from custext_sql.mapping.group_pairs import Pairs, ranks_within
from custext_sql.mapping.grouping import Partition

RADIUS = 2048  # of the ball of quantized points: squared distances, up to 2**24, are exact in float32
_ROWS = 512  # words whose rows are copied at a time
_BLOCK_BYTES = 16 << 20  # of one float32 block of distances
_FOLD = 16  # columns of distances of which only the least is compared at first
_NEAR_GROUPS = 32  # that are considered for each group
_NEAREST = 4  # groups that are considered for each word
_PAIRS = 40  # at most, of each group
_SMALL_PRODUCT = 1 << 18  # multiplications; OpenBLAS does not split such products, which would cost more than it saves


@dataclass(frozen=True)
class Moves:
    """Moves of words to other groups: what each promises, the slot of the word, and squared distances.

    promises: by how much the cost would fall if no other word took the place. near, far: the squared distance of the
    word to the center of its group, and of the other group.
    """

    promises: Floats
    slots: Places
    near: Numbers
    far: Numbers

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> "Moves":
        """Return room for moves."""
        near, far, slots = (np.empty(shape, dtype=np.int64) for _ in range(3))
        return cls(np.empty(shape), slots, near, far)

    def put(self, rows: Places, moves: "Moves") -> None:
        """Replace the moves of these rows."""
        for field in fields(self):
            getattr(self, field.name)[rows] = getattr(moves, field.name)

    def at(self, places: Places) -> "Moves":
        """Return the moves at these places, counted through all of them."""
        return Moves(*(getattr(self, field.name).reshape(-1)[places] for field in fields(self)))


class Board:
    """Words in slots, k to a group, that can be swapped. All numbers are integers, so every result is exact.

    words: the word in each slot, or -1. weights: its weight. rows: for a quantized point p, (p, 1, |p|^2), in float32.
    centers: for the rounded weighted mean c of each group, (-2 c, |c|^2, 1), in float32. So the product of a row and
    a center is their squared distance. All points lie in a ball of radius 2**11. The terms of the product that any
    part of the sum can contain add up to at most 2**24 in size, so float32 is exact, in whatever order BLAS adds.
    """

    def __init__(self, rows: Points, weights: Numbers, partition: Partition) -> None:
        self.groups, largest = len(partition.sizes), int(partition.sizes.max())
        self._tiles = -(-largest // max(1, _SMALL_PRODUCT // ((_PAIRS + 1) * rows.shape[1])))
        self.k = -(-largest // self._tiles) * self._tiles
        taken = np.arange(self.k) < partition.sizes[:, None]
        self.taken: Flags = taken.reshape(-1)
        self.words = np.full(len(self.taken), -1)
        self.words[self.taken] = partition.members
        self.rows = np.zeros((len(self.words), rows.shape[1]), dtype=np.float32)
        self.rows[self.taken] = rows[partition.members]
        self.weights = np.zeros(len(self.words), dtype=np.int64)
        self.weights[self.taken] = weights[partition.members]
        self.masses: Numbers = self.weights.reshape(self.groups, self.k).sum(axis=1)
        self.sums = np.zeros((self.groups, rows.shape[1] - 2))
        self.centers = np.ones((self.groups, rows.shape[1]), dtype=np.float32)
        self._add(np.flatnonzero(self.taken), 1)
        self._center(np.arange(self.groups))

    def partition(self) -> Partition:
        """Return the groups as they are now."""
        return Partition(self.words[self.taken], self.taken.reshape(self.groups, self.k).sum(axis=1))

    def swap(self, left: Places, right: Places) -> None:
        """Swap the words in the slots `left` with those in the slots `right`, and move the centers."""
        slots, sources = np.concatenate([left, right]), np.concatenate([right, left])
        self._add(slots, -1)
        for column in (self.words, self.weights, self.rows):
            column[slots] = column[sources]
        self._add(slots, 1)
        changed = np.unique(slots // self.k)
        self.masses[changed] = self.weights.reshape(self.groups, self.k)[changed].sum(axis=1)
        self._center(changed)

    def _add(self, slots: Places, sign: int) -> None:
        slots = np.sort(slots)
        for start in range(0, len(slots), _ROWS):
            part = slots[start : start + _ROWS]
            groups = part // self.k
            firsts = np.flatnonzero(np.diff(groups, prepend=-1))
            moved = self.rows[part, :-2] * (sign * self.weights[part]).astype(np.float64)[:, None]
            self.sums[groups[firsts]] += np.add.reduceat(moved, firsts, axis=0)

    def _center(self, groups: Places) -> None:
        masses = self.masses[groups, None]
        centers = np.floor((2.0 * self.sums[groups] + masses) / (2.0 * masses))
        self.centers[groups, :-2] = -2 * centers
        self.centers[groups, -2] = np.square(centers).sum(axis=1)

    def cost(self) -> int:
        """Return the weighted sum of squared distances to the centers."""
        return int((self._own_distances() * self.weights).sum())

    def _own_distances(self) -> Numbers:
        """Return the squared distance of each slot's word to the center of its group."""
        squares = np.empty((self.groups, self.k), dtype=np.int64)
        for part in self._blocks(np.arange(self.groups), self.k):
            squares[part] = np.einsum("gwd,gd->gw", self._grouped(part), self.centers[part])
        return squares.reshape(-1)

    def _grouped(self, groups: Places) -> Points:
        rows = self.rows.reshape(self.groups, self.k, -1)
        side_by_side = bool((np.diff(groups) == 1).all())
        return rows[groups[0] : groups[-1] + 1] if side_by_side else rows[groups]

    def _blocks(self, groups: Places, width: int) -> list[Places]:
        step = max(1, _BLOCK_BYTES // (4 * width * self.rows.shape[1]))
        return [groups[start : start + step] for start in range(0, len(groups), step)]

    def best_moves(self, groups: Places, others: Places, *, fixed_centers: bool) -> Moves:
        """Return, for each of the groups and each of its `others`, the move of the word that promises most.

        others: a row for each of the groups, itself last. fixed_centers: promise only what the
        move gains if no center moves.
        """
        moves = Moves.empty(others.shape)
        kind = np.float64 if fixed_centers else np.float32  # exact, or fast
        grouped = self.weights.reshape(self.groups, self.k).astype(kind)
        inverse = (1.0 / self.masses).astype(kind)
        start = 0
        for here in self._blocks(groups, self.k + others.shape[1]):
            part = slice(start, start + len(here))
            there = others[part]
            squares = self._distances(here, there)
            own, weights = squares[:, -1:, :], grouped[here, None, :]
            pulls = np.zeros_like(weights) if fixed_centers else np.square(weights)
            leaving = own * (weights + pulls * inverse[here, None, None])
            leaving[weights == 0] = -np.inf
            promises = pulls * inverse[there][:, :, None]
            np.subtract(weights, promises, out=promises)
            promises *= squares
            np.subtract(leaving, promises, out=promises)
            best = promises.argmax(axis=2)[:, :, None]
            moves.promises[part] = np.take_along_axis(promises, best, axis=2)[:, :, 0]
            moves.far[part] = np.take_along_axis(squares, best, axis=2)[:, :, 0]
            moves.near[part] = np.take_along_axis(own[:, 0], best[:, :, 0], axis=1)
            moves.slots[part] = here[:, None] * self.k + best[:, :, 0]
            start += len(here)
        return moves

    def _distances(self, groups: Places, others: Places) -> Points:
        """Return the squared distances of the centers of each row of `others` to the words of each group."""
        tiles = self._grouped(groups).reshape(len(groups), self._tiles, self.k // self._tiles, -1)
        products = np.matmul(self.centers[others][:, None], tiles.transpose(0, 1, 3, 2))
        squares: Points = products.transpose(0, 2, 1, 3).reshape(*others.shape, self.k)
        return squares

    def gains(self, left: Moves, right: Moves) -> Numbers:
        """Return by how much each pair of moves, one back and one forth, lowers the cost, rounded down.

        If x leaves the group with center c and total weight W, and y joins it, then its cost falls by w_x |x - c|^2 -
        w_y |y - c|^2 + |w_x (x - c) - w_y (y - c)|^2 / (W - w_x + w_y), because the center moves.
        """
        between = self._between(left.slots, right.slots)
        total = np.zeros(len(between), dtype=np.int64)
        for out, into in ((left, right), (right, left)):
            away, home = self.weights[out.slots], self.weights[into.slots]
            shift = np.square(away) * out.near + np.square(home) * into.far
            shift -= away * home * (out.near + into.far - between)
            total += away * out.near - home * into.far + shift // (self.masses[out.slots // self.k] - away + home)
        return total

    def _between(self, left: Places, right: Places) -> Numbers:
        squares = np.empty(len(left), dtype=np.int64)
        for start in range(0, len(left), _ROWS):
            part = slice(start, start + _ROWS)
            apart = self.rows[left[part], :-2] - self.rows[right[part], :-2]
            squares[part] = np.square(apart).sum(axis=1)  # exact: integers, at most 2**24 in total
        return squares

    def pair_near_groups(self) -> Pairs:
        """Return pairs of groups whose centers are near each other."""
        rows = np.column_stack([self.centers[:, :-2] / -2, self.centers[:, -1:], self.centers[:, -2:-1]])
        keys: list[Numbers] = []
        values: list[Numbers] = []
        for start, others, squares in self._nearest(rows, min(_NEAR_GROUPS + 1, self.groups)):
            groups = np.arange(start, start + len(others))[:, None]
            keys.append(self._keys(groups, others, groups != others))
            values.append(4 * RADIUS**2 - squares[groups != others])
        return self._keep_most(keys, values)

    def pair_near_words(self, progress: Callable[[float], None] | None = None) -> Pairs:
        """Return pairs of groups that a word promises to gain from moving between.

        For each word, only the few nearest groups are considered, and for each group only the pairs that promise
        most. progress: called with the share that is done.
        """
        own = self._own_distances()
        keys: list[Numbers] = []
        values: list[Numbers] = []
        for start, groups, squares in self._nearest(self.rows, min(_NEAREST, self.groups)):
            slots = np.arange(start, start + len(groups))[:, None]
            mine, weights, near = slots // self.k, self.weights[slots], own[slots]
            pulls = np.square(weights)
            promises = weights * (near - squares) + pulls * near // self.masses[mine]
            promises += pulls * squares // self.masses[groups]
            useful = (mine != groups) & (promises > 0)
            keys.append(self._keys(mine, groups, useful))
            values.append(promises[useful])
            if progress is not None:
                progress((start + len(groups)) / len(self.words))
        return self._keep_most(keys, values)

    def _keys(self, groups: Places, others: Places, useful: Flags) -> Numbers:
        keys: Numbers = np.minimum(groups, others) * self.groups + np.maximum(groups, others)
        return keys[useful]

    def _keep_most(self, keys: list[Numbers], values: list[Numbers]) -> Pairs:
        """Return the pairs with the highest totals of values, at most _PAIRS of each group."""
        pairs, which = np.unique(np.concatenate(keys), return_inverse=True)
        totals = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(totals, which, np.concatenate(values))
        first, second = pairs // self.groups, pairs % self.groups
        ranks = ranks_within(np.concatenate([first, second]), np.tile(-totals, 2)).reshape(2, -1)
        kept = (ranks < _PAIRS).all(axis=0)
        return Pairs.of(first[kept], second[kept], self.groups)

    def _nearest(self, rows: Points, count: int) -> Iterator[tuple[int, Places, Numbers]]:
        """Yield, block by block, the number of the first row, the nearest groups of each, and squared distances.

        The least of every _FOLD columns are compared first: the nearest groups are among those with the nearest one.
        Each value is compared together with its column, so that no two are equal.
        """
        folds = -(-self.groups // _FOLD)
        columns = np.zeros((folds * _FOLD, self.centers.shape[1]), dtype=np.float32)
        columns[: self.groups] = self.centers
        columns[self.groups :, -2] = 4 * RADIUS**2
        step = max(64, _BLOCK_BYTES // (4 * len(columns)))
        for start in range(0, len(rows), step):
            squares = rows[start : start + step] @ columns.T
            least = squares.reshape(len(squares), _FOLD, folds).min(axis=1).astype(np.int64)
            few = min(count, folds)
            near = np.partition(least * folds + np.arange(folds), few - 1, axis=1)[:, :few] % folds
            places = (near[:, :, None] + np.arange(_FOLD) * folds).reshape(len(squares), -1)
            keys = np.take_along_axis(squares, places, axis=1).astype(np.int64) * len(columns) + places
            keys = np.sort(np.partition(keys, count - 1, axis=1)[:, :count], axis=1)
            yield start, keys % len(columns), keys // len(columns)
