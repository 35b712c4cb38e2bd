"""Refined groups of vectors, and their centers, costs and gains in Python's integers."""

from itertools import product

import numpy as np

from custext_sql.arrays import Numbers, Points
from custext_sql.mapping.grouping import Partition, partition_words
from custext_sql.mapping.refining import Board, Pairs, quantize_points, refine_partition, weigh_words
from custext_sql.mapping.similarity import MEASURES


def random_vectors(count: int, dimension: int = 8, seed: int = 0) -> Points:
    return np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)


def ranks_of(vectors: Points) -> Numbers:
    return np.arange(1, len(vectors) + 1)


def refine(vectors: Points, k: int, measure: str = "euclidean") -> tuple[Partition, Partition]:
    """Return greedy groups and refined ones."""
    greedy = partition_words(vectors, MEASURES[measure], k)
    return greedy, refine_partition(vectors, MEASURES[measure], greedy, ranks_of(vectors))


def as_lists(partition: Partition) -> list[list[int]]:
    return [group.tolist() for group in partition.groups()]


def board_of(vectors: Points, k: int, measure: str = "euclidean") -> Board:
    greedy = partition_words(vectors, MEASURES[measure], k)
    ranks = ranks_of(vectors)
    return Board(quantize_points(vectors, MEASURES[measure], ranks), weigh_words(ranks), greedy)


def check_refined(vectors: Points, k: int, measure: str = "euclidean") -> None:
    """Check what holds for all refined groups: partition, sizes, order and cost."""
    greedy, refined = refine(vectors, k, measure)
    assert sorted(refined.members.tolist()) == list(range(len(vectors)))
    assert sorted(refined.sizes.tolist()) == sorted(greedy.sizes.tolist())
    groups = as_lists(refined)
    assert all(group == sorted(group) for group in groups)
    assert groups == sorted(groups)
    rows, weights = quantize_points(vectors, MEASURES[measure], ranks_of(vectors)), weigh_words(ranks_of(vectors))
    assert plain_cost(rows, weights, groups) <= plain_cost(rows, weights, as_lists(greedy))


def plain_centers(rows: Points, weights: Numbers, groups: list[list[int]]) -> list[list[int]]:
    """Return rounded weighted means, in Python's integers."""
    points = rows[:, :-2].astype(int).tolist()
    means: list[list[int]] = []
    for group in groups:
        total = sum(int(weights[word]) for word in group)
        sums = [sum(int(weights[word]) * points[word][axis] for word in group) for axis in range(len(points[0]))]
        means.append([(2 * value + total) // (2 * total) for value in sums])
    return means


def plain_square(point: Points, center: list[int]) -> int:
    return sum((int(value) - mean) ** 2 for value, mean in zip(point[:-2].tolist(), center, strict=True))


def plain_cost(rows: Points, weights: Numbers, groups: list[list[int]]) -> int:
    centers = plain_centers(rows, weights, groups)
    return sum(
        int(weights[word]) * plain_square(rows[word], center)
        for group, center in zip(groups, centers, strict=True)
        for word in group
    )


def largest_gain(board: Board, pairs: Pairs) -> int:
    groups = [slots[board.taken[slots]].tolist() for slots in np.split(np.arange(len(board.words)), board.groups)]
    centers = plain_centers(board.rows, board.weights, groups)
    best = -(2**62)
    for first, second in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True):
        gains = [
            [
                int(board.weights[slot])
                * (plain_square(board.rows[slot], centers[here]) - plain_square(board.rows[slot], centers[there]))
                for slot in groups[here]
            ]
            for here, there in ((first, second), (second, first))
        ]
        best = max(best, *(left + right for left, right in product(*gains)))
    return best
