"""Digests of private texts, keyed with a secret of this user's.

Results of experiments are known by a digest of the texts they were measured on. A plain hash would let anyone who holds
the database confirm a guess of a short text, so the digest is keyed; the secret lies in a file of its own, outside the
database, that only its owner can read. Without it, results are measured again; nothing else is lost.
"""

import secrets
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import platformdirs

from custext_sql.errors import DatabaseError, OutputError
from custext_sql.store.files.atomic_outputs import publish_text

_BYTES = 32


class TextDigest:
    """Digests pieces of texts, in order and with their lengths, so that no two pieces can pass for one."""

    def __init__(self) -> None:
        self._digest = blake2b(key=_read_secret(secret_path()), digest_size=32, person=b"custext texts")

    def update(self, piece: bytes) -> None:
        self._digest.update(b"%d:" % len(piece))
        self._digest.update(piece)

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def secret_path() -> Path:
    """Return where the secret lies: in the user's own folder, whichever database is in use."""
    return platformdirs.user_data_path("custext", appauthor=False) / "digest.secret"


@lru_cache(maxsize=8)
def _read_secret(path: Path) -> bytes:
    """Return the secret, made on first use."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            with suppress(OutputError):  # another process was first
                publish_text(path, secrets.token_hex(_BYTES), force=False, private=True)
        found = bytes.fromhex(path.read_text(encoding="ascii"))
    except OSError as error:
        raise DatabaseError(f"cannot read or make {path}, the secret that keys digests: {error.strerror}") from None
    except ValueError:
        found = b""
    if len(found) != _BYTES:
        raise DatabaseError(f"{path}: expected a secret of {2 * _BYTES} hexadecimal digits; remove the file")
    return found
