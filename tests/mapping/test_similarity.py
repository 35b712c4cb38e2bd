"""The measures of similarity, and the results that a user's function may return."""

import numpy as np
import pytest

from custext_sql.arrays import Floats
from custext_sql.errors import MappingError, SettingError
from custext_sql.mapping.similarity import MEASURES, choose_similarity, zero_rows


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


def test_a_function_needs_its_direction() -> None:
    with pytest.raises(SettingError, match="larger_is_closer=True or"):
        choose_similarity(np.dot)


def test_a_named_measure_has_its_own_direction() -> None:
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


def test_functions_without_a_name_are_called_custom() -> None:
    assert choose_similarity(lambda rows, columns: rows @ columns.T, True).name == "custom"


def test_zero_rows() -> None:
    assert zero_rows(np.array([[0.0, 1.0], [0.0, 0.0], [-0.0, 0.0]])).tolist() == [1, 2]
