"""Refines groups: swaps words between them while that brings words closer together, alike on every machine."""

from collections.abc import Callable
from functools import partial

import numpy as np

from custext_sql.arrays import Floats, Numbers, Points, Vectors
from custext_sql.mapping.group_pairs import Pairs, choose_disjoint
from custext_sql.mapping.grouping import Partition
from custext_sql.mapping.similarity import Geometric
from custext_sql.mapping.swap_board import RADIUS, Board, Moves

RefiningProgress = Callable[[float], None]  # the share of the work that is done

_TYPICAL = 1 << 9  # the median distance of quantized points from their mean is at most this, and more than half
_OCTAVE = 1 / 12  # how far apart, in units of that median, words are put if one is twice as frequent as the other
_HEAVIEST = 1 << 12  # the weight of the first word
_ROWS = 4096  # words whose points are in float64 at a time
_BOLD_ROUNDS = 8  # in these, a group may take part in several swaps at once
_PATIENT_ROUNDS = 12  # bold ones included; from then on, the least gain of a swap doubles each round
_PRECISION = 64  # a swap must gain more than the mean cost of a word divided by this


def refine_partition(
    vectors: Vectors,
    similarity: Geometric,
    partition: Partition,
    ranks: Numbers,
    progress: RefiningProgress | None = None,
) -> Partition:
    """Return groups of the same sizes with a lower cost, or the same groups if no swap gains enough.

    ranks: the place of each word in the vector file, from 1. The cost is the weighted sum of squared distances of
    words to the centers of their groups. Frequent words, which come first in the file, weigh more, and the logarithm
    of the rank is one more coordinate of a word's point: a word hides better among words that are about as frequent.
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
    """Return the rows of a Board for points in integers, with the logarithm of the rank as their last coordinate.

    Points are scaled by a power of two, and those very far from the others are moved closer.
    """
    blocks = [slice(start, start + _ROWS) for start in range(0, len(vectors), _ROWS)]
    usual = _typical(np.concatenate([_lengths(similarity.points(vectors[block])) for block in blocks]))
    mean: Floats = sum(_limit(similarity.points(vectors[block]), 4 * usual).sum(axis=0) for block in blocks)
    mean /= len(vectors)
    typical = _typical(np.concatenate([_lengths(similarity.points(vectors[block]) - mean) for block in blocks]))
    scale = 2.0 ** -float(np.frexp(typical / _TYPICAL)[1])
    octaves = _octaves(ranks)
    heights = (octaves - np.median(octaves)) * (_OCTAVE * typical * scale)
    rows = np.ones((len(vectors), vectors.shape[1] + 3), dtype=np.float32)
    longest = RADIUS - float(np.ceil(np.sqrt(rows.shape[1])))  # rounding a point and a center adds at most that
    for block in blocks:
        points = np.column_stack([(similarity.points(vectors[block]) - mean) * scale, heights[block]])
        rows[block, :-2] = np.rint(_limit(points, longest))
        rows[block, -1] = np.square(rows[block, :-2]).sum(axis=1)
    return rows


def _octaves(ranks: Numbers) -> Floats:
    """Return about the binary logarithm: exact for powers of two, linear between them, alike on every machine."""
    mantissas, exponents = np.frexp(ranks.astype(np.float64))
    octaves: Floats = exponents + 2.0 * mantissas
    return octaves


def _lengths(points: Floats) -> Floats:
    lengths: Floats = np.sqrt(np.square(points).sum(axis=1))
    return lengths


def _typical(lengths: Floats) -> float:
    """Return the median of the lengths that are not 0, or 1 if there are none."""
    return float(np.median(lengths[lengths > 0])) if lengths.any() else 1.0


def _limit(points: Floats, longest: float) -> Floats:
    """Return the points, those that are longer than this shortened to it."""
    limited: Floats = points * (longest / np.maximum(longest, _lengths(points)))[:, None]
    return limited


def refine_board(board: Board, progress: RefiningProgress | None = None) -> tuple[Pairs, int]:
    """Swap words on the board until no candidate gains more than the least gain, and return both.

    The first swaps are between groups that are near each other. Then candidates are all swaps between the group of a
    word and one of the groups nearest to the word.
    """
    least = max(1, board.cost() // (_PRECISION * int(np.count_nonzero(board.taken))))
    _swap_words(board, board.pair_near_groups(), least, to_the_end=False)
    shares = (0.3, 0.7)  # of the time, before and after the search by words
    pairs = board.pair_near_words(None if progress is None else partial(_report_part, progress, *shares))
    least = _swap_words(board, pairs, least, to_the_end=True)
    if progress is not None:
        progress(1.0)
    return pairs, least


def _report_part(progress: RefiningProgress, begin: float, end: float, share: float) -> None:
    progress(begin + share * (end - begin))


def _swap_words(board: Board, pairs: Pairs, least: int, *, to_the_end: bool) -> int:
    """Swap words between the groups of the pairs in rounds, and return the least gain of a swap in the last round.

    Each round looks at one swap for each pair of groups, of the words that promise most. In the bold rounds, it makes
    all swaps that share no word, although their gains do not quite add up; later, swaps that share no group. After
    the patient rounds, the least gain doubles from round to round, so that the rounds end. To the end means until no
    swap gains enough, not even when centers are taken as fixed, which finds the best swap of each pair of groups.
    """
    moves = Moves.empty(pairs.others.shape)
    stale = np.ones(board.groups, dtype=bool)
    fixed = False
    done = 0
    while to_the_end or done < _BOLD_ROUNDS:
        affected = np.flatnonzero(stale[pairs.others].any(axis=1))
        moves.put(affected, board.best_moves(affected, pairs.others[affected], fixed_centers=fixed))
        promises = moves.promises.reshape(-1)
        promising = np.flatnonzero(promises[pairs.forth] + promises[pairs.back] > least)
        forth, back = moves.at(pairs.forth[promising]), moves.at(pairs.back[promising])
        gains = board.gains(forth, back)
        order = np.argsort(-gains, kind="stable")
        order = order[gains[order] > least]
        left, right = forth.slots[order], back.slots[order]
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
