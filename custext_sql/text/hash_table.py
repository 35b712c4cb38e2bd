"""An exact hash table from keys of one or more integers to numbers, for whole columns of keys at once."""

from collections.abc import Sequence

import numpy as np

from custext_sql.arrays import Flags, Hashes, Places, WordNumbers

NOT_FOUND = -1  # returned instead of a number

_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


class HashTable:
    """A hash table from keys, of one or more nonzero integers each, to numbers.

    It consists of two tables (cuckoo hashing): a key is at its slot in one or the other, so a lookup takes two probes.
    """

    def __init__(self, keys: Sequence[Hashes], numbers: Places) -> None:
        mixed = _mix(keys)
        self._bits = max(4, int(1.5 * len(numbers)).bit_length())
        while (sides := _place(self._slots(mixed, 0), self._slots(mixed, 1), 1 << self._bits)) is None:
            self._bits += 1
        self._sides = [self._fill(mixed, keys, numbers, np.flatnonzero(sides == side), side) for side in range(2)]

    def _fill(
        self, mixed: Hashes, keys: Sequence[Hashes], numbers: Places, these: Places, side: int
    ) -> tuple[WordNumbers, list[Hashes]]:
        slots = self._slots(mixed[these], side)
        number_table = np.full(1 << self._bits, -1, dtype=np.int32)
        number_table[slots] = numbers[these]
        key_tables = [np.zeros(1 << self._bits, dtype=np.uint64) for _ in keys]
        for table, key in zip(key_tables, keys, strict=True):
            table[slots] = key[these]
        return number_table, key_tables

    def find(self, keys: Sequence[Hashes]) -> WordNumbers:
        """Return the number of each key, -1 if it is not in the table."""
        mixed = _mix(keys)
        numbers, differ = self._look(mixed, keys, 0)
        rest = differ.nonzero()[0]
        found, differ = self._look(mixed.take(rest), [key.take(rest) for key in keys], 1)
        np.putmask(found, differ, NOT_FOUND)
        numbers[rest] = found
        return numbers

    def _look(self, mixed: Hashes, keys: Sequence[Hashes], side: int) -> tuple[WordNumbers, Flags]:
        """Return the number at each key's slot on that side, and whether the slot does not hold that key."""
        slots = self._slots(mixed, side)
        number_table, key_tables = self._sides[side]
        differ: Flags = key_tables[0].take(slots) != keys[0]
        for table, key in zip(key_tables[1:], keys[1:], strict=True):
            differ |= table.take(slots) != key
        return number_table.take(slots), differ

    def _slots(self, mixed: Hashes, side: int) -> Places:
        slots: Places = ((mixed * _FACTORS[side]) >> np.uint64(64 - self._bits)).view(np.int64)
        return slots


def _place(first: Places, second: Places, size: int) -> Places | None:
    """Return for each key the side, 0 or 1, on which it has a slot to itself; None if no such choice is found.

    size: slots per side. All keys are placed at once, at first on side 0. Of several keys for a slot, one takes it, and
    the others, with the key that had it before, go to their slots on the other side.
    """
    owners = np.full(2 * size, -1, dtype=np.int64)
    sides = np.zeros(len(first), dtype=np.int64)
    moving = np.arange(len(first))
    for _ in range(500):
        slots = np.where(sides[moving] == 0, first[moving], second[moving] + size)
        before = owners[slots]
        owners[slots] = moving
        has_slot = owners[slots] == moving
        before = before[has_slot]
        moving = np.concatenate([moving[~has_slot], before[before >= 0]])
        if not len(moving):
            return sides
        sides[moving] ^= 1
    return None


def _mix(keys: Sequence[Hashes]) -> Hashes:
    """Return one integer per key."""
    mixed = keys[0]
    for key in keys[1:]:
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _FACTORS[2] + key
    return mixed
