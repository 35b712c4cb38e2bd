"""Makes the groups of the default mapping from the shipped vectors: python -m tools.starter.make_groups.

Grouping 100,000 words takes longer than everything else that the first use of custext does, so the groups are shipped.
"""

from importlib.resources import files

import numpy as np

from custext_sql.mapping.grouping import pack_groups
from custext_sql.mapping.making import group_words, split_classes
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import MEASURES
from custext_sql.text.word_boundaries import are_words
from custext_sql.vectors.starter import GROUPS, open_starter
from tools.starter import STARTER

K = 40


def make_groups() -> bytes:
    """Return the packed groups of the recipe: refined, K = 40, stopwords apart."""
    with open_starter() as source:
        batches = list(source.batches)
        digest = source.digest()
    entries = [word for batch in batches for word in batch.words]
    places = np.flatnonzero(are_words(entries))
    vectors = np.concatenate([batch.vectors for batch in batches])[places]
    stopwords = files("custext_sql.starter").joinpath("stopwords-english.txt").read_text(encoding="utf-8").split()
    classes, _ = split_classes([entries[place] for place in places], frozenset(stopwords))
    recipe = Recipe("starter", k=K, grouping="refined", stopword_language="english")
    partition = group_words(vectors, MEASURES[recipe.measure], recipe, classes, ranks=places + 1)
    return pack_groups(partition, classes, digest)


if __name__ == "__main__":
    packed = make_groups()
    (STARTER / GROUPS).write_bytes(packed)
    print(f"{GROUPS}: {len(packed) / 1e3:.0f} kB")
