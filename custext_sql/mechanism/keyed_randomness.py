"""Keyed draws, which depend only on a secret key, the record of a text and the whole text, so they are repeatable.

Each row has a digest of 512 bits: BLAKE2b of its record and its text, under a key derived from the secret. Its first
half is the key of a ChaCha20 stream, which has the draw of each word at the position of the word in the row. So equal
rows draw the same, and rows that differ in any way draw independently in all their words: after an edit, unchanged
words do not show where the edit was.

The second half is the number of the row. The sum of the numbers of some rows shows whether two sets of rows are equal,
and nothing else about them.
"""

from collections.abc import Callable
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from custext_sql.arrays import Bytes, Draws, Kinds, Numbers, Places
from custext_sql.mechanism.chacha20 import PER_BLOCK, draw_streams
from custext_sql.text.columns import TextColumn, join_rows

_HALF = 32  # bytes of the key of a row, and of its number
SUM_MODULUS = 1 << 8 * _HALF


class SecretKey:
    """The keys that are derived from one secret. name: identifies the secret and may be published."""

    def __init__(self, secret: bytes) -> None:
        self._row_key = _derive(secret, b"custext row")
        self.name = _derive(secret, b"custext name").hex()[:16]

    def __reduce__(self) -> Any:
        raise TypeError("a secret key cannot be pickled; pass on the path of its key file instead")

    def digest_rows(self, records: TextColumn, texts: TextColumn) -> Bytes:
        """Return the digest of each row, of shape (n, 64).

        The length of the record is hashed before it, so that the hashed bytes are equal only if record and text are.
        """
        lengths = (records.offsets[1:] - records.offsets[:-1]).astype("<u8").view(np.uint8)
        columns = ((column.text, column.offsets) for column in (records, texts))
        keyed = blake2b(key=self._row_key, digest_size=2 * _HALF)  # copied for each row, which is faster
        digests = []
        for row in join_rows((lengths, np.arange(0, len(lengths) + 1, 8)), *columns):
            state = keyed.copy()
            state.update(row)
            digests.append(state.digest())
        return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, 2 * _HALF)


class KeyedRandomness:
    """The keyed draws of some rows. texts: as the user gave them."""

    def __init__(self, key: SecretKey, records: TextColumn, texts: TextColumn) -> None:
        self._key, self._records, self._texts = key, records, texts

    @cached_property
    def _digests(self) -> Bytes:
        return self._key.digest_rows(self._records, self._texts)

    def draw(self, places: Places, find_rows: Callable[[], Places], stream: int) -> Draws:
        """Return draws, as `Randomness.draw` does. Each is in the stream of its row, at its position in the row."""
        if not len(places):
            return np.zeros(0, dtype=np.uint64)
        rows = find_rows()
        ends = places.searchsorted(rows[1:])  # of the draws of each row
        counts = ends.copy()
        counts[1:] -= ends[:-1]
        blocks = np.where(counts, (places.take(ends - 1) - rows[:-1]) // PER_BLOCK + 1, 0)  # up to its last draw
        shifts = PER_BLOCK * (np.cumsum(blocks) - blocks) - rows[:-1]  # from a place to the index of its draw
        return draw_streams(self._digests[:, :_HALF], blocks, stream).take(places + shifts.repeat(counts))

    def sum_rows(self, marks: tuple[Numbers, Kinds] | None = None) -> int:
        """Return the sum of the numbers of the rows, modulo 2**256, without those of missing texts.

        Sums of parts add up to the sum of the whole, in any order. A row that occurs twice counts twice.

        marks: the row of each word, in ascending order, and a mark. A row with a mark other than 0 has another number,
        which depends on all its marks.
        """
        numbers = self._digests[:, _HALF:]
        if marks is not None and marks[1].any():
            numbers = _mark(numbers, *marks)
        if self._texts.missing is not None:
            numbers = numbers[~self._texts.missing]
        limbs = numbers.view("<u4").sum(axis=0, dtype=np.uint64)
        total: int = sum(limb << (32 * place) for place, limb in enumerate(limbs.tolist()))
        return total % SUM_MODULUS


def _mark(numbers: Bytes, rows: Numbers, marks: Kinds) -> Bytes:
    numbers = numbers.copy()
    for row in np.unique(rows[marks != 0]).tolist():
        within = slice(*np.searchsorted(rows, [row, row + 1]).tolist())
        marked = blake2b(marks[within].tobytes(), key=numbers[row].tobytes(), digest_size=_HALF)
        numbers[row] = np.frombuffer(marked.digest(), dtype=np.uint8)
    return numbers


def _derive(secret: bytes, purpose: bytes) -> bytes:
    return blake2b(purpose, key=secret, digest_size=32).digest()
