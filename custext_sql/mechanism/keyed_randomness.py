"""Keyed draws, which depend only on a secret key, the record and the word, so they are repeatable.

A draw is 64 bits of AES-256 of (digest of the record) xor (number of the word, how often it occurred before in the
record). The digest is BLAKE2b of the record under a key of its own; both keys derive from the key of the file. Digests
are 128 bits that nobody can predict without the key, so blocks of different records collide with probability 2**-128
per pair. Draws are therefore as good as independent, including those of a word that occurs twice.

The same secret also shows whether two sets of rows are equal, and nothing else about them: each row has a number of
256 bits, BLAKE2b of its record and its text under a third key, and the numbers are summed.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from custext_sql.arrays import Bytes, Draws, Flags, Hashes, Numbers, Places

_BLOCK = 16  # bytes per block of AES
_SUM = 32  # bytes of the number of a row
SUM_MODULUS = 1 << 8 * _SUM


class SecretKey:
    """The keys that are derived from one secret. name: identifies the secret and may be published."""

    def __init__(self, secret: bytes) -> None:
        self._record_key = _derive(secret, b"custext record")
        self._draw_key = _derive(secret, b"custext draw")
        self._sum_key = _derive(secret, b"custext sum")
        self.name = _derive(secret, b"custext name").hex()[:16]

    def __reduce__(self) -> Any:
        raise TypeError("a secret key cannot be pickled; pass on the path of its key file instead")

    def digest(self, records: Sequence[str]) -> Hashes:
        """Return the digest of each record as two integers."""
        key = self._record_key
        digests = [blake2b(record.encode(), key=key, digest_size=_BLOCK).digest() for record in records]
        return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)

    def sum_rows(self, records: Sequence[str], text: Bytes, offsets: Places, missing: Flags | None = None) -> int:
        """Return the sum of the numbers of some rows, modulo 2**256, without those of missing texts.

        Sums of parts add up to the sum of the whole, in any order. A row that occurs twice counts twice. The length of
        the record is hashed before it, so that the hashed bytes are equal only if record and text are.
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
        """Return the first 64 bits of each encrypted block."""
        from cryptography.hazmat.primitives.ciphers import Cipher  # most runs have no key, and need no cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES256
        from cryptography.hazmat.primitives.ciphers.modes import ECB

        cipher = Cipher(
            AES256(self._draw_key), ECB()
        ).encryptor()  # safe here: no two blocks are equal, and none is released
        encrypted = cipher.update(blocks.astype("<u8", copy=False).tobytes())
        return np.frombuffer(encrypted, dtype="<u8")[::2].astype(np.uint64)


class KeyedRandomness:
    """The keyed draws of some rows, each with its record."""

    def __init__(self, key: SecretKey, records: Sequence[str]) -> None:
        self._key = key
        self._digests = key.digest(records)

    def draw(self, words: Numbers, find_places: Callable[[], tuple[Numbers, Numbers]]) -> Draws:
        """Return a draw for each word, as `Randomness.draw` does."""
        rows, earlier = find_places()
        blocks = self._digests[rows]
        blocks[:, 0] ^= words.astype(np.uint64)
        blocks[:, 1] ^= earlier.astype(np.uint64)
        return self._key.encrypt(blocks)


def _derive(secret: bytes, purpose: bytes) -> bytes:
    return blake2b(purpose, key=secret, digest_size=32).digest()
