"""Refined groups have the same sizes, cost less, leave no candidate that gains much, and are the same everywhere.

Centers, costs, gains and nearest groups are exact.
"""

import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custext_sql.arrays import Floats, Numbers, Points
from custext_sql.errors import SettingError
from custext_sql.mapping.grouping import Partition, partition_words
from custext_sql.mapping.making import group_words
from custext_sql.mapping.mapping import fingerprint
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.refining import (
    RADIUS,
    Board,
    Pairs,
    quantize_points,
    refine_board,
    refine_partition,
    weigh_words,
)
from custext_sql.mapping.similarity import MEASURES, UserSuppliedMeasure, score_groups
from custext_sql.vectors.starter import open_starter

measures = pytest.mark.parametrize("measure", ["euclidean", "cosine"])
FINGERPRINTS = {  # a change changes the refined mappings that users have
    "euclidean": "1c793cef022e4ded65e3e7cd5ed296cf991a033fe015316a6656c4b416907481",
    "cosine": "87811aac71ef51bd04f3c70defbef1c2dcf5f2b6688e5da3444c0371a5bb9f4c",
}


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
    firsts, seconds = pairs.forth // pairs.others.shape[1], pairs.others.reshape(-1)[pairs.forth]
    for first, second in zip(firsts.tolist(), seconds.tolist(), strict=True):
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


@measures
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_refined_groups_of_any_vectors(measure: str, data: st.DataObject) -> None:
    count, dimension = data.draw(st.integers(2, 60)), data.draw(st.integers(1, 4))
    step = data.draw(st.sampled_from([1.0, 0.1, 1e30, 1e-30, 1e-40]))
    offset = data.draw(st.sampled_from([0.0, 1.0, 1000.0]))
    cells = data.draw(st.lists(st.integers(-2, 2), min_size=count * dimension, max_size=count * dimension))
    vectors = (np.array(cells, dtype=np.float64).reshape(count, dimension) + offset) * step
    if measure == "cosine":
        vectors[~vectors.any(axis=1)] = step
    check_refined(vectors.astype(np.float32), data.draw(st.integers(2, count)), measure)


def test_the_cost_of_clustered_words_falls_to_that_of_the_clusters() -> None:
    """Greedy groups of interleaved clusters tear words apart; refining puts most of them back."""
    centers = random_vectors(12, 6, seed=3) * 10
    vectors = (centers[np.arange(240) % 12] + random_vectors(240, 6, seed=4)).astype(np.float32)
    greedy, refined = refine(vectors, 20)
    assert as_lists(refined) == [list(range(first, 240, 12)) for first in range(12)]
    assert len(greedy.sizes) == 12


@measures
@pytest.mark.parametrize(
    ("count", "k", "dimension", "seed"),
    [
        *((90, 3, 8, 0), (120, 10, 8, 1), (100, 2, 8, 3), (160, 40, 8, 4)),
        *((40, 10, 2, 97), (60, 15, 3, 127), (40, 10, 2, 271)),
    ],
)
def test_no_candidate_is_left_that_gains_more_than_the_least_gain(
    measure: str, count: int, k: int, dimension: int, seed: int
) -> None:
    """Every swap of two words between the groups of a pair, with the centers as they are in the end."""
    board = board_of(random_vectors(count, dimension, seed), k, measure)
    started = board.cost()
    pairs, least = refine_board(board)
    assert len(pairs.forth)
    assert board.cost() < started
    assert largest_gain(board, pairs) <= least


def test_candidates_are_left_before_the_end() -> None:
    """The check above can fail: without refining, swaps gain far more than the least gain."""
    board = board_of(random_vectors(150), 10)
    least = refine_board(board_of(random_vectors(150), 10))[1]
    assert largest_gain(board, board.pair_near_words()) > least


@measures
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_quantized_points_keep_distances_within_a_ball(measure: str, scale: float) -> None:
    vectors = random_vectors(500, 30) * np.float32(scale)
    vectors[7] *= 1e6
    rows = quantize_points(vectors, MEASURES[measure], ranks_of(vectors))
    points: Floats = rows[:, :-2].astype(np.float64)
    assert (points == np.rint(points)).all()
    assert np.sqrt(np.square(points).sum(axis=1)).max() < RADIUS
    assert (rows[:, -1] == np.square(points).sum(axis=1)).all()
    expected = MEASURES[measure].points(vectors)
    far = np.sqrt(np.square(expected[100:200] - expected[200:300]).sum(axis=1))
    found = np.sqrt(np.square(points[100:200, :-1] - points[200:300, :-1]).sum(axis=1))
    assert found / far == pytest.approx((found / far).mean(), rel=0.01)


