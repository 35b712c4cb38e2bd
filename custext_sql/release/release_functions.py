"""DuckDB functions for one release, over all sanitized columns of a row at once, so that rows can be counted."""

from collections.abc import Sequence
from functools import reduce
from operator import add

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import FunctionNullHandling, PythonUDFType

from custext_sql.arrays import Flags
from custext_sql.replacing.counts import Counts, join_counts
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizer import Sanitizer
from custext_sql.sql.query_errors import remembering
from custext_sql.text.columns import TextColumn

RELEASE, SPEND = "custext_release", "custext_spend"


class ReleaseFunctions:
    """RELEASE returns the sanitized columns of a row, SPEND the eps that this spends.

    A row is a struct: c0, c1, ..., record. keyed: whether rows have records, for draws from a key. `tally` counts what
    RELEASE drew.
    """

    def __init__(self, sanitizer: Sanitizer, columns: Sequence[str], *, keyed: bool) -> None:
        self.tally = Tally()
        self._sanitizer = sanitizer
        self._columns = list(columns)
        self._keyed = keyed

    def register(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create the functions on a connection; they work as long as this object exists."""
        texts = [f"c{number} VARCHAR" for number in range(len(self._columns))]
        row = f"STRUCT({', '.join([*texts, *(['record VARCHAR'] if self._keyed else [])])})"
        self._functions = {
            RELEASE: remembering(self._release),
            SPEND: remembering(self._spend),
        }  # DuckDB does not keep them alive
        for name, result in ((RELEASE, f"STRUCT({', '.join(texts)})"), (SPEND, "DOUBLE")):
            connection.create_function(
                name,
                self._functions[name],
                [row],
                result,
                type=PythonUDFType.ARROW,
                null_handling=FunctionNullHandling.SPECIAL,
                side_effects=True,  # without it, DuckDB merges equal calls, and rows would share a draw
            )

    def _release(self, rows: pa.ChunkedArray) -> pa.Array:
        whole = _as_array(rows)
        key = self._sanitizer.key
        records = pc.struct_field(whole, len(self._columns)).to_pylist() if self._keyed else None
        counts: list[Counts] = []
        missing = np.ones(len(whole), dtype=bool)
        done = []
        for number, name in enumerate(self._columns):
            column = TextColumn.from_arrow(pc.struct_field(whole, number))
            known_by = None if records is None or key is None else key.name_records(name, records)
            collected = _Collected(self.tally)
            new = self._sanitizer.sanitize_column(column, records=known_by, tally=collected)
            counts.append(collected.join())
            missing &= False if column.missing is None else column.missing
            done.append(new.to_arrow())
        self.tally.add(_add(counts), missing=missing)
        return pa.StructArray.from_arrays(done, names=[f"c{number}" for number in range(len(done))])

    def _spend(self, rows: pa.ChunkedArray) -> pa.Array:
        whole = _as_array(rows)
        spent = np.zeros(len(whole))
        for number in range(len(self._columns)):
            column = TextColumn.from_arrow(pc.struct_field(whole, number))
            spent += self._sanitizer.spend(column)
        return pa.array(spent)


class _Collected:
    """Stands in for a tally: collects what each row spent, and passes the keyed sum on to the tally."""

    def __init__(self, tally: Tally) -> None:
        self._parts: list[Counts] = []
        self.add_sum = tally.add_sum

    def add(self, counts: Counts, *, missing: Flags | None = None) -> None:
        self._parts.append(counts)

    def join(self) -> Counts:
        return join_counts(self._parts)


def _add(counts: Sequence[Counts]) -> Counts:
    """Return the counts of several columns added up, row by row."""
    return reduce(add, counts)


def _as_array(rows: pa.ChunkedArray) -> pa.Array:
    return rows.chunk(0) if rows.num_chunks == 1 else pa.concat_arrays(rows.chunks)
