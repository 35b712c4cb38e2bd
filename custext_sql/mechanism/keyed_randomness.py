"""Draws that depend on a secret key, the record and the word alone: asked again, they come out the same.

A draw is AES-256 of (digest of the record) xor (number of the word, how often it occurred before in the record), of
which 64 bits are used. The digest is BLAKE2b of the record under a key of its own; both derive from the file's key.
Since digests are 128 bits that nobody without the key can foresee, no two blocks of different records meet but by a
chance of 2**-128 a pair; so draws are as good as independent, also those of one word that occurs twice.

The same secret tells whether two sets of rows are the same, without telling anything else of them: each row has a
number of 256 bits, BLAKE2b of its record and its text under a third key, and the numbers are added up.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import ECB

from custext_sql.arrays import Bytes, Draws, Flags, Hashes, Numbers, Places

_BLOCK = 16  # bytes of a block of AES
_SUM = 32  # bytes of a row's number in a sum
SUM_MODULUS = 1 << 8 * _SUM


class SecretKey:
    """The keys that one secret gives, and the name by which it may be known."""

    def __init__(self, secret: bytes) -> None:
        self._record_key = _derive(secret, b"custext record")
        self._draw_key = _derive(secret, b"custext draw")
        self._sum_key = _derive(secret, b"custext sum")
        self.name = _derive(secret, b"custext name").hex()[:16]

    def __reduce__(self) -> Any:
        raise TypeError("a secret key does not travel; its file does")

    def digest(self, records: Sequence[str]) -> Hashes:
        """Return each record as two integers."""
        key = self._record_key
        digests = [blake2b(record.encode(), key=key, digest_size=_BLOCK).digest() for record in records]
        return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)

    def sum_rows(self, records: Sequence[str], text: Bytes, offsets: Places, missing: Flags | None = None) -> int:
        """Return the sum of the numbers of some rows, modulo 2**256; missing texts are left out.

        Sums of parts add up to the sum of the whole, in any order. A row that comes twice counts twice. The length of
        the record stands before it, so that no two rows are hashed alike unless record and text are the same.
        """
        content = text.tobytes()
        keyed = blake2b(key=self._sum_key, digest_size=_SUM)
        places = range(len(offsets) - 1) if missing is None else np.flatnonzero(~missing).tolist()
        bounds = offsets.tolist()
        numbers = []
        for place in places:
            record = records[place].encode()
            state = keyed.copy()
            state.update(len(record).to_bytes(8, "little") + record)
            state.update(content[bounds[place] : bounds[place + 1]])
            numbers.append(state.digest())
        limbs = np.frombuffer(b"".join(numbers), dtype="<u4").reshape(-1, _SUM // 4).sum(axis=0, dtype=np.uint64)
        total: int = sum(limb << (32 * place) for place, limb in enumerate(limbs.tolist()))
        return total % SUM_MODULUS

    def encrypt(self, blocks: Hashes) -> Draws:
        """Return the first half of each block, encrypted."""
        cipher = Cipher(AES256(self._draw_key), ECB()).encryptor()  # no two blocks are equal, and none is released
        encrypted = cipher.update(blocks.astype("<u8", copy=False).tobytes())
        return np.frombuffer(encrypted, dtype="<u8")[::2].astype(np.uint64)


class KeyedRandomness:
    """The draws of some rows, whose records are given."""

    def __init__(self, key: SecretKey, records: Sequence[str]) -> None:
        self._key = key
        self._digests = key.digest(records)

    def draw(self, words: Numbers, find_places: Callable[[], tuple[Numbers, Numbers]]) -> Draws:
        rows, earlier = find_places()
        blocks = self._digests[rows]
        blocks[:, 0] ^= words.astype(np.uint64)
        blocks[:, 1] ^= earlier.astype(np.uint64)
        return self._key.encrypt(blocks)


def _derive(secret: bytes, purpose: bytes) -> bytes:
    return blake2b(purpose, key=secret, digest_size=32).digest()
