"""Refines groups: swaps words between them while that brings words closer together, alike on every machine."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Flags, Floats, Numbers, Places, Points, Vectors
from custext_sql.mapping.grouping import Partition, Progress
from custext_sql.mapping.similarity import Geometric

Moves = npt.NDArray[np.void]  # of MOVE

RADIUS = 2048  # of the ball of quantized points: squared distances, up to 2**24, are exact in float32
# A move of a word to another group. promise: by how much the cost would fall if no other word took the place. slot: of
# the word. near, far: its squared distance to the center of its group, and of the other group.
MOVE = np.dtype([("promise", np.float64), ("slot", np.int64), ("near", np.int64), ("far", np.int64)])

_TYPICAL = 1 << 9  # the median distance of quantized points from their mean is at most this, and more than half
_OCTAVE = 1 / 12  # of that median: how far apart words are put if one is twice as frequent as the other
_HEAVIEST = 1 << 12  # the weight of the first word
_BOLD_ROUNDS = 8  # in these, a group may take part in several swaps at once
_PATIENT_ROUNDS = 12  # bold ones included; from then on, the least gain of a swap doubles each round
_PRECISION = 64  # a swap must gain more than the mean cost of a word divided by this
_BEFORE_SEARCH, _AFTER_SEARCH = 0.3, 0.7  # shares of the time up to these points
_ROWS = 512  # words whose rows are copied at a time
_BLOCK_BYTES = 16 << 20  # of one float32 block of distances
_FOLD = 16  # columns of distances of which only the least is compared at first
_NEAR_GROUPS = 32  # that are considered for each group
_NEAREST = 4  # groups that are considered for each word
_PAIRS = 40  # at most, of each group
_SMALL_PRODUCT = 1 << 18  # multiplications; OpenBLAS does not split such products, which would cost more than it saves


def refine_partition(
    vectors: Vectors,
    similarity: Geometric,
    partition: Partition,
    ranks: Numbers,
    progress: Progress | None = None,
) -> Partition:
    """Return groups of the same sizes with a lower cost, or the same groups if no swap gains enough.

    The cost is the weighted sum of squared distances of words to the centers of their groups. ranks: the place of each
    word in the vector file, from 1. Frequent words weigh more, and the logarithm of the rank is one more coordinate of
    a word's point: a word hides better among words that are about as frequent.
    """
    board = Board(quantize_points(vectors, similarity, ranks), weigh_words(ranks), partition)
    before = board.cost()
    refine_board(board, progress)
    refined = board.partition() if board.cost() < before else partition
    groups = np.repeat(np.arange(board.groups), refined.sizes)
    firsts = np.minimum.reduceat(ranks[refined.members], refined.starts)
    order = np.lexsort((ranks[refined.members], firsts[groups]))
    return Partition(refined.members[order], refined.sizes[np.argsort(firsts)])


def weigh_words(ranks: Numbers) -> Numbers:
    """Return the weight of each word, about rank ** -0.25. Square roots are rounded alike on every machine."""
    return np.maximum(1, np.floor(_HEAVIEST / np.sqrt(np.sqrt(ranks)))).astype(np.int64)


def quantize_points(vectors: Vectors, similarity: Geometric, ranks: Numbers) -> Points:
    """Return the rows of a Board: points in integers, scaled by a power of two, those very far away moved closer.

    Their last coordinate is the logarithm of the rank.
    """
    usual = _find_typical([_lengths(points) for _, points in similarity.split_points(vectors)])
    mean: Floats = sum(_limit(points, 4 * usual).sum(axis=0) for _, points in similarity.split_points(vectors))
    mean /= len(vectors)
    typical = _find_typical([_lengths(points - mean) for _, points in similarity.split_points(vectors)])
    scale = 2.0 ** -float(np.frexp(typical / _TYPICAL)[1])
    # About the binary logarithm of the ranks: exact for powers of two, linear between, alike on every machine
    mantissas, exponents = np.frexp(ranks.astype(np.float64))
    octaves = exponents + 2.0 * mantissas
    heights = (octaves - np.median(octaves)) * (_OCTAVE * typical * scale)
    rows = np.ones((len(vectors), vectors.shape[1] + 3), dtype=np.float32)
    longest = RADIUS - float(np.ceil(np.sqrt(rows.shape[1])))  # rounding a point and a center adds at most that
    for block, points in similarity.split_points(vectors):
        raised = np.column_stack([(points - mean) * scale, heights[block]])
        rows[block, :-2] = np.rint(_limit(raised, longest))
        rows[block, -1] = np.square(rows[block, :-2]).sum(axis=1)
    return rows


def _lengths(points: Floats) -> Floats:
    lengths: Floats = np.sqrt(np.square(points).sum(axis=1))
    return lengths


def _find_typical(blocks: list[Floats]) -> float:
    """Return the median of the lengths that are not 0, or 1 if there are none."""
    lengths = np.concatenate(blocks)
    return float(np.median(lengths[lengths > 0])) if lengths.any() else 1.0


def _limit(points: Floats, longest: float) -> Floats:
    """Return the points, those that are longer than this shortened to it."""
    limited: Floats = points * (longest / np.maximum(longest, _lengths(points)))[:, None]
    return limited


class Pairs(NamedTuple):
    """Pairs of groups between which words may be swapped.

    others: a row for each group, with the groups it is paired with, then itself. forth, back: where the first group of
    a pair has the second one in `others`, counted through all rows, and vice versa.
    """

    others: Places
    forth: Places
    back: Places


def pair_groups(first: Places, second: Places, count: int) -> Pairs:
    """Return the pairs of first[i] and second[i]. count: the number of all groups.

    For the pairs 0 1 and 0 2 of three groups, others is (1 2 0) (0 1 1) (0 2 2), forth is 0 1, and back is 3 6.
    """
    ends = np.concatenate([first, second])
    ranks = ranks_within(ends, np.zeros(len(ends), dtype=np.int64))
    others = np.repeat(np.arange(count)[:, None], ranks.max(initial=-1) + 2, axis=1)
    others[ends, ranks] = np.concatenate([second, first])
    forth, back = (ends * others.shape[1] + ranks).reshape(2, -1)
    return Pairs(others, forth, back)


def ranks_within(groups: Places, keys: Numbers) -> Places:
    """Return the position of each entry among those of its group, by key and then by position."""
    order = np.lexsort((keys, groups))
    firsts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(firsts, np.diff(firsts, append=len(groups)))
    return ranks


def choose_disjoint(left: Places, right: Places, count: int) -> Places:
    """Return the positions of pairs that share no number below `count`. Earlier pairs have precedence."""
    waiting = np.arange(len(left))
    chosen: list[Places] = []
    while len(waiting):
        firsts = np.full(count, len(left))
        np.minimum.at(firsts, left[waiting], waiting)
        np.minimum.at(firsts, right[waiting], waiting)
        wins = (firsts[left[waiting]] == waiting) & (firsts[right[waiting]] == waiting)
        chosen.append(waiting[wins])
        used = np.zeros(count, dtype=bool)
        used[left[chosen[-1]]] = used[right[chosen[-1]]] = True
        waiting = waiting[~(used[left[waiting]] | used[right[waiting]])]
    return np.concatenate(chosen) if chosen else waiting


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

        others: a row for each of the groups, itself last. fixed_centers: promise what a move gains if no center moves.
        """
        moves = np.empty(others.shape, dtype=MOVE)
        kind = np.float64 if fixed_centers else np.float32  # exact, or fast
        grouped = self.weights.reshape(self.groups, self.k).astype(kind)
        inverse = (1.0 / self.masses).astype(kind)
        start = 0
        for here in self._blocks(groups, self.k + others.shape[1]):
            part = slice(start, start + len(here))
            there = others[part]
            tiles = self._grouped(here).reshape(len(here), self._tiles, self.k // self._tiles, -1)
            products = np.matmul(self.centers[there][:, None], tiles.transpose(0, 1, 3, 2))
            squares = products.transpose(0, 2, 1, 3).reshape(*there.shape, self.k)
            own, weights = squares[:, -1:, :], grouped[here, None, :]
            pulls = np.zeros_like(weights) if fixed_centers else np.square(weights)
            leaving = own * (weights + pulls * inverse[here, None, None])
            leaving[weights == 0] = -np.inf
            promises = pulls * inverse[there][:, :, None]
            np.subtract(weights, promises, out=promises)
            promises *= squares
            np.subtract(leaving, promises, out=promises)
            best = promises.argmax(axis=2)[:, :, None]
            moves["promise"][part] = np.take_along_axis(promises, best, axis=2)[:, :, 0]
            moves["far"][part] = np.take_along_axis(squares, best, axis=2)[:, :, 0]
            moves["near"][part] = np.take_along_axis(own[:, 0], best[:, :, 0], axis=1)
            moves["slot"][part] = here[:, None] * self.k + best[:, :, 0]
            start += len(here)
        return moves

    def gains(self, left: Moves, right: Moves) -> Numbers:
        """Return by how much each pair of moves, one back and one forth, lowers the cost, rounded down.

        If x leaves the group with center c and total weight W, and y joins it, then its cost falls by w_x |x - c|^2 -
        w_y |y - c|^2 + |w_x (x - c) - w_y (y - c)|^2 / (W - w_x + w_y), because the center moves.
        """
        between = np.empty(len(left), dtype=np.int64)
        for start in range(0, len(left), _ROWS):
            one, other = (moves["slot"][start : start + _ROWS] for moves in (left, right))
            apart = self.rows[one, :-2] - self.rows[other, :-2]
            between[start : start + _ROWS] = np.square(apart).sum(axis=1)  # exact: integers, at most 2**24 in total
        total = np.zeros(len(between), dtype=np.int64)
        for out, into in ((left, right), (right, left)):
            away, home = self.weights[out["slot"]], self.weights[into["slot"]]
            shift = np.square(away) * out["near"] + np.square(home) * into["far"]
            shift -= away * home * (out["near"] + into["far"] - between)
            total += away * out["near"] - home * into["far"]
            total += shift // (self.masses[out["slot"] // self.k] - away + home)
        return total

    def pair_near_groups(self) -> Pairs:
        """Return pairs of groups whose centers are near each other."""
        rows = np.column_stack([self.centers[:, :-2] / -2, self.centers[:, -1:], self.centers[:, -2:-1]])
        near = self._nearest(rows, min(_NEAR_GROUPS + 1, self.groups))
        return self._keep_most((groups, others, 4 * RADIUS**2 - squares) for groups, others, squares in near)

    def pair_near_words(self) -> Pairs:
        """Return pairs of groups that a word promises to gain from moving between.

        For each word, only the few nearest groups are considered, and for each group only the pairs that promise most.
        """
        own = self._own_distances()

        def promise(slots: Places, others: Places, squares: Numbers) -> tuple[Places, Places, Numbers]:
            mine, weights, near = slots // self.k, self.weights[slots], own[slots]
            pulls = np.square(weights)
            promises = weights * (near - squares) + pulls * near // self.masses[mine]
            return mine, others, promises + pulls * squares // self.masses[others]

        return self._keep_most(promise(*near) for near in self._nearest(self.rows, min(_NEAREST, self.groups)))

    def _keep_most(self, found: Iterable[tuple[Places, Places, Numbers]]) -> Pairs:
        """Return the pairs of two groups with the highest totals of positive promises, at most _PAIRS of each group."""
        keys: list[Numbers] = []
        values: list[Numbers] = []
        for groups, others, promises in found:
            useful = (groups != others) & (promises > 0)
            keys.append((np.minimum(groups, others) * self.groups + np.maximum(groups, others))[useful])
            values.append(promises[useful])
        pairs, which = np.unique(np.concatenate(keys), return_inverse=True)
        totals = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(totals, which, np.concatenate(values))
        first, second = pairs // self.groups, pairs % self.groups
        ranks = ranks_within(np.concatenate([first, second]), np.tile(-totals, 2)).reshape(2, -1)
        kept = (ranks < _PAIRS).all(axis=0)
        return pair_groups(first[kept], second[kept], self.groups)

    def _nearest(self, rows: Points, count: int) -> Iterator[tuple[Places, Places, Numbers]]:
        """Yield, block by block, the numbers of the rows, the nearest groups of each, and squared distances.

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
            yield np.arange(start, start + len(keys))[:, None], keys % len(columns), keys // len(columns)


def refine_board(board: Board, progress: Progress | None = None) -> tuple[Pairs, int]:
    """Swap words on the board until no candidate gains more than the least gain, and return both.

    The first swaps are between near groups; then, between the group of a word and one of those nearest to the word.
    """
    report = progress or (lambda share: None)
    least = max(1, board.cost() // (_PRECISION * int(np.count_nonzero(board.taken))))
    _swap_words(board, board.pair_near_groups(), least, to_the_end=False)
    report(_BEFORE_SEARCH)
    pairs = board.pair_near_words()
    report(_AFTER_SEARCH)
    least = _swap_words(board, pairs, least, to_the_end=True)
    report(1.0)
    return pairs, least


def _swap_words(board: Board, pairs: Pairs, least: int, *, to_the_end: bool) -> int:
    """Swap words between the groups of the pairs in rounds, and return the least gain of a swap in the last round.

    Each round looks at one swap per pair of groups, of the words that promise most. The bold rounds make all swaps that
    share no word, although their gains do not quite add up; later ones, swaps that share no group. After the patient
    rounds, the least gain doubles each round, so that the rounds end. To the end means until no swap gains enough, not
    even with fixed centers, which finds the best swap of each pair of groups.
    """
    moves = np.empty(pairs.others.shape, dtype=MOVE)
    stale = np.ones(board.groups, dtype=bool)
    fixed = False
    done = 0
    while to_the_end or done < _BOLD_ROUNDS:
        affected = np.flatnonzero(stale[pairs.others].any(axis=1))
        moves[affected] = board.best_moves(affected, pairs.others[affected], fixed_centers=fixed)
        forth, back = moves.reshape(-1)[pairs.forth], moves.reshape(-1)[pairs.back]
        promising = forth["promise"] + back["promise"] > least
        forth, back = forth[promising], back[promising]
        gains = board.gains(forth, back)
        order = np.argsort(-gains, kind="stable")
        order = order[gains[order] > least]
        left, right = forth["slot"][order], back["slot"][order]
        if done < _BOLD_ROUNDS:
            chosen = choose_disjoint(left, right, len(board.words))
        else:
            chosen = choose_disjoint(left // board.k, right // board.k, board.groups)
        if not len(chosen) and fixed:
            break
        left, right = left[chosen], right[chosen]
        board.swap(left, right)
        turned, fixed = not len(chosen) or fixed, not len(chosen)
        stale[:] = turned
        stale[left // board.k] = stale[right // board.k] = True
        done += 1
        if done >= _PATIENT_ROUNDS:
            least *= 2
    return least
