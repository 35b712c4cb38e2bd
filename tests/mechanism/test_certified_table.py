"""Weights satisfy the guarantee exactly, whatever the scores, and are those of the paper's mechanism; eps = 0 too."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custext_sql.arrays import Floats, Scores
from custext_sql.errors import CertificateError, SettingError
from custext_sql.mapping.mapping import Mapping
from custext_sql.mapping.similarity import STEPS
from custext_sql.mechanism import certified_table
from custext_sql.mechanism.certified_table import certify, find_representatives
from custext_sql.mechanism.verifier import Verdict, exp_floor
from custext_sql.mechanism.weights import find_probabilities
from tests.small_mapping import small_mapping

ONE = 1 << 64
calibrations = pytest.mark.parametrize("calibration", ["paper", "tight"])


def random_scores(size: int, kind: str, seed: int) -> Scores:
    """Generate scores of a group: arbitrary, extreme, lowest for the word itself, all equal, or of real points."""
    random = np.random.default_rng(seed)
    if kind == "equal":
        return np.zeros((size, size), dtype=np.int32)
    if kind == "extreme":
        return (-STEPS * random.integers(0, 2, size=(size, size))).astype(np.int32)
    scores = -random.integers(0, STEPS + 1, size=(size, size))
    if kind == "inverted":
        np.fill_diagonal(scores, -STEPS)
    if kind == "symmetric":
        scores = np.minimum(scores, scores.T)
        np.fill_diagonal(scores, 0)
    return scores.astype(np.int32)


@calibrations
@settings(max_examples=120, deadline=None)
@given(
    sizes=st.lists(st.integers(2, 12), min_size=1, max_size=4),
    kind=st.sampled_from(["any", "extreme", "inverted", "equal", "symmetric"]),
    epsilon=st.one_of(st.floats(0.001, 100), st.sampled_from([0.001, 1.0, 100.0])),
    seed=st.integers(0, 2**32),
)
def test_no_ratio_exceeds_e_to_the_epsilon_in_exact_arithmetic(
    calibration: str, sizes: list[int], kind: str, epsilon: float, seed: int
) -> None:
    groups = [random_scores(size, kind, seed + place) for place, size in enumerate(sizes)]
    table = certify(np.array(sizes), np.concatenate([group.reshape(-1) for group in groups]), epsilon, calibration)
    bound = Fraction(exp_floor(epsilon), 1 << 256)
    cells, start = [int(weight) for weight in table.weights], 0
    for size in sizes:
        rows = [cells[start + row * size : start + (row + 1) * size] for row in range(size)]
        assert all(sum(row) == ONE for row in rows)
        for column in zip(*rows, strict=True):
            assert min(column) > 0
            assert Fraction(max(column), min(column)) <= bound
        start += size * size


@pytest.mark.parametrize("epsilon", [0.001, 1.0, 100.0])
def test_groups_of_up_to_a_thousand_words(epsilon: float) -> None:
    sizes = [2, 3, 20, 300, 1000]
    scores = np.concatenate([random_scores(size, "symmetric", size).reshape(-1) for size in sizes])
    assert (certify(np.array(sizes), scores, epsilon).log_ratios <= epsilon).all()


def test_probabilities_follow_the_formula() -> None:
    scores = np.array([0, -STEPS // 2, -STEPS], dtype=np.int32)
    weights = [1.0, math.exp(-0.75), math.exp(-1.5)]
    expected = [weight / sum(weights) for weight in weights]
    assert find_probabilities(scores, np.array(1.5)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("epsilon", [0.001, 0.5, 1.0, 3.0, 20.0, 100.0])
def test_weights_are_the_probabilities_of_the_paper_rounded_up_but_for_the_largest(epsilon: float) -> None:
    scores = random_scores(20, "symmetric", 1)
    table = certify(np.array([20]), scores.reshape(-1), epsilon)
    expected = find_probabilities(scores, np.array(epsilon / 2))
    assert np.abs(table.weights.reshape(20, 20) / 2.0**64 - expected).max() < 1e-15
    assert table.temperatures.tolist() == [epsilon / 2]
    for row, chances in zip(table.weights.reshape(20, 20).tolist(), expected.tolist(), strict=True):
        others = [place for place in range(20) if place != row.index(max(row))]
        assert all(row[place] == max(1, math.ceil(Fraction(chances[place]) * ONE)) for place in others)


def test_tight_uses_what_the_paper_leaves() -> None:
    groups = [random_scores(20, "symmetric", seed) for seed in range(50)]
    sizes, scores = np.full(50, 20), np.concatenate([group.reshape(-1) for group in groups])
    paper, tight = certify(sizes, scores, 1.0), certify(sizes, scores, 1.0, "tight")
    assert (tight.temperatures > 1.2 * paper.temperatures).all()
    assert (tight.temperatures <= 1.0).all()
    assert tight.log_ratios.max() <= 1.0
    assert ((tight.log_ratios > 1.0 - 1e-6) | (tight.temperatures == 1.0)).all()


def test_a_group_that_fails_is_made_anew_at_a_lower_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_hot(sizes: object, scores: object, epsilons: Floats, calibration: str) -> object:
        return epsilons * [0.5, 3.0, 0.5] if len(epsilons) > 1 else epsilons / 2

    monkeypatch.setattr(certified_table, "choose_temperatures", too_hot)
    groups = [random_scores(5, "symmetric", seed).reshape(-1) for seed in range(3)]
    table = certify(np.array([5, 5, 5]), np.concatenate(groups), 1.0)
    assert table.shrunk == 1
    assert table.temperatures[0] == table.temperatures[2] == 0.5
    assert table.temperatures[1] < 3.0
    assert table.log_ratios.max() <= 1.0
    single = certify(np.array([5]), groups[0], 1.0)
    assert table.weights[:25].tolist() == single.weights.tolist()


def test_nothing_that_fails_is_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(sizes: np.ndarray[tuple[int], np.dtype[np.int64]], scores: Scores, temperatures: object) -> object:
        return np.ones(len(scores), dtype=np.uint64)

    monkeypatch.setattr(certified_table, "build_weights", careless)
    with pytest.raises(CertificateError, match="group 0: found no weights that satisfy eps .* nothing was sampled"):
        certify(np.array([2]), np.zeros(4, dtype=np.int32), 1.0)


def test_bad_parameters_are_named() -> None:
    sizes, scores = np.array([2]), np.zeros(4, dtype=np.int32)
    with pytest.raises(SettingError, match="paper, tight; found 'loose'"):
        certify(sizes, scores, 1.0, "loose")
    for wrong in (-1.0, -0.001, 5e-324, 0.0009, 100.1, math.inf, math.nan):
        with pytest.raises(SettingError, match=r"eps must be 0, or between 0\.001 and 100; found"):
            certify(sizes, scores, wrong)
    with pytest.raises(ValueError, match="eps = 0 has no table"):
        certify(sizes, scores, 0.0)
    with pytest.raises(SettingError, match="eps must be a number; found NoneType"):
        certify(sizes, scores, None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    return small_mapping([f"w{number}" for number in range(23)], k=5)


@given(seed=st.integers(0, 2**32))
def test_the_representative_is_the_first_drawn_word_of_the_vector_file(mapping: Mapping, seed: int) -> None:
    generator = np.random.default_rng(seed)
    mapping = replace(mapping, ranks=generator.permutation(100)[:23])
    some = generator.random(23) < generator.random()
    for drawn in (some, None):
        found = find_representatives(mapping, drawn)
        for group in np.split(np.arange(23), mapping.word_starts[1:]):
            candidates = [word for word in group if drawn is None or drawn[word]] or list(group)
            expected = min(candidates, key=lambda word: int(mapping.ranks[word]))
            assert set(found[group].tolist()) == {expected}


def test_no_representative_is_used_unverified(mapping: Mapping, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(sizes: np.ndarray, *_: object) -> Verdict:
        return Verdict(np.arange(len(sizes)) != 1, np.zeros(len(sizes)))

    monkeypatch.setattr(certified_table, "verify_constant", refuse)
    with pytest.raises(CertificateError, match=r"group 1.* eps = 0 "):
        find_representatives(mapping)
