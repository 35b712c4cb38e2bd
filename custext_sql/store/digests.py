"""Digests of private texts, keyed with a secret of this user.

Results of experiments are stored with a digest of the texts they were measured on. With a plain hash, anyone who has
the database could confirm a guess of a short text, so the digest is keyed. The secret is in a separate file outside the
database, which only its owner can read. If it is lost, results are measured again; nothing else depends on it.
"""

import secrets
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import platformdirs

from custext_sql.errors import DatabaseError, OutputError, tell_system_error
from custext_sql.store.files.atomic_outputs import publish_text
from custext_sql.store.files.private_folders import make_private_folders

_BYTES = 32


class TextDigest:
    """A keyed digest of pieces of text. The length of each piece counts, so "ab" + "c" differs from "a" + "bc"."""

    def __init__(self) -> None:
        self._digest = blake2b(key=_read_secret(secret_path()), digest_size=32, person=b"custext texts")

    def update(self, piece: bytes) -> None:
        """Add a piece."""
        self._digest.update(b"%d:" % len(piece))
        self._digest.update(piece)

    def hexdigest(self) -> str:
        """Return the digest of all pieces so far, in hexadecimal digits."""
        return self._digest.hexdigest()


def secret_path() -> Path:
    """Return the path of the secret, which is in the user's data folder for all databases."""
    return platformdirs.user_data_path("custext", appauthor=False) / "digest.secret"


@lru_cache(maxsize=8)
def _read_secret(path: Path) -> bytes:
    """Return the secret, and create it on first use."""
    try:
        make_private_folders(path.parent)
        if not path.exists():
            try:
                publish_text(path, secrets.token_hex(_BYTES), force=False)
            except OutputError as error:
                if not path.exists():  # otherwise, another process was first
                    raise DatabaseError(str(error)) from None
        found = bytes.fromhex(path.read_text(encoding="ascii"))
    except OSError as error:
        reason = tell_system_error(error)
        raise DatabaseError(f"cannot read or create {path}, the secret for digests: {reason}") from None
    except ValueError:
        found = b""
    if len(found) != _BYTES:
        raise DatabaseError(f"{path}: expected {2 * _BYTES} hexadecimal digits; delete the file to get a new secret")
    return found
