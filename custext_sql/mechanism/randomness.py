"""Sources of uniform 64-bit integers: secure draws, seeded draws for tests, and keyed draws.

Keyed draws depend only on a secret key, the record of a text and the whole text, so they are repeatable. Each row has a
digest of 512 bits: BLAKE2b of its record and its text, under a key derived from the secret. Its first half is the key
of a ChaCha20 stream, which has the draw of each word at the position of the word in the row. So equal rows draw the
same, and rows that differ in any way draw independently in all their words: after an edit, unchanged words do not show
where the edit was.

The first 8 bytes of the second half are the digest of the text for the ledger, which counts what each record has spent:
equal only for the same record and text. The record of a text is COLUMN:ID, and the digest of its ID says which texts
belong to the same row.
"""

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from custext_sql.arrays import Bytes, Draws, Hashes, Kinds, Numbers, Places
from custext_sql.errors import PrivacyWarning, SettingError, warn_caller
from custext_sql.mechanism.chacha20 import PER_BLOCK, draw_streams
from custext_sql.parameters import check_whole
from custext_sql.text.columns import TextColumn, join_rows

WORDS, DIGITS = 0, 1  # what draws are for; words and digits have positions of their own

_HALF = 32  # bytes of the key of a row
_SHORT = 8  # bytes of a digest for the ledger


class Randomness(Protocol):
    """A source of uniform 64-bit integers."""

    def draw(self, places: Places, find_rows: Callable[[], Places], stream: int) -> Draws:
        """Return a draw for each of some words (stream WORDS), or of some digits (stream DIGITS).

        places: where they are among all words of the texts, or all digits, in ascending order. find_rows: returns the
        place where each row begins, and at the end the number of all words, or all digits; only keyed draws need it.
        For the second and the last of five words in two rows, of two and three words: places 1 4, rows 0 2 5.
        """


class SecureRandomness:
    """The secure source of the operating system.

    Nothing is kept between calls, so no randomness is used twice: not by another row, thread or process, even after a
    fork.
    """

    def draw(self, places: Places, find_rows: Callable[[], Places], stream: int) -> Draws:
        """Return draws, as `Randomness.draw` does."""
        return np.frombuffer(os.urandom(8 * len(places)), dtype=np.uint64)


class SeededRandomness:
    """Draws that anyone who knows the seed can reproduce: for tests and demonstrations. Creating one warns."""

    def __init__(self, seed: int) -> None:
        if check_whole(seed, "seed") < 0:
            raise SettingError(f"seed must not be negative; found {seed}")
        warn_caller("seeded draws protect nothing; use a seed only for tests and demonstrations", PrivacyWarning)
        self._bits = np.random.PCG64(seed)

    def draw(self, places: Places, find_rows: Callable[[], Places], stream: int) -> Draws:
        """Return draws, as `Randomness.draw` does."""
        return np.asarray(self._bits.random_raw(len(places)), dtype=np.uint64)


class SecretKey:
    """The keys that are derived from one secret. name: identifies the secret and may be published."""

    def __init__(self, secret: bytes) -> None:
        purposes = (b"custext row", b"custext record", b"custext name")
        derived = [blake2b(purpose, key=secret, digest_size=32).digest() for purpose in purposes]
        self._row_key, self._id_key, self.name = derived[0], derived[1], derived[2].hex()[:16]

    def __reduce__(self) -> Any:
        raise TypeError("a secret key cannot be pickled; pass on the path of its key file instead")

    def digest_rows(self, records: TextColumn, texts: TextColumn) -> Bytes:
        """Return the digest of each row, of shape (n, 64).

        The length of the record is hashed before it, so that the hashed bytes are equal only if record and text are.
        """
        lengths = (records.offsets[1:] - records.offsets[:-1]).astype("<u8").view(np.uint8)
        columns = ((column.text, column.offsets) for column in (records, texts))
        rows = join_rows((lengths, np.arange(0, len(lengths) + 1, 8)), *columns)
        return _hash_each(rows, self._row_key, 2 * _HALF).reshape(-1, 2 * _HALF)

    def digest_ids(self, records: TextColumn, *, named: bool) -> tuple[Places, Hashes]:
        """Return the digests of the IDs that records may have, and the row of each.

        The ID of a record is what follows its first colon, or all of it. named: whether each record is COLUMN:ID; else
        a record with a colon may be an ID as a whole, such as "x:1", and has both digests, so that it adds to whatever
        was drawn for either.
        """
        rows = join_rows((records.text, records.offsets))
        whole = [] if named else [place for place, row in enumerate(rows) if b":" in row]
        ids = [row[row.find(b":") + 1 :] for row in rows] + [rows[place] for place in whole]
        places = np.concatenate([np.arange(len(rows)), np.array(whole, dtype=np.int64)])
        return places, _hash_each(ids, self._id_key, _SHORT).view("<u8")


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

    def digest(
        self, marks: tuple[Numbers, Kinds] | None = None, *, named: bool = False
    ) -> tuple[Places, Hashes, Hashes]:
        """Return rows, and two digests of each: of the ID in its record, and of its record and text.

        A row occurs twice if its record may have either of two IDs; see `SecretKey.digest_ids`. marks: the row of each
        word, in ascending order, and a mark. A row with a mark other than 0 has another digest of its text, which
        depends on all its marks.
        """
        texts = self._digests[:, _HALF : _HALF + _SHORT].copy().view("<u8").reshape(-1)
        if marks is not None:
            of_words, kinds = marks
            for row in np.unique(of_words[kinds != 0]).tolist():
                within = slice(*np.searchsorted(of_words, [row, row + 1]).tolist())
                marked = blake2b(kinds[within].tobytes(), key=self._digests[row, _HALF:].tobytes(), digest_size=_SHORT)
                texts[row] = int.from_bytes(marked.digest(), "little")
        rows, ids = self._key.digest_ids(self._records, named=named)
        return rows, ids, texts.take(rows)


def _hash_each(rows: Iterable[bytes], key: bytes, size: int) -> Bytes:
    """Return the keyed digests of rows end to end."""
    keyed = blake2b(key=key, digest_size=size)  # copied for each row, which is faster
    digests = []
    for row in rows:
        state = keyed.copy()
        state.update(row)
        digests.append(state.digest())
    return np.frombuffer(b"".join(digests), dtype=np.uint8)
