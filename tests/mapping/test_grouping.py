"""Groups equal those of the naive oracle, whatever the vectors, and are packed and read back unchanged."""

import lzma
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custext_sql.arrays import Floats, Places
from custext_sql.errors import MappingError, SettingError
from custext_sql.mapping.grouping import Partition, pack_groups, partition_words, unpack_groups
from custext_sql.mapping.making import group_words
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import MEASURES, Similarity, UserSuppliedMeasure
from tests import oracle
from tests.mapping.test_refining import as_lists, random_vectors

DISTANCES: dict[str, Callable[[Floats, Floats], Floats]] = {"euclidean": oracle.euclidean, "cosine": oracle.cosine}
measures = pytest.mark.parametrize("measure", ["euclidean", "cosine"])


@measures
@pytest.mark.parametrize(
    ("count", "k"),
    [(40, 2), (41, 2), (40, 40), (40, 39), (40, 20), (41, 20), (59, 20), (60, 20), (500, 7), (3, 2), (2, 2)],
)
def test_groups_equal_the_oracle(measure: str, count: int, k: int) -> None:
    vectors = random_vectors(count)
    found = partition_words(vectors, MEASURES[measure], k)
    assert as_lists(found) == oracle.greedy_groups(vectors, k, DISTANCES[measure])
    assert sorted(found.members.tolist()) == list(range(count))  # a partition into groups of 2 to k + 1 words
    assert found.sizes.min() >= 2 and found.sizes.max() <= k + 1


@pytest.mark.slow
@measures
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_groups_equal_the_oracle_with_ties(measure: str, data: st.DataObject) -> None:
    count, dimension = data.draw(st.integers(2, 60)), data.draw(st.integers(1, 4))
    step = data.draw(st.sampled_from([1.0, 0.1, 1e-3, 1e30, 1e-30, 1e-40]))
    offset = data.draw(st.sampled_from([0.0, 1.0, 1000.0]))
    cells = data.draw(st.lists(st.integers(-2, 2), min_size=count * dimension, max_size=count * dimension))
    vectors = (np.array(cells, dtype=np.float64).reshape(count, dimension) + offset) * step
    vectors[~vectors.any(axis=1)] = step
    rows = vectors.astype(np.float32)
    k = data.draw(st.integers(2, count))
    assert as_lists(partition_words(rows, MEASURES[measure], k)) == oracle.greedy_groups(rows, k, DISTANCES[measure])


@measures
def test_groups_equal_the_oracle_where_float32_cannot_tell(measure: str) -> None:
    """Points are a millionth apart and far from the origin: a float32 product cannot distinguish them."""
    vectors = (1.0 + random_vectors(300, 16) * 1e-6).astype(np.float32)
    found = partition_words(vectors, MEASURES[measure], 9)
    assert as_lists(found) == oracle.greedy_groups(vectors, 9, DISTANCES[measure])


@measures
def test_groups_equal_the_oracle_with_many_equal_points(measure: str) -> None:
    """There are more equal points than fit into a block of distances."""
    vectors = np.repeat(random_vectors(4, 16), 4500, axis=0)[np.random.default_rng(1).permutation(18000)]
    found = as_lists(partition_words(vectors, MEASURES[measure], 300))
    taken: set[int] = set()
    for group in found:  # equal points come first, the lowest numbers before the others
        equal = np.flatnonzero((vectors == vectors[group[0]]).all(axis=1))
        same = [index for index in equal.tolist() if index not in taken]
        assert group[: len(same)] == same[:300]
        taken |= set(group)


def test_pivots_follow_the_given_order() -> None:
    vectors = random_vectors(50)
    order = np.random.default_rng(3).permutation(50)
    found = partition_words(vectors, MEASURES["euclidean"], 6, order=order)
    assert as_lists(found) == oracle.greedy_groups(vectors, 6, oracle.euclidean, order.tolist())
    assert found.members[0] == order[0]


def test_a_single_word_left_over_joins_the_closest_pivot_and_the_lower_of_equals() -> None:
    vectors = np.array([[0.0], [0.1], [4.0], [4.1], [2.0]], dtype=np.float32)
    assert as_lists(partition_words(vectors, MEASURES["euclidean"], 2)) == [[0, 1, 4], [2, 3]]
    vectors[4] = 3.0
    assert as_lists(partition_words(vectors, MEASURES["euclidean"], 2)) == [[0, 1], [2, 3, 4]]


