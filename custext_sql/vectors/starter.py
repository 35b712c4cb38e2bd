"""The vectors that ship with the package, as a vector source."""

import hashlib
from collections.abc import Generator
from importlib.resources import files

from custext_sql.vectors.packed import unpack
from custext_sql.vectors.source import Batch, VectorSource

STARTER = "starter"  # the name of the source
FILES = ("glove-840b-34k.xz", "glove-6b-66k.xz")  # common English words; then names, terms and rarer words
GROUPS = "groups-k40.xz"  # of the default mapping
WORDS = 100_000
FIRST_WORDS = 33_860  # in the first file
_ROWS = 8192


def open_starter() -> VectorSource:
    """Open the shipped vectors: the words of all files, one file after the other."""
    folder = files("custext_sql.starter")
    packed = [folder.joinpath(file).read_bytes() for file in FILES]
    done = [0]

    def batches() -> Generator[Batch, None, None]:
        for part in packed:
            opened = unpack(part)
            for start in range(0, len(opened.words), _ROWS):
                words = opened.words[start : start + _ROWS]
                yield Batch(words, opened.vectors(start, start + _ROWS), done[0] + 1)
                done[0] += len(words)

    return VectorSource(" + ".join(FILES), STARTER, "row", batches(), lambda: done[0] / WORDS, lambda: _digest(packed))


def _digest(packed: list[bytes]) -> str:
    """Return the sha256 of the files, laid end to end."""
    digest = hashlib.sha256()
    for part in packed:
        digest.update(part)
    return digest.hexdigest()
