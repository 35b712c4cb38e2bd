"""The verifier accepts exactly the weights that satisfy the guarantee. Mutations show that each check is needed."""

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from custext_sql.mechanism.verifier import Verdict, exp_floor, verify_constant, verify_weights

ONE = 1 << 64
epsilons = st.floats(0.001, 100)


def lay_out(matrices: list[list[list[int]]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return the sizes and the weights of some groups."""
    weights = np.array([cell for matrix in matrices for row in matrix for cell in row], dtype=np.uint64)
    return np.array([len(matrix) for matrix in matrices]), weights


def verify(matrices: list[list[list[int]]], epsilon: float) -> list[bool]:
    sizes, weights = lay_out(matrices)
    return [bool(holds) for holds in verify_together(sizes, epsilon, weights).holds]


def verify_together(
    sizes: npt.NDArray[np.int64],
    epsilon: float,
    *tables: npt.NDArray[np.uint64],
    drawn: npt.NDArray[np.bool_] | None = None,
) -> Verdict:
    return verify_weights(sizes, tables, np.full(len(sizes), epsilon), drawn)


def largest_partner(low: int, epsilon: float) -> int:
    """Return the largest weight that the certified bound allows in the same column as this one."""
    return (exp_floor(epsilon) * low) >> 256


@given(epsilon=epsilons)
@example(epsilon=0.001)
@example(epsilon=100.0)
@example(epsilon=1.0)
@example(epsilon=math.log(2))
def test_the_bound_is_below_the_exponential_and_close_to_it(epsilon: float) -> None:
    with localcontext() as context:
        context.prec = 200
        exact = Decimal(epsilon).exp() * (1 << 256)
        assert Decimal(exp_floor(epsilon)) <= exact
        assert exact - Decimal(exp_floor(epsilon)) < exact * Decimal(2) ** -240


@given(epsilon=epsilons, low=st.integers(1, 2**60))
def test_the_least_step_over_the_bound_is_caught(epsilon: float, low: int) -> None:
    """Weight moves between two cells of a row: the sum stays, but one ratio exceeds the bound by one unit."""
    high = largest_partner(low, epsilon)
    if not low < high < ONE // 2:
        return
    other = [low, ONE - low]
    assert verify([[[high, ONE - high], other]], epsilon) == [True]
    assert verify([[[high + 1, ONE - high - 1], other]], epsilon) == [False]


@pytest.mark.parametrize("difference", [-1, 1])
@pytest.mark.parametrize("place", [0, 7, 19])
def test_a_sum_broken_by_one_is_caught(difference: int, place: int) -> None:
    cell = ONE // 20
    row = [ONE - cell * 19] + [cell] * 19
    broken = list(row)
    broken[place] += difference
    assert verify([[row] * 20], 1.0) == [True]
    assert verify([[row] * 19 + [broken]], 1.0) == [False]


def test_a_row_that_sums_to_two_is_caught() -> None:
    """The sum is the same modulo 2**64."""
    row = [ONE // 2] * 4
    assert sum(row) == 2 * ONE
    assert verify([[row] * 4], 1.0) == [False]
    assert verify([[[0] * 4] * 4], 1.0) == [False]


def test_a_weight_of_zero_is_caught_alone_and_as_a_whole_column() -> None:
    """A column of zeros leaves the ratios, but thresholds cannot express an empty share of the draws."""
    assert verify([[[ONE - 1, 1], [ONE - 1, 1]]], 1.0) == [True]
    rows = [[ONE // 2, ONE // 2, 0], [ONE // 2, ONE // 2 - 1, 1], [ONE // 2, ONE // 2, 0]]
    assert verify([rows], 100.0) == [False]
    for place in range(3):
        row = [ONE // 2] * 2
        row.insert(place, 0)
        assert verify([[row] * 3], 0.001) == [False]
        sizes, weights = lay_out([[row] * 3])
        union = verify_together(sizes, 100.0, weights, weights)
        assert not union.holds[0] and math.isinf(union.log_ratios[0])


def test_several_tables_are_checked_in_full_and_compared_on_the_drawn_inputs_only() -> None:
    half = ONE // 2
    sizes, table = lay_out([[[ONE - 8, 8], [8, ONE - 8]], [[half, half], [half, half]]])
    assert verify_together(sizes, 1.0, table).holds.tolist() == [False, True]
    none = np.zeros(4, dtype=bool)
    for drawn in (np.array([True, False, True, True]), none):
        verdict = verify_together(sizes, 1.0, table, drawn=drawn)
        assert verdict.holds.tolist() == [True, True] and verdict.log_ratios.tolist() == [0.0, 0.0]
    broken = table.copy()
    broken[0] += np.uint64(1)
    assert verify_together(sizes, 100.0, table, broken, drawn=none).holds.tolist() == [False, True]


def test_groups_are_found_wherever_they_lie() -> None:
    """Groups are checked some 100,000 weights at a time."""
    matrices = [[[ONE - 7 * (size - 1)] + [7] * (size - 1)] * size for size in (300, 2, 3, 2, 300, 3, 2, 300)]
    matrices[6] = [[ONE - 7, 7], [7, ONE - 7]]
    matrices[7][:1] = [[7] * 299 + [ONE - 7 * 299]]
    assert [index for index, holds in enumerate(verify(matrices, 1.0)) if not holds] == [6, 7]


def test_each_group_is_held_to_its_own_epsilon_and_log_ratios_are_reported() -> None:
    sizes, weights = lay_out([[[ONE // 4, ONE - ONE // 4], [ONE // 2, ONE // 2]]] * 3)
    verdict = verify_weights(sizes, [weights], np.array([0.69, 0.7, 0.1]))
    assert verdict.holds.tolist() == [False, True, False]
    assert verdict.log_ratios.tolist() == [math.log(2)] * 3


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 3.0, 10.0, 12.0, 40.0])
def test_the_bound_is_exact_among_groups_that_keep_it_easily(epsilon: float) -> None:
    """Groups are checked together, and most need no large integers; those at the bound are decided to the last bit."""
    bound = exp_floor(epsilon)
    rng = np.random.default_rng(0)
    rows, expected = [], []
    for high in [2**63, 2**62 + 12345, *rng.integers(2**58, 2**62, size=20).tolist()]:
        least = -(-(high << 256) // bound)  # the smallest weight that keeps the bound beside this one
        for low, holds in ((least, True), (least - 1, False), (high, True), (high - high // 2000, True)):
            rows.append([high, 2**64 - high, low, 2**64 - low])
            expected.append(holds)
    verdict = verify_together(np.full(len(rows), 2), epsilon, np.array(rows, dtype=np.uint64).reshape(-1))
    assert verdict.holds.tolist() == expected
    ratios = [max(max(a, c) / min(a, c), max(b, d) / min(b, d)) for a, b, c, d in rows]
    assert verdict.log_ratios.tolist() == [math.log(ratio) for ratio in ratios]


def test_a_constant_output_of_its_group_holds() -> None:
    sizes, drawn = np.array([2, 3]), np.array([True, True, False, True, True])
    right = np.array([1, 1, 2, 4, 4])  # the output of a word that is kept is not used
    assert verify_constant(sizes, right, drawn).holds.tolist() == [True, True]
    assert verify_constant(sizes, right, drawn).log_ratios.tolist() == [0.0, 0.0]
    for wrong in ([0, 1, 3, 3, 3], [2, 2, 3, 3, 3], [-1, -1, 3, 3, 3]):  # two outputs, or one of another group
        verdict = verify_constant(sizes, np.array(wrong), np.ones(5, dtype=bool))
        assert verdict.holds.tolist() == [False, True]
        assert verdict.log_ratios.tolist() == [math.inf, 0.0]
    assert verify_constant(np.array([2]), np.array([0, 1]), np.zeros(2, dtype=bool)).holds.all()
    for outputs, flags in ((3, 2), (2, 3)):
        with pytest.raises(ValueError, match="one output and one flag per word"):
            verify_constant(np.array([2]), np.zeros(outputs, dtype=np.int64), np.ones(flags, dtype=bool))


def test_arrays_that_do_not_fit_are_refused() -> None:
    fitting, ones = np.full(4, 1 << 63, dtype=np.uint64), np.ones(1)
    wrong: list[tuple[Any, Any, Any]] = [(fitting[:3], ones, None), (fitting.astype(np.int64), ones, None)]
    wrong += [
        (fitting, np.ones(2), None),
        (fitting, ones.astype(np.float32), None),
        (fitting, ones, np.ones(3, dtype=bool)),
    ]
    for weights, epsilons, drawn in wrong:
        with pytest.raises(ValueError, match="expected one .* per"):
            verify_weights(np.array([2]), [weights], epsilons, drawn)
