"""The sampler draws from verified tables, which are built when needed."""

import math

import numpy as np
import pytest

from custext_sql.errors import SettingError
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism import sampler as module
from custext_sql.mechanism.certified_table import certify
from custext_sql.mechanism.sampler import Sampler
from tests.small_mapping import small_mapping

EPSILONS = (0.5, 1.0, 4.0)


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
            assert first == 1 << 64
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
    draws = np.zeros(3, dtype=np.uint64)
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
    table = 5 * (5 * 8 + 16)  # of a group of five
    monkeypatch.setattr(module, "_BYTES", 2 * table)  # two fit only without the rows of their words
    assert draw(4.0, 3.0, 3.0, 4.0) == [[4.0], [3.0], [4.0]]
    verified.clear()
    for _ in range(2):  # tables in use at the same time stay, whatever their size
        sampler.sample(np.zeros(2, dtype=np.int64), np.array([5.0, 6.0]), np.zeros(2, dtype=np.uint64))
    assert verified == [[5.0, 6.0]]


def test_a_row_of_weights_is_the_verified_one(mapping: Mapping) -> None:
    table = certify(mapping.sizes, mapping.scores, 2.0)
    assert Sampler(mapping, "paper").row(1, 2.0) == table.weights[5:10].tolist()
    assert Sampler(mapping, "paper").worst_log_ratio([2.0]) == table.log_ratios.max()


def test_no_words_need_no_tables(mapping: Mapping, verified: list[list[float]]) -> None:
    sampler = Sampler(mapping, "paper")
    none, draws = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    assert sampler.sample(none, 1.0, draws).tolist() == sampler.sample(none, np.zeros(0), draws).tolist() == []
    assert verified == []


def test_every_eps_is_checked(mapping: Mapping) -> None:
    sampler = Sampler(mapping, "paper")
    for wrong in (0.0005, -1.0, float("nan"), float("inf"), 101.0):
        with pytest.raises(SettingError, match="eps must be 0, or between"):
            sampler.sample(np.zeros(2, dtype=np.int64), np.array([1.0, wrong]), np.zeros(2, dtype=np.uint64))


@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_groups_are_verified_in_parts_as_if_at_once(
    mapping: Mapping, calibration: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst log-ratio, alone and over several eps, of all words and of some, from the definition."""
    sampler = Sampler(mapping, calibration)
    rows = {
        epsilon: [(group, sampler.row(word, epsilon)) for word, group in enumerate(sampler._group_of.tolist())]
        for epsilon in EPSILONS
    }
    some = np.arange(len(mapping.words)) % 3 > 0
    some[:5] = False  # a group without any
    for drawn in (None, some):
        for epsilons in ((1.0,), (4.0,), EPSILONS):
            expected = 0.0
            for number in range(len(mapping.sizes)):
                columns = zip(
                    *(
                        row
                        for epsilon in epsilons
                        for word, (group, row) in enumerate(rows[epsilon])
                        if group == number and (drawn is None or drawn[word])
                    ),
                    strict=True,
                )
                expected = max([expected, *(math.log(max(column) / min(column)) for column in columns)])
            for most in (1, 30, 60, 1 << 19):
                monkeypatch.setattr(module, "_CELLS_VERIFIED", most)
                assert sampler.worst_log_ratio(epsilons, drawn) == pytest.approx(expected, abs=1e-12)
