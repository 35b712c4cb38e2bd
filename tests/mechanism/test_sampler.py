"""Draws select the output whose share contains them, from verified tables, which are built when they are needed."""

import math
from itertools import accumulate, chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custext_sql.arrays import Weights
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism import sampler as module
from custext_sql.mechanism.certified_table import certify
from custext_sql.mechanism.sampler import Sampler, count_below, find_shortcuts
from tests.small_mapping import small_mapping

EPSILONS = (0.5, 1.0, 4.0)
WHOLE = 1 << 64
Rows = list[list[int]]


@st.composite
def rows_of_weights(draw: st.DrawFn) -> Rows:
    """Generate shares of 2**64 of very unequal sizes; only those inside a row may be empty."""
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        cuts = st.one_of(
            st.integers(1, WHOLE - 1), st.integers(1, 300), st.integers(1, 255).map(lambda high: high << 56)
        )
        bounds = sorted(draw(st.lists(cuts, max_size=draw(st.sampled_from([3, 40, 300])))))
        rows.append([end - start for start, end in zip([0, *bounds], [*bounds, WHOLE], strict=True)])
    return rows


def thresholds_of(rows: Rows) -> Weights:
    """Return the last draw of each output, and the last of all draws up to the longest row."""
    longest = max(map(len, rows))
    filled = ([*(end - 1 for end in accumulate(row)), *[WHOLE - 1] * (longest - len(row))] for row in rows)
    return np.array(list(filled), dtype=np.uint64)


def find_one_by_one(row: list[int], draw: int) -> int:
    return next(place for place, end in enumerate(accumulate(row)) if draw < end)


def check_draws(rows: Rows, cases: list[tuple[int, int]]) -> None:
    thresholds = thresholds_of(rows)
    numbers, draws = np.array([row for row, _ in cases]), np.array([draw for _, draw in cases], dtype=np.uint64)
    expected = [find_one_by_one(rows[row], draw) for row, draw in cases]
    for shortcuts in (None, find_shortcuts(thresholds)):
        assert count_below(thresholds, shortcuts, numbers, draws).tolist() == expected


@settings(max_examples=200)
@given(rows_of_weights(), st.lists(st.integers(0, WHOLE - 1), max_size=20))
def test_draws_fall_to_the_share_they_lie_in(rows: Rows, more: list[int]) -> None:
    cases = []
    for number, row in enumerate(rows):
        edges = {end + step for end in accumulate(row) for step in (-1, 0)} - {WHOLE}
        cases += [(number, draw) for draw in {*edges, *more, 0, WHOLE - 1}]
    check_draws(rows, cases)


