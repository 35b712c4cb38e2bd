"""Sanitizes all columns of a row together, so that what a row spends is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
import pyarrow as pa

from custext_sql.arrays import Flags
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sanitizer.tally import Counts, Tally, join_counts
from custext_sql.text.columns import TextColumn


@dataclass(frozen=True)
class RowSanitizer:
    """Sanitizes columns of rows. columns: their names, which are part of the records of texts."""

    sanitizer: Sanitizer
    columns: Sequence[str]

    def sanitize(self, texts: Sequence[pa.Array], ids: pa.Array | None, tally: Tally) -> list[pa.Array]:
        """Return the new texts, one array per column. ids: with a key, one per row. tally: counts the rows."""
        key = self.sanitizer.key
        identifiers = None if ids is None else ids.to_pylist()
        counts: list[Counts] = []
        missing = np.ones(len(texts[0]), dtype=bool)
        done = []
        for name, column in zip(self.columns, map(TextColumn.from_arrow, texts), strict=True):
            records = None if identifiers is None or key is None else key.name_records(name, identifiers)
            collected = _Collected()
            new = self.sanitizer.sanitize_column(column, records=records, named=True, tally=collected)
            counts.append(collected.join())
            missing &= False if column.missing is None else column.missing
            done.append(new.to_arrow())
        tally.add(reduce(add, counts), missing=missing)
        return done


class _Collected:
    """Stands in for a tally: collects what each row spent in a column."""

    def __init__(self) -> None:
        self._parts: list[Counts] = []

    def add(self, counts: Counts, *, missing: Flags | None = None) -> None:
        self._parts.append(counts)

    def join(self) -> Counts:
        return join_counts(self._parts)
