"""The success of the best guess from a single output, computed exactly from the tables."""

import numpy as np

from custext_sql.arrays import Floats, Sizes, Weights
from custext_sql.mechanism.weights import matrices_by_size


def measure_success(sizes: Sizes, weights: Weights, prior: Floats) -> float:
    """Return the probability that an attacker who knows the tables and the prior guesses the input correctly.

    For each output, the guess is the input with the largest product of prior and probability. weights: the verified
    weights of all groups, with rows that sum to 2**64. prior: the probability of each word, in the order of the groups.
    """
    starts = np.cumsum(sizes) - sizes
    success = 0.0
    for groups, matrices in matrices_by_size(sizes, weights):
        size = matrices.shape[1]
        chances = prior[starts[groups][:, None] + np.arange(size)]
        success += float((chances[:, :, None] * (matrices / 2.0**64)).max(axis=1).sum())
    return success


def measure_floor(sizes: Sizes, prior: Floats) -> float:
    """Return the same for an attacker who sees only the group of the word. It is public, so no eps goes lower."""
    starts = np.cumsum(sizes) - sizes
    return float(np.maximum.reduceat(prior, starts).sum())
