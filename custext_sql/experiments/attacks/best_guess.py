"""The best guess from a single output, exactly, from the tables: no attacker who sees one word alone does better."""

import numpy as np

from custext_sql.arrays import Floats, Sizes, Weights
from custext_sql.mechanism.weights import matrices_by_size


def measure_success(sizes: Sizes, weights: Weights, prior: Floats) -> float:
    """Return the probability that an attacker who knows the tables, and how frequent words are, guesses right.

    For each output that is the input with the largest product of prior and probability. weights: verified ones of all
    groups, rows summing to 2**64. prior: of each word, in the order of the groups, summing to 1.
    """
    starts = np.cumsum(sizes) - sizes
    success = 0.0
    for groups, matrices in matrices_by_size(sizes, weights):
        size = matrices.shape[1]
        chances = prior[starts[groups][:, None] + np.arange(size)]
        success += float((chances[:, :, None] * (matrices / 2.0**64)).max(axis=1).sum())
    return success


def measure_floor(sizes: Sizes, prior: Floats) -> float:
    """Return that of an attacker who sees only the group of the word, which is public: no eps takes it lower."""
    starts = np.cumsum(sizes) - sizes
    return float(np.maximum.reduceat(prior, starts).sum())
