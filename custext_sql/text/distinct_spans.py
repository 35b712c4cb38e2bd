"""Finds the distinct spans of a text, so that slow work is done once per distinct word."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from custext_sql.arrays import Bytes, Places
from custext_sql.text.encoded_text import spread_out


@dataclass(frozen=True, eq=False)
class DistinctSpans:
    """Distinct spans end to end.

    offsets: where each begins and ends. numbers: for each given span, the number of its distinct span.
    """

    content: Bytes
    offsets: Places
    numbers: Places


def find_distinct(content: Bytes, starts: Places, ends: Places) -> DistinctSpans:
    """Return the distinct ones of some spans, in order of first occurrence."""
    lengths = ends - starts
    bounds = pa.py_buffer(np.append(0, np.cumsum(lengths)))
    buffers = [None, bounds, pa.py_buffer(content.take(spread_out(starts, lengths)))]
    encoded = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(starts), buffers).dictionary_encode()
    _, bounds, different = encoded.dictionary.buffers()
    offsets = np.frombuffer(bounds, dtype=np.int64)[: len(encoded.dictionary) + 1]
    numbers = encoded.indices.to_numpy().astype(np.int64)
    return DistinctSpans(np.frombuffer(different or b"", dtype=np.uint8)[: offsets[-1]], offsets, numbers)
