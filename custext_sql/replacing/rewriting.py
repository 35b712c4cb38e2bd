"""Rewrites texts with some words replaced and everything else unchanged, byte for byte."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from custext_sql.arrays import Bytes, Flags, Places
from custext_sql.text.encoded_text import spread_out

_FEW = 1000  # strings


class Rewriting:
    """Texts end to end, cut into pieces at word boundaries, and the string to write for each piece.

    Strings have numbers: first the pieces themselves (alternately the text between words and a word), then the strings
    that are added.
    """

    def __init__(self, text: Bytes, starts: Places, ends: Places) -> None:
        cuts = np.empty(2 * len(starts) + 2, dtype=np.int64)
        cuts[0], cuts[1:-1:2], cuts[2:-1:2], cuts[-1] = 0, starts, ends, len(text)
        self._cuts = cuts
        self._chosen = np.arange(len(cuts) - 1)
        self._texts = [text]
        self._bounds = [cuts]
        self._size, self._count = len(text), len(self._chosen)

    def add(self, text: Bytes, offsets: Places) -> int:
        """Add strings, given end to end, and return the number of the first."""
        first = self._count
        self._texts.append(text)
        self._bounds.append(offsets[1:] + self._size)
        self._size, self._count = self._size + len(text), first + len(offsets) - 1
        return first

    def replace(self, words: Places, strings: Places | int) -> None:
        """Set the string, by number, to write for each of these words."""
        self._chosen[2 * words + 1] = strings

    def keep(self, words: Places) -> None:
        """Undo the replacement of these words."""
        self._chosen[2 * words + 1] = 2 * words + 1

    def find_kept(self) -> Flags:
        """Return for each word whether it is kept."""
        kept: Flags = self._chosen[1::2] == np.arange(1, len(self._chosen), 2)
        return kept

    def write(self, offsets: Places) -> tuple[Bytes, Places, Places]:
        """Return the new texts, where each begins and ends, and where their pieces do. offsets: of the old texts."""
        new_text, new_cuts = (self._copy if len(self._chosen) <= _FEW else self._take)()
        pieces = self._cuts.searchsorted(offsets, "right") - 1
        beyond = offsets - self._cuts.take(pieces)
        new_offsets = new_cuts.take(pieces) + beyond
        within = ((pieces & 1 == 1) & (beyond > 0)).nonzero()[0]  # of a unit that spans several tokens
        within = within[self._chosen[pieces[within]] != pieces[within]]
        new_offsets[within] = new_cuts[pieces[within] + 1]  # the first of them gets the mask
        return new_text, new_offsets, new_cuts

    def _take(self) -> tuple[Bytes, Places]:
        """Return the chosen strings end to end, and where each begins and ends."""
        bounds, text = pa.py_buffer(_join(self._bounds)), pa.py_buffer(_join(self._texts))
        strings = pa.LargeBinaryArray.from_buffers(pa.large_binary(), self._count, [None, bounds, text])
        chosen = pa.Array.from_buffers(pa.int64(), len(self._chosen), [None, pa.py_buffer(self._chosen)])
        _, new_bounds, content = strings.take(chosen).buffers()
        new_cuts = np.frombuffer(new_bounds, dtype=np.int64)
        return np.frombuffer(content or b"", dtype=np.uint8)[: new_cuts[-1]], new_cuts

    def _copy(self) -> tuple[Bytes, Places]:
        """Return the same without Arrow's functions, which take longer to load than few strings to copy."""
        bounds = np.concatenate(self._bounds)
        lengths = bounds[self._chosen + 1] - bounds[self._chosen]
        places = spread_out(bounds[self._chosen], lengths)
        return np.concatenate(self._texts).take(places), np.append(0, np.cumsum(lengths))


def _join(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return arrays end to end. Unlike `concatenate`, this lets other threads run."""
    joined = np.empty(sum(map(len, arrays)), dtype=arrays[0].dtype)
    start = 0
    for array in arrays:
        joined[start : start + len(array)] = array
        start += len(array)
    return joined
