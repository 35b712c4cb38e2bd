"""Reads Arrow columns from their buffers. Arrow's own conversions load pandas if it is installed, which takes long."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from custext_sql.arrays import Scores


def read_integers(column: pa.ChunkedArray) -> npt.NDArray[np.int32]:
    """Return a column of 32-bit integers without NULLs."""
    return _join([_read_chunk(chunk) for chunk in column.chunks])


def read_text(column: pa.ChunkedArray) -> str:
    """Return the strings of a column end to end. No string may be NULL."""
    parts = []
    for chunk in column.chunks:
        bounds = _read_offsets(chunk)
        parts.append(memoryview(chunk.buffers()[2] or b"")[bounds[0] : bounds[-1]])
    return b"".join(parts).decode()


def read_lists(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int32], Scores | None]:
    """Return the length of each list of 32-bit integers, and all integers end to end; None if one of them is NULL.

    No list may be NULL.
    """
    bounds = [_read_offsets(chunk) for chunk in column.chunks]
    lengths = [np.diff(places) for places in bounds]
    values = [
        chunk.values.slice(places[0], places[-1] - places[0])
        for chunk, places in zip(column.chunks, bounds, strict=True)
    ]
    if any(chunk.null_count for chunk in values):
        return _join(lengths), None
    return _join(lengths), _join([_read_chunk(chunk) for chunk in values])


def _read_chunk(chunk: pa.Array) -> npt.NDArray[np.int32]:
    if not pa.types.is_int32(chunk.type) or chunk.null_count:
        raise TypeError(f"expected 32-bit integers without NULLs, found {chunk.null_count} NULLs and {chunk.type}")
    return np.frombuffer(chunk.buffers()[1] or b"", dtype=np.int32)[chunk.offset : chunk.offset + len(chunk)]


def _read_offsets(chunk: pa.Array) -> npt.NDArray[np.int32]:
    """Return where each string or list of a chunk begins and ends in its values."""
    if not (pa.types.is_string(chunk.type) or pa.types.is_list(chunk.type)) or chunk.null_count:
        raise TypeError(f"expected strings or lists without NULLs, found {chunk.null_count} NULLs and {chunk.type}")
    return np.frombuffer(chunk.buffers()[1], dtype=np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]


def _join(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=np.int32), *arrays]) if len(arrays) != 1 else arrays[0]
