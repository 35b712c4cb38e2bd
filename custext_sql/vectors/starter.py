"""The vectors that ship with the package, as a vector source, and their file format.

A file has a header line, the words, and one signed byte per coordinate, in xz. The header has the number of words, the
dimension and, if it is not 1, a multiple. A coordinate is its byte times STEP times the multiple. Bytes are stored
dimension by dimension, which compresses best.
"""

import hashlib
import lzma
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Points
from custext_sql.vectors.source import Batch, VectorSource

STARTER = "starter"  # the name of the source
FILES = ("glove-840b-34k.xz", "glove-6b-66k.xz")  # common English words; then names, terms and rarer words
GROUPS = "groups-k40.xz"  # of the default mapping
WORDS = 100_000
FIRST_WORDS = 33_860  # in the first file
STEP = 5 / 128  # exact in binary; keeps 0.975 of each word's 20 nearest neighbors
_ROWS = 8192
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 0, "pb": 0}]


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

    def digest() -> str:
        return hashlib.sha256(b"".join(packed)).hexdigest()

    return VectorSource(" + ".join(FILES), STARTER, "row", batches(), lambda: done[0] / WORDS, digest)


@dataclass(frozen=True)
class PackedVectors:
    """Words and their vectors as bytes. codes: one row per dimension, one column per word. step: the unit of a byte."""

    words: list[str]
    codes: npt.NDArray[np.int8]
    step: float

    def vectors(self, start: int = 0, stop: int | None = None) -> Points:
        """Return the vectors of the words from start to stop. They are exact, and so the same on every machine."""
        return np.ascontiguousarray(self.codes[:, start:stop].T) * np.float32(self.step)


def pack(words: Sequence[str], vectors: npt.NDArray[np.floating], multiple: int = 1) -> bytes:
    """Return words and vectors in the packed format. Raise ValueError if a coordinate is too large for it.

    multiple: of STEP, to which coordinates are rounded.
    """
    step = STEP * multiple
    codes = np.rint(vectors.astype(np.float64) / step)
    if np.abs(codes).max() > 127:
        raise ValueError(f"coordinates must lie within {127 * step} of 0")
    numbers = [len(words), vectors.shape[1]] + [multiple] * (multiple != 1)
    header = " ".join(map(str, numbers)) + "\n" + "\n".join(words) + "\n"
    content = header.encode() + np.ascontiguousarray(codes.T.astype(np.int8)).tobytes()
    return lzma.compress(content, format=lzma.FORMAT_XZ, filters=_FILTERS)


def unpack(packed: bytes) -> PackedVectors:
    """Return the words and vectors of a packed file."""
    content = lzma.decompress(packed)
    header, _, rest = content.partition(b"\n")
    count, dimension, *multiple = map(int, header.split())
    words = rest[: len(rest) - count * dimension].decode().removesuffix("\n").split("\n")
    codes = np.frombuffer(rest, dtype=np.int8, offset=len(rest) - count * dimension).reshape(dimension, count)
    return PackedVectors(words, codes, STEP * (multiple[0] if multiple else 1))
