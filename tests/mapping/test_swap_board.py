"""Centers, costs, gains and nearest groups are exact."""

import numpy as np
import pytest

from custext_sql.mapping import swap_board
from custext_sql.mapping.refining import choose_disjoint
from tests.mapping.refined_groups import board_of, plain_centers, plain_cost, plain_square, random_vectors


def test_centers_costs_and_gains_are_exact_integers() -> None:
    """Gains are those of Python's integers, up to the rounding of the center of a group."""
    board = board_of(random_vectors(70, 5), 7)
    pairs = board.pair_near_words()
    moves = board.best_moves(np.arange(board.groups), pairs.others, fixed_centers=False)
    forth, back = moves.at(pairs.forth), moves.at(pairs.back)
    gains = board.gains(forth, back)
    groups = [slots.tolist() for slots in np.split(np.arange(len(board.words)), board.groups)]
    centers = plain_centers(board.rows, board.weights, groups)
    assert (board.centers[:, :-2] == np.array(centers) * -2).all()
    assert board.cost() == plain_cost(board.rows, board.weights, groups)
    for number, (left, right) in enumerate(zip(forth.slots.tolist(), back.slots.tolist(), strict=True)):
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


def test_a_swap_lowers_the_cost_by_its_gain_except_for_rounding() -> None:
    board = board_of(random_vectors(70, 5), 7)
    pairs = board.pair_near_words()
    moves = board.best_moves(np.arange(board.groups), pairs.others, fixed_centers=False)
    forth, back = moves.at(pairs.forth), moves.at(pairs.back)
    gains = board.gains(forth, back)
    best = int(gains.argmax())
    before = board.cost()
    board.swap(forth.slots[[best]], back.slots[[best]])
    assert before - board.cost() == pytest.approx(int(gains[best]), rel=0.01)


def test_nearest_groups_do_not_depend_on_how_columns_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distances are continuous here, so there are no ties, which may be broken otherwise."""
    board = board_of(random_vectors(400, 20), 5)
    found = [np.concatenate(column) for column in list(zip(*board._nearest(board.rows, 4), strict=True))[1:]]
    monkeypatch.setattr(swap_board, "_FOLD", 1)
    for column, other in zip(found, list(zip(*board._nearest(board.rows, 4), strict=True))[1:], strict=True):
        assert np.array_equal(column, np.concatenate(other))
    points, centers = board.rows[:, :-2].astype(np.int64), board.centers[:, :-2].astype(np.int64) // -2
    squares = np.square(points[:, None] - centers[None]).sum(axis=2)
    assert np.array_equal(found[1], np.sort(squares, axis=1)[:, :4])


def test_disjoint_pairs_are_chosen_in_order() -> None:
    left, right = np.array([0, 1, 2, 4, 0]), np.array([1, 2, 3, 5, 6])
    assert sorted(choose_disjoint(left, right, 7).tolist()) == [0, 2, 3]
    assert choose_disjoint(left[:0], right[:0], 7).tolist() == []
