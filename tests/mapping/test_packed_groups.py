"""Packed groups are read back unchanged, and only for the vectors and classes they were made for."""

import lzma

import numpy as np
import pytest

from custext_sql.arrays import Places
from custext_sql.errors import MappingError
from custext_sql.mapping.grouping import Partition, pack_groups, unpack_groups
from custext_sql.mapping.making import group_words
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import MEASURES

K = 5
DIGEST = "d1"


def sample(count: int, stopwords: int) -> tuple[Partition, list[Places]]:
    """Return refined groups of words; the first words are stopwords."""
    vectors = np.random.default_rng(count).normal(size=(count, 8)).astype(np.float32)
    classes = [np.arange(stopwords, count), np.arange(stopwords)]
    recipe = Recipe("sample", k=K, grouping="refined")
    return group_words(vectors, MEASURES["euclidean"], recipe, classes), classes


@pytest.mark.parametrize(("count", "stopwords"), [(200, 20), (203, 21), (58, 7), (40, 3)])  # last groups of all sizes
def test_groups_are_read_back_as_they_were(count: int, stopwords: int) -> None:
    partition, classes = sample(count, stopwords)
    found = unpack_groups(pack_groups(partition, classes, DIGEST), classes, DIGEST, K)
    assert found is not None
    assert np.array_equal(found.members, partition.members)
    assert np.array_equal(found.sizes, partition.sizes)


def test_groups_of_other_vectors_or_classes_are_not_used() -> None:
    partition, classes = sample(200, 20)
    packed = pack_groups(partition, classes, DIGEST)
    swapped = [part.copy() for part in classes]
    swapped[0][0], swapped[1][0] = classes[1][0], classes[0][0]
    fewer = [np.arange(15, 200), np.arange(15)]
    assert unpack_groups(packed, classes, "d2", K) is None
    assert unpack_groups(packed, swapped, DIGEST, K) is None
    assert unpack_groups(packed, fewer, DIGEST, K) is None


@pytest.mark.parametrize("damage", ["a word moved", "a word missing", "a group of one"])
def test_damaged_groups_are_refused(damage: str) -> None:
    partition, classes = sample(200, 20)
    header, _, content = lzma.decompress(pack_groups(partition, classes, DIGEST)).partition(b"\n")
    numbers = np.frombuffer(content, dtype="<u2").copy()
    if damage == "a word moved":
        numbers[30] = numbers[numbers != numbers[30]][-1]
    elif damage == "a word missing":
        numbers = numbers[:-1]
    else:
        numbers[30] = numbers.max() + 1
    with pytest.raises(MappingError, match="damaged"):
        unpack_groups(lzma.compress(header + b"\n" + numbers.tobytes()), classes, DIGEST, K)


def test_only_groups_in_the_order_of_the_file_can_be_packed() -> None:
    partition, classes = sample(200, 20)
    turned = Partition(partition.members[::-1].copy(), partition.sizes)
    with pytest.raises(ValueError, match="order"):
        pack_groups(turned, classes, DIGEST)
