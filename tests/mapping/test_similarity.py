"""The measures of similarity, the results that a user's function may return, and scores: multiples of 2**-20."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from custext_sql.arrays import Floats
from custext_sql.errors import MappingError, SettingError
from custext_sql.mapping.grouping import partition_words
from custext_sql.mapping.similarity import (
    MEASURES,
    STEPS,
    UserSuppliedMeasure,
    choose_similarity,
    scale_scores,
    score_groups,
)


def test_measures_equal_their_formulas() -> None:
    rows, columns = np.random.default_rng(0).normal(size=(2, 40, 300))
    distance = np.sqrt(((rows[:, None] - columns[None]) ** 2).sum(axis=2))
    lengths = np.linalg.norm(rows, axis=1)[:, None] * np.linalg.norm(columns, axis=1)
    assert np.allclose(MEASURES["euclidean"].matrix(rows, columns), distance, rtol=1e-13)
    assert np.allclose(MEASURES["cosine"].matrix(rows, columns), rows @ columns.T / lengths, atol=1e-14)


def test_equal_rows_are_exactly_alike() -> None:
    rows = np.repeat(np.random.default_rng(1).normal(size=(1, 301)), 7, axis=0)
    assert (MEASURES["cosine"].matrix(rows, rows) == 1.0).all()
    assert (MEASURES["euclidean"].matrix(rows, rows) == 0.0).all()


def test_a_function_needs_its_direction_and_a_named_measure_has_its_own() -> None:
    with pytest.raises(SettingError, match="larger_is_closer=True or"):
        choose_similarity(np.dot)
    with pytest.raises(SettingError, match="applies to functions only"):
        choose_similarity("cosine", True)
    with pytest.raises(SettingError, match="euclidean, cosine or a function; found 'cosin'"):
        choose_similarity("cosin")


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (np.zeros((2, 2)), r"expected a matrix of shape \(2, 3\), found shape \(2, 2\)"),
        (np.full((2, 3), np.nan), "expected finite numbers"),
        (np.full((2, 3), np.inf), "expected finite numbers"),
        (np.full((2, 3), 1j), "expected real numbers, found complex numbers"),
        (np.full((2, 3), "a"), "expected real numbers, found strings"),
    ],
)
def test_a_function_that_returns_something_else_is_an_error(result: Floats, message: str) -> None:
    def broken(rows: Floats, columns: Floats) -> Floats:
        return result

    with pytest.raises(MappingError, match=f"similarity broken: {message}"):
        choose_similarity(broken, True).matrix(np.zeros((2, 1)), np.zeros((3, 1)))


closeness = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=8), elements=st.floats(-1e6, 1e6)
)


def exact_score(value: float, values: npt.NDArray[np.float64]) -> Fraction:
    """Return scores by the paper's formula in exact arithmetic."""
    least, most = Fraction(float(values.min())), Fraction(float(values.max()))
    return Fraction(0) if least == most else (Fraction(value) - least) / (most - least)


@settings(max_examples=100, deadline=None)
@given(matrix=closeness, larger=st.booleans(), normalization=st.sampled_from(["group", "word"]))
def test_scores_equal_the_formula_to_half_a_step(matrix: Floats, larger: bool, normalization: str) -> None:
    scores = scale_scores(matrix, larger, normalization)
    sign = 1 if larger else -1
    assert scores.max() - scores.min() <= STEPS
    for row in range(len(matrix)):
        basis = matrix if normalization == "group" else matrix[row]
        for column in range(matrix.shape[1]):
            expected = sign * exact_score(float(matrix[row, column]), basis)
            missed = abs(Fraction(int(scores[row, column]), STEPS) - expected)
            assert missed <= Fraction(1, 2 * STEPS) + Fraction(1, 10**12)


def test_a_group_of_known_points() -> None:
    vectors = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 10.0]], dtype=np.float32)
    partition = partition_words(vectors, MEASURES["euclidean"], 3)
    [scores] = score_groups(vectors, partition.groups(), MEASURES["euclidean"])
    middle = round(np.sqrt(9 + 36) / 10 * STEPS)
    assert scores.tolist() == [[0, -STEPS // 2, -STEPS], [-STEPS // 2, 0, -middle], [-STEPS, -middle, 0]]
    [by_word] = score_groups(vectors, partition.groups(), MEASURES["euclidean"], "word")
    assert by_word.min(axis=1).tolist() == [-STEPS] * 3


def test_rows_are_inputs_and_columns_outputs_for_asymmetric_measures() -> None:
    similarity = UserSuppliedMeasure(lambda rows, columns: rows[:, :1] + 3 * columns[:, 0], larger_is_closer=True)
    vectors = np.array([[0.0], [1.0]], dtype=np.float32)
    [scores] = score_groups(vectors, partition_words(vectors, similarity, 2).groups(), similarity)
    assert scores.tolist() == [[0, 3 * STEPS // 4], [STEPS // 4, STEPS]]


def test_an_infinite_spread_is_an_error() -> None:
    with pytest.raises(MappingError, match="too far apart"):
        scale_scores(np.array([[1e308, -1e308], [0.0, 0.0]]), True)
