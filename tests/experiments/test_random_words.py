"""Random words as replacements."""

import numpy as np

from custext_sql.experiments.mechanisms import RandomWords


def test_all_words_are_equally_likely_whatever_the_word_and_eps() -> None:
    """Each of n words has probability 1 / n. A deviation of 1% would be seen."""
    draws = np.random.default_rng(0).integers(0, 2**64, size=800_000, dtype=np.uint64)
    for word, epsilon in ((0, 0.01), (7, 50.0)):
        counts = np.bincount(RandomWords(8).sample(np.full(len(draws), word), epsilon, draws), minlength=8)
        error = np.sqrt(len(draws) * 0.125 * 0.875)
        assert np.abs(counts - 100_000).max() < 5 * error < 0.016 * 100_000


def test_a_draw_is_a_word_by_its_remainder() -> None:
    draws = np.array([0, 7, 8, 2**64 - 1], dtype=np.uint64)
    assert RandomWords(8).sample(np.zeros(4, dtype=np.int64), 1.0, draws).tolist() == [0, 7, 0, 7]
