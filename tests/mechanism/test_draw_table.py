"""A draw selects the output whose share contains it, with shortcuts and without."""

from itertools import accumulate

import numpy as np
import pytest
from custext_sql.mechanism.draw_table import DrawTable
from hypothesis import given, settings
from hypothesis import strategies as st

WHOLE = 1 << 64
Rows = list[list[int]]


@st.composite
def rows_of_weights(draw: st.DrawFn) -> Rows:
    """Generate shares of 2**64 of very unequal sizes, some of them empty."""
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        cuts = st.one_of(st.integers(0, WHOLE), st.integers(0, 300), st.integers(0, 255).map(lambda high: high << 56))
        bounds = sorted(draw(st.lists(cuts, max_size=draw(st.sampled_from([3, 40, 300])))))
        rows.append([end - start for start, end in zip([0, *bounds], [*bounds, WHOLE], strict=True)])
    return [row for row in rows if row[-1]] or [[WHOLE]]


def make_table(rows: Rows, largest: int) -> DrawTable:
    last = [end - 1 for row in rows for end in accumulate(row)]
    return DrawTable.make(
        np.array([value % WHOLE for value in last], dtype=np.uint64),
        np.array([len(row) for row in rows], dtype=np.int64),
        largest,
    )


def find_one_by_one(row: list[int], draw: int) -> int:
    return next(place for place, end in enumerate(accumulate(row)) if draw < end)


@settings(max_examples=200)
@given(rows_of_weights(), st.lists(st.integers(0, WHOLE - 1), max_size=20))
def test_draws_fall_to_the_share_they_lie_in(rows: Rows, more: list[int]) -> None:
    rows = [row for row in rows if row[0]] or [[WHOLE]]  # an empty share at the start has no last draw
    largest = max(map(len, rows))
    plain = make_table(rows, largest)
    cases = []
    for number, row in enumerate(rows):
        edges = {end + step for end in accumulate(row) for step in (-1, 0)} - {WHOLE}
        cases += [(number, draw) for draw in {*edges, *more, 0, WHOLE - 1}]
    numbers, draws = np.array([row for row, _ in cases]), np.array([draw for _, draw in cases], dtype=np.uint64)
    expected = [find_one_by_one(rows[row], draw) for row, draw in cases]
    for table in (
        plain,
        plain.with_shortcuts(),
        make_table(rows[:1], largest).with_shortcuts() + make_table(rows[1:], largest),
    ):
        assert table.choose(numbers, draws).tolist() == expected
        assert [table.row(number) for number in range(len(rows))] == rows


@pytest.mark.parametrize("largest", [2, 20, 254, 255, 256, 1000])
def test_groups_of_any_size_have_room_for_their_shortcuts(largest: int) -> None:
    row = [1] * (largest - 1) + [WHOLE - largest + 1]
    even = [WHOLE // largest] * (largest - 1) + [WHOLE - WHOLE // largest * (largest - 1)]
    table = make_table([row], largest).with_shortcuts() + make_table([even], largest)
    draws = [0, largest // 2, largest - 2, largest - 1, WHOLE // 2, WHOLE - 1]
    for number, weights in enumerate((row, even)):
        found = table.choose(np.full(len(draws), number), np.array(draws, dtype=np.uint64))
        assert found.tolist() == [find_one_by_one(weights, draw) for draw in draws]


def test_shortcuts_decide_most_draws_and_no_wrong_ones() -> None:
    """Shortcuts decide nine in ten draws at twenty even shares. Without ambiguity marks, a table would be wrong."""
    even = [WHOLE // 20] * 19 + [WHOLE - WHOLE // 20 * 19]
    table = make_table([even], 20).with_shortcuts()
    assert table.shortcuts is not None
    marked = table.shortcuts == np.iinfo(table.shortcuts.dtype).max
    assert 0 < marked.mean() < 0.1
    draws = np.random.default_rng(5).integers(0, WHOLE, 20_000, dtype=np.uint64)
    expected = [find_one_by_one(even, int(draw)) for draw in draws]
    assert table.choose(np.zeros(len(draws), dtype=np.int64), draws).tolist() == expected
