"""Maps draws to outputs, by thresholds of rows of weights and shortcuts to them. Pure NumPy."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Draws, Numbers, Weights

Shortcuts = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]

_SHORTCUTS_PER_OUTPUT = 12  # at least; fewer are ambiguous more often, more take more memory


@dataclass(frozen=True, eq=False)
class DrawTable:
    """Rows of weights that sum to 2**64, stored as the last draw that selects each output of a row.

    shortcuts: for each row and each value of a draw's highest bits, the output that all such draws select. If they
    select several outputs, the largest number of the type is stored instead, and all 64 bits decide. Shortcuts pay off
    only for many draws.
    """

    last_draws: Weights
    starts: Numbers  # of rows
    sizes: Numbers  # of rows
    largest: int  # largest size of any row, including rows added later
    shortcuts: Shortcuts | None = None

    @classmethod
    def make(cls, last_draws: Weights, sizes: Numbers, largest: int) -> "DrawTable":
        """Return a table of rows. sizes: outputs per row. largest: the largest size of any row, also of later ones."""
        return cls(last_draws, np.cumsum(sizes) - sizes, sizes, largest)

    def with_shortcuts(self) -> "DrawTable":
        """Return this table with shortcuts."""
        return self if self.shortcuts is not None else replace(self, shortcuts=self._make_shortcuts())

    def __len__(self) -> int:
        return len(self.sizes)

    def __add__(self, other: "DrawTable") -> "DrawTable":
        """Return the rows of this table and then those of another with the same `largest`.

        The result has shortcuts if this table has.
        """
        shortcuts = self.shortcuts
        if shortcuts is not None:
            shortcuts = np.concatenate([shortcuts, other.with_shortcuts().shortcuts])
        return DrawTable(
            np.concatenate([self.last_draws, other.last_draws]),
            np.concatenate([self.starts, other.starts + len(self.last_draws)]),
            np.concatenate([self.sizes, other.sizes]),
            self.largest,
            shortcuts,
        )

    @property
    def nbytes(self) -> int:
        """Memory of the arrays, in bytes."""
        parts = (self.last_draws, self.starts, self.sizes, self.shortcuts)
        return sum(part.nbytes for part in parts if part is not None)

    @property
    def _bits(self) -> int:
        return (_SHORTCUTS_PER_OUTPUT * self.largest).bit_length()

    def choose(self, rows: Numbers, draws: Draws) -> Numbers:
        """Return the index, within its row, of the output that each draw selects: the number of thresholds below it."""
        if self.shortcuts is None:
            return self._bisect(rows, draws)
        places = (draws >> np.uint64(64 - self._bits)).view(np.int64)
        places += rows << self._bits
        found = self.shortcuts.take(places)
        several = (found == np.iinfo(found.dtype).max).nonzero()[0]
        chosen = found.astype(np.int64)
        chosen[several] = self._bisect(rows.take(several), draws.take(several))
        return chosen

    def row(self, row: int) -> list[int]:
        """Return the weights of a row."""
        start = int(self.starts[row])
        ends = self.last_draws[start : start + int(self.sizes[row])].tolist()
        return [end - before for before, end in zip([-1, *ends], ends, strict=False)]

    def _bisect(self, rows: Numbers, draws: Draws) -> Numbers:
        starts, last = self.starts.take(rows), self.sizes.take(rows) - 1
        below = np.zeros(len(rows), dtype=np.int64)
        step = 1 << int(last.max(initial=0)).bit_length()
        while step := step >> 1:
            middle = np.minimum(below + (step - 1), last)  # the last threshold is not below any draw
            middle += starts
            below += (self.last_draws.take(middle) < draws) * step
        return below

    def _make_shortcuts(self) -> Shortcuts:
        """Return the shortcuts.

        Draws that share the highest bits of a threshold are ambiguous. The others select the number of thresholds below
        them.
        """
        kind: Any = np.uint8 if self.largest < np.iinfo(np.uint8).max else np.uint16
        thresholds = np.delete(self.last_draws, self.starts + self.sizes - 1)  # no draw is above the last one of a row
        places = (thresholds >> np.uint64(64 - self._bits)).view(np.int64)
        places += np.repeat(np.arange(len(self)) << self._bits, self.sizes - 1)
        counts = np.bincount(places, minlength=len(self) << self._bits).astype(kind).reshape(len(self), 1 << self._bits)
        shortcuts: Shortcuts = np.cumsum(counts, axis=1, dtype=kind)
        shortcuts[counts > 0] = np.iinfo(kind).max
        return shortcuts.ravel()