_PRINT_FINGERPRINT = """
from tests.mapping.test_refining import refined_fingerprint
print(refined_fingerprint("euclidean"))
"""


def refined_fingerprint(measure: str) -> str:
    """Return the fingerprint of a refined mapping of the first shipped words."""
    [batch, *_] = open_starter().batches
    words, vectors = batch.words[:1500], batch.vectors[:1500]
    refined = refine(vectors, 20, measure)[1]
    scores = np.concatenate(
        [matrix.reshape(-1) for matrix in score_groups(vectors, refined.groups(), MEASURES[measure])]
    )
    return fingerprint(tuple(words[index] for index in refined.members), refined.sizes, scores)


def test_the_fingerprint_of_refined_groups_is_the_same_everywhere() -> None:
    assert {measure: refined_fingerprint(measure) for measure in FINGERPRINTS} == FINGERPRINTS


def test_refined_groups_do_not_depend_on_the_number_of_threads() -> None:
    settings = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-c", _PRINT_FINGERPRINT]
    found = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == FINGERPRINTS["euclidean"]


def test_classes_never_mix() -> None:
    vectors = random_vectors(200)
    classes = [np.arange(0, 200, 3), np.setdiff1d(np.arange(200), np.arange(0, 200, 3))]
    recipe = Recipe("random", 10, grouping="refined", pivot_order="random", seed=5)
    found = group_words(vectors, MEASURES["euclidean"], recipe, classes)
    assert sorted(found.members.tolist()) == list(range(200))
    for group in as_lists(found):
        assert group == sorted(group) and len({word % 3 == 0 for word in group}) == 1


def test_ranks_are_places_in_the_file() -> None:
    """Words that come later in the file weigh less, so that other groups cost least."""
    vectors, everything = random_vectors(300), [np.arange(300)]
    recipe = Recipe("random", 10, grouping="refined")
    by_default = group_words(vectors, MEASURES["euclidean"], recipe, everything)
    same = group_words(vectors, MEASURES["euclidean"], recipe, everything, ranks=np.arange(1, 301))
    later = group_words(vectors, MEASURES["euclidean"], recipe, everything, ranks=np.arange(1, 301) ** 2)
    assert as_lists(same) == as_lists(by_default)
    assert as_lists(later) != as_lists(by_default)


def test_a_function_has_no_centers() -> None:
    recipe = Recipe("random", 10, grouping="refined")
    with pytest.raises(SettingError, match="a similarity function does not have.*--grouping greedy"):
        group_words(random_vectors(50), UserSuppliedMeasure(np.dot, True), recipe, [np.arange(50)])


def test_progress_never_goes_back_and_ends_at_the_total() -> None:
    seen: list[tuple[int, int]] = []
    classes = [np.arange(0, 150), np.arange(150, 200)]
    recipe = Recipe("random", 10, grouping="refined")
    group_words(random_vectors(200), MEASURES["euclidean"], recipe, classes, lambda *state: seen.append(state))
    assert seen == sorted(seen)
    assert seen[-1] == (600, 600)
    assert any(150 < done < 450 for done, _ in seen)


def test_centers_costs_and_gains_are_exact_integers() -> None:
    """Gains are those of Python's integers, up to the rounding of the center of a group."""
    board = board_of(random_vectors(70, 5), 7)
    pairs = board.pair_near_words()
    moves = board.best_moves(np.arange(board.groups), pairs.others, fixed_centers=False)
    forth, back = moves.reshape(-1)[pairs.forth], moves.reshape(-1)[pairs.back]
    gains = board.gains(forth, back)
    groups = [slots.tolist() for slots in np.split(np.arange(len(board.words)), board.groups)]
    centers = plain_centers(board.rows, board.weights, groups)
    assert (board.centers[:, :-2] == np.array(centers) * -2).all()
    assert board.cost() == plain_cost(board.rows, board.weights, groups)
    for number, (left, right) in enumerate(zip(forth["slot"].tolist(), back["slot"].tolist(), strict=True)):
        expected = 0
        for out, into in ((left, right), (right, left)):
            center, total = centers[out // board.k], int(board.masses[out // board.k])
            away, home = int(board.weights[out]), int(board.weights[into])
            pulled = [
                away * (int(gone) - mean) - home * (int(come) - mean)
                for gone, come, mean in zip(board.rows[out], board.rows[into], center, strict=False)
            ]
            expected += away * plain_square(board.rows[out], center) - home * plain_square(board.rows[into], center)
            expected += sum(value * value for value in pulled) // (total - away + home)
        assert gains[number] == expected
    best, before = int(gains.argmax()), board.cost()
    board.swap(forth["slot"][[best]], back["slot"][[best]])
    assert before - board.cost() == pytest.approx(int(gains[best]), rel=0.01)  # the center of a group is rounded
