"""Some of the user's texts before and after, for their owner to look at; nothing is released."""

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from heapq import heappush, heapreplace
from typing import Any, NamedTuple

import numpy as np

from custext_sql.arrays import Hashes, Places
from custext_sql.errors import SettingError
from custext_sql.files.inputs.texts import TextRows, Texts, name_texts, stream_rows
from custext_sql.files.opening import check_ids, check_record_column
from custext_sql.kinds import Fate, Kind
from custext_sql.parameters import check_at_least, count_of
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sanitizer.traced_text import Piece
from custext_sql.store.database import Database
from custext_sql.text.columns import TextColumn


@dataclass(frozen=True)
class ComparedRow:
    """A text before and after, in pieces. place: the number of its row, from 1. is_null: whether the text is NULL."""

    place: int
    pieces: list[Piece]
    is_null: bool = False

    @property
    def is_unchanged(self) -> bool:
        """Whether the text has words, and all came out as they went in, apart from case and equivalent spellings."""
        words = [piece for piece in self.pieces if piece.kind is not None]
        return bool(words) and all(piece.is_same for piece in words)


@dataclass(frozen=True)
class Comparison:
    """Some texts before and after, for people who are allowed to read both.

    name: of the data. eps: the budget per word. rows: the texts. may_leak: whether the policy lets words outside the
    vocabulary through. rows_read: how many rows were read to find these texts.
    """

    name: str
    eps: float
    rows: list[ComparedRow]
    may_leak: bool
    rows_read: int

    @property
    def unchanged(self) -> str:
        """How many texts came out unchanged, in words; empty if none did."""
        number = sum(row.is_unchanged for row in self.rows)
        return f"{count_of(number, 'text')} came out unchanged" if number else ""


def compare_texts(
    data: Texts,
    *,
    column: str | None = None,
    rows: int = 5,
    sample: int | None = None,
    characters: int | None = None,
    only_leaks: bool = False,
    record_column: str | None = None,
    key_file: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    database: Database = None,
    **settings: Any,
) -> Comparison:
    """Return some texts before and after.

    column: the column of files or of a table; lines of text have none. rows: how many texts, from the top. sample:
    how many texts to draw uniformly from all of them, instead of the first ones. characters: how many to show of each
    text; longer ones are cut after a word. only_leaks: only texts with a word that passes in the clear, other than
    stopwords, endings and listed words. key_file, record_column: show what a release with this key gives. seed: for a
    repeatable sample and, without a key, repeatable draws. settings: further arguments of `Sanitizer.load`.

    Nothing is entered in the ledger, because the result holds the originals.
    """
    check_at_least(rows, 1, "rows")
    if sample is not None:
        check_at_least(sample, 1, "sample")
    if characters is not None and characters < 1:
        raise SettingError(f"characters must be at least 1; found {characters}")
    sanitizer = Sanitizer.load(database, key_file=key_file, seed=None if key_file is not None else seed, **settings)
    check_record_column(sanitizer.key, record_column)
    picker = PickedRows(rows) if sample is None else PickedRows(sample, random_numbers(seed))
    leaking = [kind for kind, one in sanitizer.policy.treatments.items() if one.fate is Fate.EXPOSED]
    read, exact = 0, column
    with closing(stream_rows(data, column, record_column)) as blocks:
        for block in blocks:
            places = _find_leaking(sanitizer, block.texts, leaking) if only_leaks else np.arange(len(block.texts))
            picker.add(block, read, places)
            read, exact = read + len(block.texts), block.column
            if picker.is_done or (only_leaks and not leaking):
                break
    picked, name, records = picker.list_rows(), name_texts(data), None
    texts = [row.text if row.text is None or exact is not None else row.text.rstrip("\r\n") for row in picked]
    if characters is not None:
        texts = [text and _cut(text, characters) for text in texts]
    if record_column is not None:
        assert sanitizer.key is not None and exact is not None
        ids = [row.id for row in picked]
        present = [one for one in ids if one is not None]
        check_ids(name, record_column, len(ids) - len(present), len(present) - len(set(present)))
        records = sanitizer.key.name_records(exact, ids)
    compared = sanitizer.compare(texts, records=records)
    found = [ComparedRow(row.place, pieces, row.text is None) for row, pieces in zip(picked, compared, strict=True)]
    return Comparison(name, sanitizer.settings.eps, found, bool(leaking), read)


def _cut(text: str, characters: int) -> str:
    """Return a text, cut if it is longer: at a space if there is one, since part of a word would be another word."""
    if len(text) <= characters:
        return text
    return f"{text[:characters].rpartition(' ')[0] or text[:characters]} ..."


def _find_leaking(sanitizer: Sanitizer, texts: TextColumn, kinds: list[Kind]) -> Places:
    """Return the rows with a word of one of these kinds."""
    leaking, before = [np.zeros(0, dtype=np.int64)], 0
    for _, found in sanitizer.find_words(texts):
        leaking.append(before + np.unique(found.rows[np.isin(found.kinds, kinds)]))
        before += len(found.offsets) - 1
    return np.concatenate(leaking)


class PickedRow(NamedTuple):
    """A row that was picked. place: its number, from 1. id: that in the record column, if one was read."""

    place: int
    text: str | None
    id: str | None


def random_numbers(seed: int | None) -> Callable[[int], Hashes]:
    """Return a function that draws `count` numbers: repeatable ones, or from the operating system's secure source."""
    if seed is None:
        return lambda count: np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    generator = np.random.default_rng(seed)
    return lambda count: generator.integers(0, 1 << 64, size=count, dtype=np.uint64)


class PickedRows:
    """Picks some rows of texts that are read in blocks: the first ones, or a uniform sample.

    most: how many. draw: gives each row a random number; the smallest win. Without it, the first rows are picked.
    """

    def __init__(self, most: int, draw: Callable[[int], Hashes] | None = None) -> None:
        self._most, self._draw = most, draw
        self._picked: list[tuple[int, PickedRow]] = []  # a heap, largest number first, since all are negated

    @property
    def is_done(self) -> bool:
        """Whether further rows make no difference."""
        return self._draw is None and len(self._picked) >= self._most

    def add(self, rows: TextRows, before: int, some: Places) -> None:
        """Offer rows of a block. before: how many rows earlier blocks had. some: the indices of rows on offer."""
        numbers = before + some if self._draw is None else self._draw(len(some))
        if len(numbers) > self._most:
            nearest = np.argpartition(numbers, self._most)[: self._most]
            some, numbers = some[nearest], numbers[nearest]
        for row, number in zip(some.tolist(), numbers.tolist(), strict=True):
            if len(self._picked) < self._most:
                heappush(self._picked, (-number, _read_row(rows, before, row)))
            elif -number > self._picked[0][0]:
                heapreplace(self._picked, (-number, _read_row(rows, before, row)))

    def list_rows(self) -> list[PickedRow]:
        """Return the rows that were picked, in the order of the input."""
        return sorted((row for _, row in self._picked), key=lambda row: row.place)


def _read_row(rows: TextRows, before: int, row: int) -> PickedRow:
    [text] = rows.texts[row : row + 1].to_arrow().to_pylist()
    return PickedRow(before + row + 1, text, None if rows.ids is None else rows.ids[row].as_py())
