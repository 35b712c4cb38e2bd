"""The verifier accepts exactly the weights that satisfy the guarantee. Mutations show that each check is needed."""

import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from custext_sql import Sanitizer
from custext_sql.mechanism.certified_table import certify
from custext_sql.mechanism.verifier import exp_floor, verify_union, verify_weights

ONE = 1 << 64
epsilons = st.floats(0.001, 100)


def verify(matrices: list[list[list[int]]], epsilon: float) -> list[bool]:
    sizes = np.array([len(matrix) for matrix in matrices])
    weights = np.array([cell for matrix in matrices for row in matrix for cell in row], dtype=np.uint64)
    return list(map(bool, verify_weights(sizes, weights, np.full(len(sizes), epsilon)).holds))


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


def test_uniform_weights_hold_at_any_epsilon() -> None:
    for size in (2, 3, 20, 1000):
        cell = ONE // size
        row = [ONE - cell * (size - 1)] + [cell] * (size - 1)
        assert verify([[row] * size], 0.001) == [True]


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
        weights = np.array(row * 3, dtype=np.uint64)
        union = verify_union(np.array([3]), [weights, weights], 100.0)
        assert not union.holds[0] and math.isinf(union.log_ratios[0])


def test_a_union_checks_the_rows_itself_and_compares_the_drawn_inputs_only() -> None:
    sizes = np.array([2, 2])
    table = np.array([ONE - 8, 8, 8, ONE - 8, ONE // 2, ONE // 2, ONE // 2, ONE // 2], dtype=np.uint64)
    assert verify_union(sizes, [table], 1.0).holds.tolist() == [False, True]
    drawn = verify_union(sizes, [table], 1.0, np.array([True, False, True, True]))
    assert drawn.holds.tolist() == [True, True] and drawn.log_ratios.tolist() == [0.0, 0.0]
    none = verify_union(sizes, [table], 1.0, np.zeros(4, dtype=bool))
    assert none.holds.all() and none.log_ratios.tolist() == [0.0, 0.0]
    broken = table.copy()
    broken[0] += np.uint64(1)
    assert verify_union(sizes, [table, broken], 100.0, np.zeros(4, dtype=bool)).holds.tolist() == [False, True]
    with pytest.raises(ValueError, match="one unsigned 64-bit weight"):
        verify_union(sizes, [table[:-1]], 1.0)


def test_only_the_group_that_fails_is_named() -> None:
    good = [[ONE // 2, ONE // 2]] * 2
    bad = [[ONE // 2, ONE // 2], [1, ONE - 1]]
    large = [[ONE // 4] * 4] * 4
    assert verify([good, large, bad, large, good], 1.0) == [True, True, False, True, True]


def test_groups_are_found_wherever_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    matrices: list[list[list[int]]] = []
    for _ in range(60):
        size = int(random.integers(2, 6))
        matrices.append([[ONE - 7 * (size - 1)] + [7] * (size - 1)] * size)
    matrices[41] = [[ONE - 7, 7], [7, ONE - 7]]
    for cells in (1, 30, 1 << 20):
        monkeypatch.setattr("custext_sql.mechanism.verifier._CELLS", cells)
        assert [index for index, holds in enumerate(verify(matrices, 1.0)) if not holds] == [41]


def test_log_ratios_are_reported() -> None:
    quarter = ONE // 4
    sizes, weights = np.array([2]), np.array([quarter, ONE - quarter, 2 * quarter, 2 * quarter], dtype=np.uint64)
    verdict = verify_weights(sizes, weights, np.ones(1))
    assert verdict.log_ratios.tolist() == [math.log(2)]


@pytest.mark.parametrize(
    "weights", [np.zeros(3, dtype=np.uint64), np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.float64)]
)
def test_anything_but_one_integer_a_pair_is_refused(weights: npt.NDArray[np.uint64]) -> None:
    with pytest.raises(ValueError, match="one unsigned 64-bit weight per pair"):
        verify_weights(np.array([2]), weights, np.ones(1))


@pytest.mark.parametrize("epsilons", [np.ones(2), np.ones(1, dtype=np.float32)])
def test_anything_but_one_epsilon_a_group_is_refused(epsilons: npt.NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="one 64-bit epsilon per group"):
        verify_weights(np.array([2]), np.full(4, 1 << 63, dtype=np.uint64), epsilons)


def test_each_group_is_held_to_its_own_epsilon() -> None:
    quarter = ONE // 4
    group = [quarter, ONE - quarter, 2 * quarter, 2 * quarter]
    sizes, weights = np.array([2, 2, 2]), np.array(group * 3, dtype=np.uint64)
    assert verify_weights(sizes, weights, np.array([0.69, 0.7, 0.1])).holds.tolist() == [False, True, False]


def test_tables_of_several_budgets_are_verified_together(mapped_db: Path) -> None:
    mapping = Sanitizer.load(mapped_db).mapping
    low, high = (certify(mapping.sizes, mapping.scores, epsilon).weights for epsilon in (0.5, 3.0))
    assert verify_union(mapping.sizes, [low, high], 3.0).holds.all()
    verdict = verify_union(mapping.sizes, [low, high], 0.5)
    assert not verdict.holds.any() and (verdict.log_ratios > 0.5).all()
    alone = verify_union(mapping.sizes, [low], 0.5)
    assert alone.holds.all() and (alone.log_ratios <= 0.5).all()
    broken = high.copy()
    broken[0] = 0  # a single zero among nonzero weights
    assert not verify_union(mapping.sizes, [low, broken], 100.0).holds[0]


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
    sizes = np.full(len(rows), 2)
    weights = np.array(rows, dtype=np.uint64).reshape(-1)
    verdict = verify_weights(sizes, weights, np.full(len(rows), epsilon))
    assert verdict.holds.tolist() == expected
    assert verify_union(sizes, [weights], epsilon).holds.tolist() == expected
    ratios = [max(max(a, c) / min(a, c), max(b, d) / min(b, d)) for a, b, c, d in rows]
    assert verdict.log_ratios.tolist() == [math.log(ratio) for ratio in ratios]