def one_sided(rows: Floats, columns: Floats) -> Floats:
    """Return a measure that is neither symmetric nor a metric."""
    return np.asarray(rows[:, :1] * 2 - columns[:, :1].T + np.abs(rows[:, 1:2] - columns[:, 1:2].T))


@pytest.mark.parametrize("larger_is_closer", [True, False])
@pytest.mark.parametrize(("count", "k"), [(30, 2), (31, 2), (31, 10), (30, 30), (29, 10)])
def test_any_function_serves_as_similarity(larger_is_closer: bool, count: int, k: int) -> None:
    vectors = np.random.default_rng(1).integers(-3, 4, size=(count, 3)).astype(np.float32)
    sign = -1.0 if larger_is_closer else 1.0

    def distance(pivot: Floats, others: Floats) -> Floats:
        return np.asarray(sign * one_sided(pivot[None], others)[0])

    found = partition_words(vectors, UserSuppliedMeasure(one_sided, larger_is_closer), k)
    assert as_lists(found) == oracle.greedy_groups(vectors, k, distance)


@pytest.mark.parametrize("similarity", [MEASURES["euclidean"], UserSuppliedMeasure(one_sided, True)])
@pytest.mark.parametrize("k", [-1, 0, 1, 11])
def test_k_outside_its_range_is_an_error(similarity: Similarity, k: int) -> None:
    with pytest.raises(SettingError, match=f"k must .*found {k}"):
        partition_words(random_vectors(10), similarity, k)


def test_progress_is_the_share_of_words() -> None:
    seen: list[float] = []
    partition_words(random_vectors(23), MEASURES["euclidean"], 5, progress=seen.append)
    assert seen == [5 / 23, 10 / 23, 15 / 23, 20 / 23, 1.0]


K = 5
DIGEST = "d1"


def sample(count: int, stopwords: int) -> tuple[Partition, list[Places]]:
    """Return refined groups of words; the first words are stopwords."""
    classes = [np.arange(stopwords, count), np.arange(stopwords)]
    recipe = Recipe("sample", k=K, grouping="refined")
    return group_words(random_vectors(count), MEASURES["euclidean"], recipe, classes), classes


@pytest.mark.parametrize(("count", "stopwords"), [(200, 20), (203, 21), (58, 7), (40, 3)])  # last groups of all sizes
def test_groups_are_read_back_as_they_were(count: int, stopwords: int) -> None:
    partition, classes = sample(count, stopwords)
    found = unpack_groups(pack_groups(partition, classes, DIGEST), classes, DIGEST)
    assert found is not None
    assert as_lists(found) == as_lists(partition)


def test_groups_of_other_vectors_or_classes_are_not_used() -> None:
    partition, classes = sample(200, 20)
    packed = pack_groups(partition, classes, DIGEST)
    swapped = [part.copy() for part in classes]
    swapped[0][0], swapped[1][0] = classes[1][0], classes[0][0]
    fewer = [np.arange(15, 200), np.arange(15)]
    assert unpack_groups(packed, classes, "d2") is None
    assert unpack_groups(packed, swapped, DIGEST) is None
    assert unpack_groups(packed, fewer, DIGEST) is None


@pytest.mark.parametrize("damage", ["a word missing", "a group of one"])
def test_damaged_groups_are_refused(damage: str) -> None:
    partition, classes = sample(200, 20)
    header, _, content = lzma.decompress(pack_groups(partition, classes, DIGEST)).partition(b"\n")
    numbers = np.frombuffer(content, dtype="<u2").copy()
    if damage == "a word missing":
        numbers = numbers[:-1]
    else:
        numbers[30] = numbers.max() + 1
    with pytest.raises(MappingError, match="damaged"):
        unpack_groups(lzma.compress(header + b"\n" + numbers.tobytes()), classes, DIGEST)


def test_only_groups_in_the_order_of_the_file_can_be_packed() -> None:
    partition, classes = sample(200, 20)
    turned = Partition(partition.members[::-1].copy(), partition.sizes)
    with pytest.raises(ValueError, match="order"):
        pack_groups(turned, classes, DIGEST)
