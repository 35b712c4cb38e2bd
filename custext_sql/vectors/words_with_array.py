"""Words with an array that has one row of numbers per word, as a vector source."""

import hashlib
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from custext_sql.arrays import Points
from custext_sql.errors import SourceError
from custext_sql.parameters import count_of
from custext_sql.vectors.source import Batch, VectorSource

_ROWS = 8192


def open_word_vectors(
    words: Sequence[str], vectors: Any, *, label: str = "the array", format: str = "array"
) -> VectorSource:
    """Open words and their vectors as a source. vectors: anything that NumPy converts to a matrix of numbers.

    label: the name of the source in messages. format: its format in the database. Raise SourceError if the words are
    not strings or the vectors are not one row of numbers per word.
    """
    if not isinstance(words, Sequence | np.ndarray) or isinstance(words, str):
        raise SourceError(f"expected a sequence of words; found {type(words).__name__}")
    words = list(words)
    if wrong := [type(word).__name__ for word in words if not isinstance(word, str)]:
        raise SourceError(f"expected words as strings; found {wrong[0]}")
    try:
        with np.errstate(
            over="ignore"
        ):  # numbers too large for float32 become infinite, and are refused with their row
            matrix = _read_matrix(vectors)
    except (TypeError, ValueError, OverflowError):
        raise SourceError("expected an array of numbers with one row per word; found something else") from None
    if matrix.ndim != 2 or len(matrix) != len(words):
        found = " x ".join(map(str, matrix.shape)) or "a single number"
        raise SourceError(f"expected an array with one row for each of {count_of(len(words), 'word')}; found {found}")
    share = [0.0]

    def batches() -> Generator[Batch, None, None]:
        for start in range(0, len(words), _ROWS):
            yield Batch(words[start : start + _ROWS], matrix[start : start + _ROWS], start + 1)
            share[0] = min(1.0, (start + _ROWS) / len(words))

    def digest() -> str:
        content = hashlib.sha256("\n".join(words).encode(errors="surrogatepass") + b"\n")
        content.update(np.ascontiguousarray(matrix).astype("<f4", copy=False).tobytes())
        return content.hexdigest()

    return VectorSource(label, format, "row", batches(), lambda: share[0], digest)


def _read_matrix(vectors: Any) -> Points:
    """Return the numbers in float32. Raise ValueError if they are complex or masked."""
    found = np.asanyarray(vectors)
    if found.dtype.kind == "c" or (isinstance(found, np.ma.MaskedArray) and np.ma.is_masked(found)):
        raise ValueError(found.dtype)
    return np.asarray(found, dtype=np.float32)
