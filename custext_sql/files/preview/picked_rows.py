"""Picks a few rows of texts that are read in blocks: the first ones, or a uniform sample of all."""

import os
from dataclasses import dataclass
from heapq import heappush, heapreplace
from typing import Protocol

import numpy as np

from custext_sql.arrays import Hashes, Places
from custext_sql.files.inputs.texts import TextRows


@dataclass(frozen=True, order=True)
class PickedRow:
    """A row that was picked. place: its number, from 1. id: that in the record column, if one was read."""

    place: int
    text: str | None
    id: str | None = None


class Picker(Protocol):
    """Picks rows from blocks."""

    @property
    def is_done(self) -> bool:
        """Whether further rows make no difference."""

    def add(self, rows: TextRows, before: int, some: Places) -> None:
        """Offer rows of a block. before: how many rows earlier blocks had. some: the indices of rows on offer."""

    def list_rows(self) -> list[PickedRow]:
        """Return the rows that were picked, in the order of the input."""


class FirstRows:
    """Picks the first rows. most: how many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: list[PickedRow] = []

    @property
    def is_done(self) -> bool:
        return len(self._rows) >= self._most

    def add(self, rows: TextRows, before: int, some: Places) -> None:
        self._rows += [_read_row(rows, before, row) for row in some[: self._most - len(self._rows)].tolist()]

    def list_rows(self) -> list[PickedRow]:
        return self._rows


class SampledRows:
    """Picks a uniform sample: every row gets a random number, and those with the smallest numbers are picked.

    most: how many. seed: for a repeatable sample; without it, numbers come from the operating system's secure source.
    """

    is_done = False

    def __init__(self, most: int, seed: int | None = None) -> None:
        self._most = most
        self._generator = None if seed is None else np.random.default_rng(seed)
        self._picked: list[tuple[int, PickedRow]] = []  # a heap; the largest number is the first, since all are negated

    def add(self, rows: TextRows, before: int, some: Places) -> None:
        numbers = self._draw(len(some))
        if len(numbers) > self._most:
            nearest = np.argpartition(numbers, self._most)[: self._most]
            some, numbers = some[nearest], numbers[nearest]
        for row, number in zip(some.tolist(), numbers.tolist(), strict=True):
            if len(self._picked) < self._most:
                heappush(self._picked, (-number, _read_row(rows, before, row)))
            elif -number > self._picked[0][0]:
                heapreplace(self._picked, (-number, _read_row(rows, before, row)))

    def list_rows(self) -> list[PickedRow]:
        return sorted((row for _, row in self._picked), key=lambda row: row.place)

    def _draw(self, count: int) -> Hashes:
        if self._generator is None:
            return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
        return self._generator.integers(0, 1 << 64, size=count, dtype=np.uint64)


def _read_row(rows: TextRows, before: int, row: int) -> PickedRow:
    texts = rows.texts
    is_missing = texts.missing is not None and bool(texts.missing[row])
    content = texts.text[texts.offsets[row] : texts.offsets[row + 1]].tobytes().decode()
    return PickedRow(
        before + row + 1, None if is_missing else content, None if rows.ids is None else rows.ids[row].as_py()
    )
