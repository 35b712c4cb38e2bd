"""Keyed draws, which depend only on a secret key, the record of a text and the whole text, so they are repeatable.

Each row has a digest of 512 bits: BLAKE2b of its record and its text, under a key derived from the secret. Its first
half is the key of a ChaCha20 stream, which has the draw of each word at the position of the word in the row. So equal
rows draw the same, and rows that differ in any way draw independently in all their words: after an edit, unchanged
words do not show where the edit was.

The first 8 bytes of the second half are the digest of the text for the ledger, which counts what each record has spent:
equal only for the same record and text. The record of a text is COLUMN:ID, and the digest of its ID says which texts
belong to the same row.
"""

from collections.abc import Callable
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from custext_sql.arrays import Bytes, Draws, Hashes, Kinds, Numbers, Places
from custext_sql.mechanism.chacha20 import PER_BLOCK, draw_streams
from custext_sql.text.columns import TextColumn, join_rows

_HALF = 32  # bytes of the key of a row
_SHORT = 8  # bytes of a digest for the ledger


class SecretKey:
    """The keys that are derived from one secret. name: identifies the secret and may be published."""

    def __init__(self, secret: bytes) -> None:
        self._row_key = _derive(secret, b"custext row")
        self._id_key = _derive(secret, b"custext record")
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

    def digest_ids(self, records: TextColumn) -> Hashes:
        """Return the digest of the ID in each record: of what follows its first colon, or of all of it."""
        keyed = blake2b(key=self._id_key, digest_size=_SHORT)
        digests = []
        for record in join_rows((records.text, records.offsets)):
            state = keyed.copy()
            state.update(record[record.find(b":") + 1 :])
            digests.append(state.digest())
        return np.frombuffer(b"".join(digests), dtype="<u8")


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

    def digest(self, marks: tuple[Numbers, Kinds] | None = None) -> tuple[Hashes, Hashes]:
        """Return two digests of each row: of the ID in its record, and of its record and text.

        marks: the row of each word, in ascending order, and a mark. A row with a mark other than 0 has another digest
        of its text, which depends on all its marks.
        """
        texts = self._digests[:, _HALF : _HALF + _SHORT].copy().view("<u8").reshape(-1)
        if marks is not None and marks[1].any():
            _mark(texts, self._digests, *marks)
        return self._key.digest_ids(self._records), texts


def _mark(digests: Hashes, rows: Bytes, of_words: Numbers, marks: Kinds) -> None:
    for row in np.unique(of_words[marks != 0]).tolist():
        within = slice(*np.searchsorted(of_words, [row, row + 1]).tolist())
        marked = blake2b(marks[within].tobytes(), key=rows[row, _HALF:].tobytes(), digest_size=_SHORT)
        digests[row] = int.from_bytes(marked.digest(), "little")


def _derive(secret: bytes, purpose: bytes) -> bytes:
    return blake2b(purpose, key=secret, digest_size=32).digest()
