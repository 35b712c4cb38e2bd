"""Representatives of groups, which replace words at eps = 0, and their verification."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.errors import CertificateError
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism import generalization
from custext_sql.mechanism.certified_table import find_representatives
from custext_sql.mechanism.verifier import Verdict, verify_constant
from tests.small_mapping import small_mapping


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    return small_mapping([f"w{number}" for number in range(23)], k=5)


@given(seed=st.integers(0, 2**32))
def test_the_representative_is_the_first_drawn_word_of_the_vector_file(mapping: Mapping, seed: int) -> None:
    generator = np.random.default_rng(seed)
    mapping = replace(mapping, ranks=generator.permutation(100)[:23])
    drawn = generator.random(23) < generator.random()
    found = find_representatives(mapping, drawn)
    for start, size in zip(mapping.word_starts.tolist(), mapping.sizes.tolist(), strict=True):
        group = range(start, start + size)
        candidates = [word for word in group if drawn[word]] or list(group)
        expected = min(candidates, key=lambda word: int(mapping.ranks[word]))
        assert found[start : start + size].tolist() == [expected] * size


def test_all_words_are_drawn_unless_said_otherwise(mapping: Mapping) -> None:
    every = np.ones(len(mapping.words), dtype=bool)
    assert find_representatives(mapping).tolist() == find_representatives(mapping, every).tolist()


def test_groups_with_one_output_hold() -> None:
    sizes, drawn = np.array([2, 3]), np.array([True, True, False, True, True])
    verdict = verify_constant(sizes, np.array([1, 1, 2, 4, 4]), drawn)  # the output of a word that is kept is not used
    assert verdict.holds.tolist() == [True, True]
    assert verdict.log_ratios.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("wrong", [[0, 1, 3, 3, 3], [2, 2, 3, 3, 3], [-1, -1, 3, 3, 3]])
def test_two_outputs_or_one_of_another_group_do_not_hold(wrong: list[int]) -> None:
    verdict = verify_constant(np.array([2, 3]), np.array(wrong), np.ones(5, dtype=bool))
    assert verdict.holds.tolist() == [False, True]
    assert verdict.log_ratios.tolist() == [math.inf, 0.0]


def test_a_group_without_drawn_words_holds() -> None:
    assert verify_constant(np.array([2]), np.array([0, 1]), np.zeros(2, dtype=bool)).holds.all()


def test_arrays_that_do_not_fit_are_refused() -> None:
    for outputs, drawn in ((3, 2), (2, 3)):
        with pytest.raises(ValueError, match="one output and one flag per word"):
            verify_constant(np.array([2]), np.zeros(outputs, dtype=np.int64), np.ones(drawn, dtype=bool))


def test_nothing_is_used_unverified(mapping: Mapping, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(sizes: np.ndarray, *_: object) -> Verdict:
        return Verdict(np.arange(len(sizes)) != 1, np.zeros(len(sizes)))

    monkeypatch.setattr(generalization, "verify_constant", refuse)
    with pytest.raises(CertificateError, match=r"group 1.* eps = 0 "):
        find_representatives(mapping)
