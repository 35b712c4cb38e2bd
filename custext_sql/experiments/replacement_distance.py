"""How far replacements are from the words that they replace."""

import math

import numpy as np

from custext_sql.experiments.attacks.priors import Prior
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.mechanism.weights import matrices_by_size


def measure_distance(under_test: MappingUnderTest, prior: Prior, epsilon: float, *, plus: bool) -> float | None:
    """Return the mean distance of a word from its replacement; None if the vectors are no longer stored.

    The unit is the root mean square distance of two random words, so that the lengths of vectors do not matter. prior:
    how frequent words are. plus: whether stopwords are kept.
    """
    space = under_test.find_space()
    if space is None:
        return None
    mapping, points = under_test.mapping, space.centered
    usual = math.sqrt(4.0 * float(space.half_squares.mean(dtype=np.float64))) or 1.0
    if epsilon == 0.0:
        words = prior.chances.nonzero()[0]
        apart = points[words] - points[under_test.vocabulary.representatives(plus)[words]]
        return float(prior.chances[words] @ np.sqrt(np.einsum("ij,ij->i", apart, apart, dtype=np.float64))) / usual
    weights = under_test.certify(epsilon).weights
    total = 0.0
    for groups, matrices in matrices_by_size(mapping.sizes, weights):
        words = mapping.word_starts[groups][:, None] + np.arange(matrices.shape[1])
        members = points[words].astype(np.float64)
        squares = (members**2).sum(axis=2)
        products = np.einsum("gid,gjd->gij", members, members)
        distances = np.sqrt(np.maximum(squares[:, :, None] + squares[:, None, :] - 2.0 * products, 0.0))
        expected = (distances * (matrices / 2.0**64)).sum(axis=2)
        total += float((expected * prior.chances[words]).sum())
    return total / usual
