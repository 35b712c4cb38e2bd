"""SANTEXT and SANTEXT+, compared with readable versions of their formulas."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from custext_sql.experiments.baselines import SanText, SanTextPlus
from tests.experiments.test_word_space import make_space

STRATA = 20_000


def naive_row(points: npt.NDArray[np.float32], word: int, outputs: list[int], epsilon: float) -> list[float]:
    """Return Pr[output | word], which is proportional to exp(-eps / 2 * distance)."""
    weights = [math.exp(-0.5 * epsilon * math.dist(points[word].tolist(), points[other].tolist())) for other in outputs]
    return [weight / sum(weights) for weight in weights]


def even_draws(count: int) -> npt.NDArray[np.uint64]:
    """Return evenly spaced draws, each of which stands for the same share."""
    return (np.arange(count, dtype=np.uint64) * np.uint64(2**64 // count)) + np.uint64(2**63 // count)


def frequencies(mechanism: SanText | SanTextPlus, word: int, size: int, epsilon: float) -> npt.NDArray[np.float64]:
    chosen = mechanism.sample(np.full(STRATA, word), epsilon, even_draws(STRATA))
    return np.bincount(chosen, minlength=size) / STRATA


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 15.0])
@pytest.mark.parametrize("size", [7, 700])  # within a segment, over several
def test_santext_draws_as_its_formula_says(size: int, epsilon: float) -> None:
    space = make_space(size)
    for word in (0, size // 2, size - 1):
        expected = np.array(naive_row(space.points, word, list(range(size)), epsilon))
        found = frequencies(SanText(space), word, size, epsilon)
        assert np.abs(found - expected).max() <= 2 / STRATA


def test_the_unit_divides_eps() -> None:
    space = make_space(9)
    expected = naive_row(space.points, 3, list(range(9)), 2.0 / space.largest_distance)
    found = frequencies(SanText(space, space.largest_distance), 3, 9, 2.0)
    assert np.abs(found - np.array(expected)).max() <= 2 / STRATA


def test_santext_plus_draws_as_its_formula_says() -> None:
    """The most frequent half stays with probability 0.7. Replacements come from the other half."""
    space = make_space(10)  # the last are the most frequent
    rare = list(range(5))
    mechanism = SanTextPlus(space, sensitive=0.5, replaced=0.3)
    for word in range(10):
        row = naive_row(space.points, word, rare, 3.0)
        expected = np.zeros(10)
        if word in rare:
            expected[rare] = row
        else:
            expected[rare] = 0.3 * np.array(row)
            expected[word] += 0.7
        assert np.abs(frequencies(mechanism, word, 10, 3.0) - expected).max() <= 2 / STRATA


def test_a_bias_of_1_percent_would_be_seen() -> None:
    space = make_space(7)
    wrong = np.array(naive_row(space.points, 0, list(range(7)), 1.01))
    assert np.abs(frequencies(SanText(space), 0, 7, 1.0) - wrong).max() > 2 / STRATA


def test_words_do_not_affect_each_other() -> None:
    """All words of a text at once have the same replacements as each word alone."""
    space = make_space(50)
    words = np.random.default_rng(1).integers(0, 50, size=400)
    draws = np.random.default_rng(2).integers(0, 2**64, size=400, dtype=np.uint64)
    mechanism = SanText(space)
    alone = [int(mechanism.sample(words[[place]], 4.0, draws[[place]])[0]) for place in range(400)]
    assert mechanism.sample(words, 4.0, draws).tolist() == alone


@pytest.mark.slow
def test_a_text_of_ten_thousand_words_fits_into_a_gigabyte(starter_db: Path) -> None:
    """A matrix with a row per word of the text, and a column per word of the vocabulary, would take 1.4 GB."""
    script = """
import pathlib, sys
from custext_sql.experiments.mechanisms import MappingUnderTest
under_test = MappingUnderTest(sys.argv[1], mapping="starter-euclidean-k20")
under_test.open("santext").sanitize([" ".join(under_test.mapping.words[:10_000])], 1.0, 0)
status = pathlib.Path("/proc/self/status").read_text()  # of this program alone, not of the one that started it
print(len(under_test.mapping.words), status.split("VmHWM:")[1].split()[0])
"""
    result = subprocess.run([sys.executable, "-c", script, str(starter_db)], capture_output=True, text=True, check=True)
    words, kilobytes = map(int, result.stdout.split())
    assert words > 33_000
    assert kilobytes < 1_000_000
