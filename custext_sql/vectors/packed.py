"""The file format of the starter vectors: a header line, the words, and one signed byte per coordinate, in xz.

A coordinate is its byte times STEP. Bytes are stored dimension by dimension, which compresses best.
"""

import lzma
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Points

STEP = 5 / 128  # exact in binary; keeps 0.975 of each word's 20 nearest neighbors
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 0, "pb": 0}]


def pack(words: Sequence[str], vectors: npt.NDArray[np.floating]) -> bytes:
    """Return words and vectors in the packed format. Raise ValueError if a coordinate is too large for it."""
    codes = np.rint(vectors.astype(np.float64) / STEP)
    if np.abs(codes).max() > 127:
        raise ValueError(f"coordinates must lie within {127 * STEP} of 0")
    header = f"{len(words)} {vectors.shape[1]}\n" + "\n".join(words) + "\n"
    content = header.encode() + np.ascontiguousarray(codes.T.astype(np.int8)).tobytes()
    return lzma.compress(content, format=lzma.FORMAT_XZ, filters=_FILTERS)


def unpack(packed: bytes) -> tuple[list[str], Points]:
    """Return the words and vectors of a packed file."""
    content = lzma.decompress(packed)
    header, _, rest = content.partition(b"\n")
    count, dimension = map(int, header.split())
    words = rest[: len(rest) - count * dimension].decode().removesuffix("\n").split("\n")
    codes = np.frombuffer(rest, dtype=np.int8, offset=len(rest) - count * dimension).reshape(dimension, count)
    return words, np.ascontiguousarray(codes.T) * np.float32(STEP)
