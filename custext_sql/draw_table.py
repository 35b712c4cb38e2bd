"""From draws to outputs: the thresholds of rows of weights, and shortcuts to them. Pure NumPy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from custext_sql.mechanism import Weights
from custext_sql.randomness import Draws

Numbers = npt.NDArray[np.int64]
Shortcuts = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]

_SHORTCUTS_PER_OUTPUT = 12  # at least: fewer are ambiguous more often, more take more memory


@dataclass(frozen=True, eq=False)
class DrawTable:
    """Rows of weights that sum to 2**64, as the last draw that falls to each output of a row.

    shortcuts: for each row, and for each value of a draw's highest bits, the output to which all such draws fall; the
    greatest number that fits in where they fall to several, so that all 64 bits have to decide.
    """

    last_draws: Weights
    starts: Numbers  # of rows
    sizes: Numbers  # of rows
    shortcuts: Shortcuts
    bits: int

    @classmethod
    def make(cls, last_draws: Weights, sizes: Numbers, largest: int) -> "DrawTable":
        """A table of rows with so many outputs each, none with more than `largest`."""
        bits = (_SHORTCUTS_PER_OUTPUT * largest).bit_length()
        starts = np.cumsum(sizes) - sizes
        return cls(last_draws, starts, sizes, _make_shortcuts(last_draws, starts, sizes, largest, bits), bits)

    def __len__(self) -> int:
        return len(self.sizes)

    def __add__(self, other: "DrawTable") -> "DrawTable":
        """The rows of this table, then those of another for the same largest size."""
        return DrawTable(
            np.concatenate([self.last_draws, other.last_draws]),
            np.concatenate([self.starts, other.starts + len(self.last_draws)]),
            np.concatenate([self.sizes, other.sizes]),
            np.concatenate([self.shortcuts, other.shortcuts]),
            self.bits,
        )

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self.last_draws, self.starts, self.sizes, self.shortcuts))

    def choose(self, rows: Numbers, draws: Draws) -> Numbers:
        """The place, within its row, of the output to which each draw falls: so many thresholds lie below it."""
        places = (draws >> np.uint64(64 - self.bits)).view(np.int64)
        places += rows << self.bits
        found = self.shortcuts.take(places)
        several = (found == np.iinfo(found.dtype).max).nonzero()[0]
        chosen = found.astype(np.int64)
        chosen[several] = self._bisect(rows.take(several), draws.take(several))
        return chosen

    def row(self, row: int) -> list[int]:
        """The weights of a row."""
        start = int(self.starts[row])
        ends = self.last_draws[start : start + int(self.sizes[row])].tolist()
        return [end - before for before, end in zip([-1, *ends], ends, strict=False)]

    def _bisect(self, rows: Numbers, draws: Draws) -> Numbers:
        starts, last = self.starts.take(rows), self.sizes.take(rows) - 1
        below = np.zeros(len(rows), dtype=np.int64)
        step = 1 << int(last.max(initial=0)).bit_length()
        while step := step >> 1:
            middle = np.minimum(below + (step - 1), last)  # the last threshold lies below no draw
            middle += starts
            below += (self.last_draws.take(middle) < draws) * step
        return below


def _make_shortcuts(last_draws: Weights, starts: Numbers, sizes: Numbers, largest: int, bits: int) -> Shortcuts:
    """A threshold decides on the draws that share its highest bits; for all others only how many lie below counts."""
    kind: Any = np.uint8 if largest < np.iinfo(np.uint8).max else np.uint16
    thresholds = np.delete(last_draws, starts + sizes - 1)  # the last of a row is no threshold: no draw lies above it
    places = (thresholds >> np.uint64(64 - bits)).view(np.int64)
    places += np.repeat(np.arange(len(sizes)) << bits, sizes - 1)
    counts = np.bincount(places, minlength=len(sizes) << bits).astype(kind).reshape(len(sizes), 1 << bits)
    shortcuts: Shortcuts = np.cumsum(counts, axis=1, dtype=kind)
    shortcuts[counts > 0] = np.iinfo(kind).max
    return shortcuts.ravel()
