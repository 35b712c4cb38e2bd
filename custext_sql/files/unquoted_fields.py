"""Outputs without quotes: no field of them may contain what separates fields or rows."""

from collections.abc import Iterable
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from custext_sql.errors import OutputError
from custext_sql.files.inputs.source import Source
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.quoting import quote_name, quote_text


@dataclass(frozen=True)
class UnquotedFields:
    """The fields of an output that is written without quotes. name: what errors call the input."""

    name: str
    delimiter: str

    def check_copied(
        self, connection: duckdb.DuckDBPyConnection, source: Source, reader: str, copied: Iterable[str]
    ) -> None:
        """Raise an OutputError if a column's name, or a field that is copied, would need quotes."""
        if source.delimiter == self.delimiter:
            return  # it was read by the same rules
        if any(self.delimiter in column for column in source.columns):
            raise self._refuse()
        found = " OR ".join(f"contains({quote_name(column)}, {quote_text(self.delimiter)})" for column in copied)
        with safe_errors():
            if found and fetch(connection, f"SELECT 1 FROM {reader} WHERE {found} LIMIT 1"):
                raise self._refuse()

    def check_sanitized(self, columns: Iterable[pa.Array]) -> None:
        """Raise an OutputError if a sanitized text would need quotes."""
        for texts in columns:
            for mark in (self.delimiter, "\n", "\r"):
                if pc.any(pc.match_substring(texts, mark)).as_py():
                    raise self._refuse()

    def _refuse(self) -> OutputError:
        mark = "a tab" if self.delimiter == "\t" else repr(self.delimiter)
        return OutputError(
            f"{self.name}: a field of the output would contain {mark} or a line end, which --no-quotes (in Python: "
            "quotes=False) cannot write to CSV or TSV; write to a .jsonl or .parquet file"
        )
