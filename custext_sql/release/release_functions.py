"""DuckDB functions for one release, over all sanitized columns of a row at once, so that rows can be counted."""

from collections.abc import Sequence

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import FunctionNullHandling, PythonUDFType

from custext_sql.release.row_sanitizer import RowSanitizer
from custext_sql.release.unquoted_fields import UnquotedFields
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizing.sanitizer import Sanitizer
from custext_sql.sql.query_errors import remembering

RELEASE, SPEND = "custext_release", "custext_spend"


class ReleaseFunctions:
    """RELEASE returns the sanitized columns of a row, SPEND the eps that this spends.

    A row is a struct: c0, c1, ..., record. keyed: whether rows have records, for draws from a key. unquoted: checks new
    texts that are written without quotes. `tally` counts what RELEASE drew.
    """

    def __init__(
        self, sanitizer: Sanitizer, columns: Sequence[str], *, keyed: bool, unquoted: UnquotedFields | None = None
    ) -> None:
        self.tally = Tally()
        self._rows = RowSanitizer(sanitizer, list(columns))
        self._keyed, self._unquoted = keyed, unquoted

    def register(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create the functions on a connection; they work as long as this object exists."""
        texts = [f"c{number} VARCHAR" for number in range(len(self._rows.columns))]
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
        texts, ids = self._open(rows)
        done = self._rows.sanitize(texts, ids, self.tally)
        if self._unquoted is not None:
            self._unquoted.check_sanitized(done)
        return pa.StructArray.from_arrays(done, names=[f"c{number}" for number in range(len(done))])

    def _spend(self, rows: pa.ChunkedArray) -> pa.Array:
        return pa.array(self._rows.spend(self._open(rows)[0]))

    def _open(self, rows: pa.ChunkedArray) -> tuple[list[pa.Array], pa.Array | None]:
        whole = rows.chunk(0) if rows.num_chunks == 1 else pa.concat_arrays(rows.chunks)
        count = len(self._rows.columns)
        texts = [pc.struct_field(whole, number) for number in range(count)]
        return texts, pc.struct_field(whole, count) if self._keyed else None
