"""The vectors that ship with the package, as a vector source."""

import hashlib
from collections.abc import Generator
from importlib.resources import files

from custext_sql.vectors.packed import unpack
from custext_sql.vectors.source import Batch, VectorSource

STARTER = "starter"  # the name of the source
FILE = "glove-840b-34k.xz"
WORDS = 33_860
_ROWS = 8192


def open_starter() -> VectorSource:
    """Open the shipped vectors."""
    packed = files("custext_sql.starter").joinpath(FILE).read_bytes()
    share = [0.0]

    def batches() -> Generator[Batch, None, None]:
        words, vectors = unpack(packed)
        for start in range(0, len(words), _ROWS):
            yield Batch(words[start : start + _ROWS], vectors[start : start + _ROWS], start + 1)
            share[0] = min(1.0, (start + _ROWS) / len(words))

    return VectorSource(FILE, STARTER, "row", batches(), lambda: share[0], lambda: hashlib.sha256(packed).hexdigest())
