"""Every key of a hash table is found with its own number, and no other key is found, however keys collide."""

import numpy as np
import pytest

from custext_sql.arrays import Hashes
from custext_sql.text import hash_table
from custext_sql.text.lexicon import NOT_LISTED, HashTable


def keys_of(products: Hashes) -> Hashes:
    """Return the keys whose product with the factor of the first side is this: its highest bits are their slot."""
    inverse = pow(int(hash_table._FACTORS[0]), -1, 1 << 64)
    return products * np.uint64(inverse)


@pytest.mark.parametrize("count", [0, 1, 2, 1000, 60_000])
@pytest.mark.parametrize("parts", [1, 3])
def test_keys_are_found_and_others_are_not(count: int, parts: int) -> None:
    rng = np.random.default_rng(count)
    keys = [rng.integers(1, 1 << 63, size=2 * count, dtype=np.uint64) for _ in range(parts)]
    numbers = rng.permutation(count)
    table = HashTable([key[:count] for key in keys], numbers)
    found = table.find(keys)
    assert found[:count].tolist() == numbers.tolist()
    assert set(found[count:].tolist()) <= {NOT_LISTED}


def test_keys_that_share_a_slot_are_moved_to_the_other_side() -> None:
    keys = keys_of(np.arange(1, 41, dtype=np.uint64))  # forty keys for slot 0 of the first side
    table = HashTable([keys], np.arange(40))
    assert table.find([keys]).tolist() == list(range(40))
    assert table.find([keys_of(np.arange(41, 81, dtype=np.uint64))]).tolist() == [NOT_LISTED] * 40


def test_keys_with_no_place_on_either_side_make_the_table_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    """With equal factors, a key has the same slot on both sides, so that three keys of a slot have two places."""
    monkeypatch.setattr(hash_table, "_FACTORS", np.full(3, hash_table._FACTORS[0]))
    keys = keys_of(np.array([1, 2, 3], dtype=np.uint64) << np.uint64(50))
    table = HashTable([keys], np.arange(3))
    assert table._bits > 4
    assert table.find([keys]).tolist() == [0, 1, 2]


def test_keys_that_differ_in_one_part_only_are_told_apart() -> None:
    first, rest = np.full(500, 7, dtype=np.uint64), np.arange(1, 501, dtype=np.uint64)
    table = HashTable([first[:250], rest[:250]], np.arange(250))
    assert table.find([first, rest]).tolist() == [*range(250), *[NOT_LISTED] * 250]