@pytest.mark.parametrize("largest", [2, 20, 254, 255, 256, 1000])
def test_groups_of_any_size_have_room_for_their_shortcuts(largest: int) -> None:
    uneven = [1] * (largest - 1) + [WHOLE - largest + 1]
    even = [WHOLE // largest] * (largest - 1) + [WHOLE - WHOLE // largest * (largest - 1)]
    draws = [0, largest // 2, largest - 2, largest - 1, WHOLE // 2, WHOLE - 1]
    check_draws([uneven, even], [(row, draw) for row in range(2) for draw in draws])


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    return small_mapping([f"w{number}" for number in range(23)], k=5)


@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_a_draw_picks_the_output_whose_share_it_falls_into(mapping: Mapping, calibration: str) -> None:
    """Exact: for every word, output and eps, the first and last draw of the share and one in between."""
    words, epsilons, draws, expected = [], [], [], []
    for epsilon in EPSILONS:
        weights = iter(certify(mapping.sizes, mapping.scores, epsilon, calibration).weights.tolist())
        for word, name in enumerate(mapping.words):
            first = 0
            for output in mapping.find_row(name)[0]:
                weight = next(weights)
                words += [word] * 3
                epsilons += [epsilon] * 3
                draws += [first, first + weight // 2, first + weight - 1]
                expected += [mapping.index[output]] * 3
                first += weight
            assert first == WHOLE
    order = np.random.default_rng(3).permutation(len(words))  # eps and words mixed
    mixed = Sampler(mapping, calibration)
    arrays = np.array(words)[order], np.array(epsilons)[order], np.array(draws, dtype=np.uint64)[order]
    assert mixed.sample(*arrays).tolist() == np.array(expected)[order].tolist()
    alone = Sampler(mapping, calibration)
    for part in np.array_split(order, 7):  # tables grow from call to call
        for epsilon in EPSILONS:
            chosen = part[np.array(epsilons)[part] == epsilon]
            found = alone.sample(np.array(words)[chosen], epsilon, np.array(draws, dtype=np.uint64)[chosen])
            assert found.tolist() == np.array(expected)[chosen].tolist()


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[list[float]]:
    """Record the eps of the groups that are verified, per call, while a test runs."""
    made: list[list[float]] = []

    def counting(sizes: np.ndarray, scores: object, epsilons: np.ndarray, calibration: str) -> object:
        made.append(epsilons.tolist())
        return certify(sizes, scores, epsilons, calibration)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "certify", counting)
    return made


def test_only_groups_that_occur_are_verified(mapping: Mapping, verified: list[list[float]]) -> None:
    sampler = Sampler(mapping, "paper")
    none, draws = np.zeros(0, dtype=np.int64), np.zeros(3, dtype=np.uint64)
    assert sampler.sample(none, 1.0, draws[:0]).tolist() == sampler.sample(none, np.zeros(0), draws[:0]).tolist() == []
    assert verified == []
    sampler.sample(np.array([0, 1, 6]), 1.0, draws)  # words 0 to 4 are the first group
    sampler.sample(np.array([0, 4, 7]), np.array([1.0, 2.0, 3.0]), draws)
    sampler.sample(np.array([0, 6, 0]), 1.0, draws)
    assert verified == [[1.0, 1.0], [2.0, 3.0]]


def test_the_eps_least_recently_used_is_verified_again(
    mapping: Mapping, verified: list[list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_EPSILONS", 2)
    sampler = Sampler(mapping, "paper")

    def draw(*epsilons: float) -> list[list[float]]:
        """Draw at each eps in turn, and return what was verified for it."""
        verified.clear()
        for epsilon in epsilons:
            sampler.sample(np.array([0]), epsilon, np.zeros(1, dtype=np.uint64))
        return list(verified)

    assert draw(1.0, 2.0, 1.0, 3.0) == [[1.0], [2.0], [3.0]]
    assert draw(1.0, 3.0) == []
    assert draw(2.0, 3.0) == [[2.0]]
    verified.clear()
    for _ in range(2):  # tables in use at the same time stay, whatever their size
        sampler.sample(np.zeros(2, dtype=np.int64), np.array([5.0, 6.0]), np.zeros(2, dtype=np.uint64))
    assert verified == [[5.0, 6.0]]


def test_a_row_of_weights_is_the_verified_one(mapping: Mapping) -> None:
    table = certify(mapping.sizes, mapping.scores, 2.0)
    sampler = Sampler(mapping, "paper")
    assert list(chain(*(sampler.row(word, 2.0) for word in range(23)))) == table.weights.tolist()
    assert sampler.worst_log_ratio([2.0]) == table.log_ratios.max()


@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_groups_are_verified_in_parts_as_if_at_once(
    mapping: Mapping, calibration: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst log-ratio, alone and over several eps, of all words and of some, from the definition."""
    sampler = Sampler(mapping, calibration)
    some = np.arange(len(mapping.words)) % 3 > 0
    some[:5] = False  # a group without any
    for drawn in (None, some):
        for epsilons in ((1.0,), (4.0,), EPSILONS):
            expected = 0.0
            for group in np.split(np.arange(23), mapping.word_starts[1:]):
                inputs = [word for word in group.tolist() if drawn is None or drawn[word]]
                columns = zip(*(sampler.row(word, epsilon) for epsilon in epsilons for word in inputs), strict=True)
                expected = max([expected, *(math.log(max(column) / min(column)) for column in columns)])
            for most in (1, 30, 60, 1 << 19):
                monkeypatch.setattr(module, "_CELLS_VERIFIED", most)
                assert sampler.worst_log_ratio(epsilons, drawn) == pytest.approx(expected, abs=1e-12)
