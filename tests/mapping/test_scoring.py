"""Scores follow the paper's formula and are multiples of 2**-20."""

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
from custext_sql.mapping.similarity import MEASURES, STEPS, UserSuppliedMeasure, scale_scores, score_groups

closeness = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=8), elements=st.floats(-1e6, 1e6)
)


def exact_score(value: float, values: npt.NDArray[np.float64]) -> Fraction:
    """Return scores by the paper's formula in exact arithmetic."""
    least, most = Fraction(float(values.min())), Fraction(float(values.max()))
    return Fraction(0) if least == most else (Fraction(value) - least) / (most - least)


@settings(max_examples=100, deadline=None)
@given(matrix=closeness, larger=st.booleans(), normalization=st.sampled_from(["group", "word"]))
def test_scores_equal_the_formula_to_half_a_unit(matrix: Floats, larger: bool, normalization: str) -> None:
    scores = scale_scores(matrix, larger, normalization)
    sign = 1 if larger else -1
    for row in range(len(matrix)):
        basis = matrix if normalization == "group" else matrix[row]
        for column in range(matrix.shape[1]):
            expected = sign * exact_score(float(matrix[row, column]), basis)
            assert abs(Fraction(int(scores[row, column]), STEPS) - expected) <= Fraction(1, 2 * STEPS) + Fraction(
                1, 10**12
            )


@given(matrix=closeness, larger=st.booleans(), normalization=st.sampled_from(["group", "word"]))
def test_scores_of_one_output_differ_by_at_most_one(matrix: Floats, larger: bool, normalization: str) -> None:
    scores = scale_scores(matrix, larger, normalization)
    assert scores.max() - scores.min() <= STEPS
    assert (scores >= 0).all() if larger else (scores <= 0).all()


@pytest.mark.parametrize("normalization", ["group", "word"])
def test_equal_similarities_score_zero(normalization: str) -> None:
    assert not scale_scores(np.full((3, 3), 0.7), True, normalization).any()


def test_a_group_of_known_points() -> None:
    vectors = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 10.0]], dtype=np.float32)
    partition = partition_words(vectors, MEASURES["euclidean"], 3)
    [scores] = score_groups(vectors, partition.groups(), MEASURES["euclidean"])
    middle = round(np.sqrt(9 + 36) / 10 * STEPS)
    assert scores.tolist() == [[0, -STEPS // 2, -STEPS], [-STEPS // 2, 0, -middle], [-STEPS, -middle, 0]]
    [by_word] = score_groups(vectors, partition.groups(), MEASURES["euclidean"], "word")
    assert by_word.min(axis=1).tolist() == [-STEPS] * 3


def test_cosine_scores_are_highest_for_the_word_itself() -> None:
    vectors = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [-1.0, 0.0]], dtype=np.float32)
    partition = partition_words(vectors, MEASURES["cosine"], 4)
    [scores] = score_groups(vectors, partition.groups(), MEASURES["cosine"])
    assert partition.members.tolist() == [0, 1, 2, 3]
    assert scores.tolist() == [
        [STEPS, STEPS, STEPS // 2, 0],
        [STEPS, STEPS, STEPS // 2, 0],
        [STEPS // 2, STEPS // 2, STEPS, STEPS // 2],
        [0, 0, STEPS // 2, STEPS],
    ]


def test_rows_are_inputs_and_columns_outputs_for_asymmetric_measures() -> None:
    similarity = UserSuppliedMeasure(lambda rows, columns: rows[:, :1] + 3 * columns[:, 0], larger_is_closer=True)
    vectors = np.array([[0.0], [1.0]], dtype=np.float32)
    [scores] = score_groups(vectors, partition_words(vectors, similarity, 2).groups(), similarity)
    assert scores.tolist() == [[0, 3 * STEPS // 4], [STEPS // 4, STEPS]]


def test_an_infinite_spread_is_an_error() -> None:
    with pytest.raises(MappingError, match="too far apart"):
        scale_scores(np.array([[1e308, -1e308], [0.0, 0.0]]), True)


def test_an_unknown_normalization_is_an_error() -> None:
    with pytest.raises(SettingError, match="group, word; found 'rows'"):
        scale_scores(np.eye(2), True, "rows")
