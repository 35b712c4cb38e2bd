"""The DuckDB function of a release, over all sanitized columns of a row at once, so that rows can be counted."""

from collections.abc import Sequence

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from custext_sql.files.row_sanitizer import RowSanitizer
from custext_sql.files.unquoted_fields import UnquotedFields
from custext_sql.ledger.release import Release
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sql.functions import create_function

RELEASE = "custext_release"


def register_rows(
    connection: duckdb.DuckDBPyConnection,
    release: Release[Sanitizer],
    columns: Sequence[str],
    *,
    keyed: bool,
    unquoted: UnquotedFields | None = None,
) -> None:
    """Create the function RELEASE: it returns the sanitized columns of a row, and counts it in the tally.

    A row is a struct: c0, c1, ..., record. keyed: whether rows have records, for draws from a key. unquoted: checks new
    texts that are written without quotes.
    """
    rows, count = RowSanitizer(release.sanitizer, list(columns)), len(columns)

    def sanitize_rows(given: pa.ChunkedArray) -> pa.Array:
        whole = given.chunk(0) if given.num_chunks == 1 else pa.concat_arrays(given.chunks)
        texts = [pc.struct_field(whole, number) for number in range(count)]
        done = rows.sanitize(texts, pc.struct_field(whole, count) if keyed else None, release.tally)
        if unquoted is not None:
            unquoted.check_sanitized(done)
        return pa.StructArray.from_arrays(done, names=[f"c{number}" for number in range(count)])

    texts = [f"c{number} VARCHAR" for number in range(count)]
    row = f"STRUCT({', '.join([*texts, *(['record VARCHAR'] if keyed else [])])})"
    create_function(connection, RELEASE, sanitize_rows, [row], f"STRUCT({', '.join(texts)})")
