"""A mapping of a few words, made without a database."""

from collections.abc import Sequence

import numpy as np

from custext_sql.mapping.making import choose_words, make_mapping
from custext_sql.mapping.mapping import Mapping
from custext_sql.mapping.recipe import Recipe


def small_mapping(words: Sequence[str], *, k: int, seed: int = 0) -> Mapping:
    """Return a mapping of words with random vectors, grouped by Euclidean distance."""
    vectors = np.random.default_rng(seed).normal(size=(len(words), 6)).astype(np.float32)
    recipe = Recipe("random", k)
    return make_mapping(choose_words("", list(words), recipe, frozenset()), vectors, recipe, "small")
