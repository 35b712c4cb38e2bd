"""Collects which records and texts a key drew for, as digests: what each record has spent follows from them."""

import tempfile
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Numbers

PREFIXES = 256  # parts of a log, by the first byte of the digest of the record
DRAWN = np.dtype([("record", "<u8"), ("text", "<u8"), ("words", "<u4")])  # digests, and the words drawn: 20 bytes
Drawn = npt.NDArray[np.void]  # of the type DRAWN

_RUN = 1 << 17  # draws to collect in memory before they go to a file


def no_draws() -> Drawn:
    """Return an array without draws."""
    return np.zeros(0, dtype=DRAWN)


def sort_draws(draws: Drawn) -> Drawn:
    """Return draws in the order of their records."""
    return draws[np.argsort(np.ascontiguousarray(draws["record"]))]


def find_prefixes(draws: Drawn) -> Numbers:
    """Return where the draws of each prefix begin, and where the last ones end, in sorted draws."""
    edges = np.arange(PREFIXES, dtype=np.uint64) << np.uint64(56)
    return np.append(np.ascontiguousarray(draws["record"]).searchsorted(edges), len(draws))


class RecordLog:
    """The draws of a release, by prefix. Most of those of a long release are in a private file without a name."""

    def __init__(self) -> None:
        self._file: BinaryIO | None = None
        self.clear()

    def clear(self) -> None:
        """Forget all draws."""
        self._new: list[Drawn] = []
        self._pending = 0
        self._runs: list[tuple[Drawn | int, Numbers]] = []  # sorted draws or where they begin in the file; their places
        if self._file is not None:
            self._file.close()
        self._file = None

    def __del__(self) -> None:
        self.clear()

    def add(self, draws: Drawn) -> None:
        """Add draws, in any order."""
        if len(draws):
            self._new.append(draws)
            self._pending += len(draws)
            if self._pending >= _RUN:
                self._end_run(to_file=True)

    def __bool__(self) -> bool:
        return bool(self._new or self._runs)

    def take_all(self) -> Drawn:
        """Return all draws, for a log of a few texts."""
        return np.concatenate([no_draws(), *(self.read(prefix) for prefix in range(PREFIXES))])

    def read(self, prefix: int) -> Drawn:
        """Return all draws with a prefix."""
        if self._new:
            self._end_run(to_file=False)
        found = [no_draws()]
        for run, places in self._runs:
            first, last = int(places[prefix]), int(places[prefix + 1])
            if isinstance(run, int):
                assert self._file is not None
                self._file.seek(run + first * DRAWN.itemsize)
                found.append(np.frombuffer(self._file.read((last - first) * DRAWN.itemsize), dtype=DRAWN))
            else:
                found.append(run[first:last])
        return np.concatenate(found)

    def _end_run(self, *, to_file: bool) -> None:
        draws = sort_draws(np.concatenate(self._new))
        self._new, self._pending = [], 0
        run: Drawn | int = draws
        if to_file:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="custext-")  # noqa: SIM115  (closed with the log)
            run = self._file.seek(0, 2)
            self._file.write(draws.tobytes())
        self._runs.append((run, find_prefixes(draws)))
