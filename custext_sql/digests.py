"""Digests of private texts, keyed with a secret of this user's.

Results of experiments are known by a digest of the texts they were measured on. A plain hash would let anyone who holds
the database confirm a guess of a short text, so the digest is keyed; the secret lies in a file of its own, outside the
database, that only its owner can read. Without it, results are measured again; nothing else is lost.
"""

import os
import secrets
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import platformdirs

from custext_sql.errors import DatabaseError

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
        _make_secret(path)
        found = path.read_bytes()
    except OSError as error:
        raise DatabaseError(f"cannot read or make {path}, the secret that keys digests: {error.strerror}") from None
    if len(found) != _BYTES:
        raise DatabaseError(f"{path}: expected a secret of {_BYTES} bytes; found {len(found)}; remove the file")
    return found


def _make_secret(path: Path) -> None:
    """Make the file unless it is there; it appears whole, even if another process makes it at the same time."""
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # unlike a rename, a link never replaces the secret of another process
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
