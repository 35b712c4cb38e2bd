"""Sources of uniform 64-bit integers: secure draws, seeded draws for tests, and keyed draws.

Keyed draws depend only on a secret key, the record of a text and the whole text, so they are repeatable. Each row has a
digest of 512 bits: BLAKE2b of its record and its text, under a key derived from the secret. Its first half is the key
of a ChaCha20 stream, which has the draw of each word at the position of the word in the row. So equal rows draw the
same, and rows that differ in any way draw independently in all their words: after an edit, unchanged words do not show
where the edit was.

The first 8 bytes of the second half are the digest of the text for the ledger, which counts what each record has spent:
equal only for the same record and text. The record of a text is COLUMN:ID, and the digest of its ID says which texts
belong to the same row. ChaCha20 (RFC 8439) runs under many keys at once.
"""

import os
import threading
from collections.abc import Callable, Iterable
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Bytes, Draws, Hashes, Kinds, Numbers, Places
from custext_sql.errors import PrivacyWarning, SettingError, warn_caller
from custext_sql.parameters import check_whole
from custext_sql.text.columns import TextColumn, join_rows
from custext_sql.text.encoded_text import spread_out

Blocks = npt.NDArray[np.uint32]
Nonce = tuple[int, int, int]

WORDS, DIGITS = 0, 1  # what draws are for; words and digits have positions of their own

_HALF = 32  # bytes of the key of a row
_SHORT = 8  # bytes of a digest for the ledger

PER_BLOCK = 8  # integers of 64 bits in a block of 64 bytes
_AT_ONCE = 8192  # blocks whose state fits into the cache of a core
_room = threading.local()
_CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4").astype(np.uint32)
# The bits of each turn to the left, and to the right; as arrays, because NumPy takes longer to convert a number
_TURNS = [(np.array(bits, dtype=np.uint32), np.array(32 - bits, dtype=np.uint32)) for bits in (16, 12, 8, 7)]


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


def draw_streams(keys: Bytes, blocks: Numbers, stream: int) -> Draws:
    """Return the first blocks[i] blocks of the stream under keys[i], for all keys end to end, as 64-bit integers.

    keys: of shape (n, 32). stream: tells apart the streams under a key. Two keys with 1 and 2 blocks give 24 integers.
    """
    nonce = (0, stream, 0)
    # Measured: run_blocks takes 0.15 ms + 0.2 us per block, stream_each 4 us per key + 0.02 us per block.
    if np.count_nonzero(blocks) < 40 + int(blocks.sum()) // 20:
        return stream_each(keys, blocks, nonce)
    counters = spread_out(np.zeros_like(blocks), blocks)
    done = run_blocks(keys.repeat(blocks, axis=0), counters, nonce)
    return done.view("<u8").reshape(-1).astype(np.uint64, copy=False)


def stream_each(keys: Bytes, blocks: Numbers, nonce: Nonce) -> Draws:
    """Return what `draw_streams` does, one key after the other: fast for few keys, or long streams."""
    from cryptography.hazmat.primitives.ciphers import Cipher  # most runs have no key, and need no cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

    initial = b"".join(word.to_bytes(4, "little") for word in (0, *nonce))  # the first counter, and the nonce
    zeros = bytes(64 * int(blocks.max(initial=0)))
    streams = [
        Cipher(ChaCha20(keys[place].tobytes(), initial), mode=None).encryptor().update(zeros[: 64 * blocks[place]])
        for place in blocks.nonzero()[0]
    ]
    return np.frombuffer(b"".join(streams), dtype="<u8").astype(np.uint64, copy=False)


def run_blocks(keys: Bytes, counters: Numbers, nonce: Nonce) -> Blocks:
    """Return the block of each key and counter, of shape (n, 16): the little-endian words of its 64 bytes."""
    done = np.empty((len(keys), 16), dtype="<u4")
    for start in range(0, len(keys), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        _run_some(np.ascontiguousarray(keys[part]).view("<u4").T, counters[part], nonce, done[part])
    return done


def _run_some(keys: Blocks, counters: Numbers, nonce: Nonce, done: Blocks) -> None:
    """Write a block for each column of `keys` to the rows of `done`.

    RFC 8439 shows the words of a block as a square, whose lines are a, b, c and d here:

         0  1  2  3    A column round mixes the columns: 0 4 8 12, 1 5 9 13, 2 6 10 14 and 3 7 11 15.
         4  5  6  7    A diagonal round mixes the diagonals: 0 5 10 15, 1 6 11 12, 2 7 8 13 and 3 4 9 14.
         8  9 10 11    So it is a column round on the lines 0 1 2 3, 5 6 7 4, 10 11 8 9 and 15 12 13 14.
        12 13 14 15

    Each line has room for the words that move to its other end, so that both orders are slices of it: b is 4 5 6 7 4,
    c is 8 9 10 11 8 9, and d is 15 12 13 14 15.
    """
    a, b, c, d, last, spare = (part.reshape(-1, len(done)) for part in _find_room(len(done)))
    columns, diagonals = (a, b[:4], c[:4], d[1:]), (a, b[1:], c[2:], d[:4])
    last[0], last[1:] = counters, np.array([nonce]).T
    before = _CONSTANTS[:, None], keys[:4], keys[4:], last
    for line, words in zip(columns, before, strict=True):
        line[:] = words
    for _ in range(10):
        _mix(*columns, spare)
        b[4], c[4:], d[0] = b[0], c[:2], d[4]
        _mix(*diagonals, spare)
        b[0], c[:2], d[4] = b[4], c[4:], d[0]
    for place, (line, words) in enumerate(zip(columns, before, strict=True)):
        line += words
        done[:, 4 * place : 4 * place + 4] = line.T


def _find_room(count: int) -> list[Blocks]:
    """Return room for 4, 5, 6, 5, 4 and 4 times `count` words.

    Each thread keeps it: memory that is new takes the system a sixth of the time of all rounds.
    """
    if not hasattr(_room, "words") or len(_room.words) < 28 * count:
        _room.words = np.empty(28 * count, dtype=np.uint32)
    return np.split(_room.words[: 28 * count], count * np.array([4, 9, 15, 20, 24]))


def _mix(a: Blocks, b: Blocks, c: Blocks, d: Blocks, spare: Blocks) -> None:
    """Do the quarter rounds of four columns, for every block. spare: an array to work in."""
    for (changed, added, turned), (left, right) in zip(((a, b, d), (c, d, b)) * 2, _TURNS, strict=True):
        changed += added
        turned ^= changed
        np.right_shift(turned, right, spare)
        np.left_shift(turned, left, turned)
        turned |= spare
