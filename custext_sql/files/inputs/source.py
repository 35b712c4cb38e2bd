"""Rows that DuckDB can read from files or tables: how to select them, and which columns they have."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import duckdb

from custext_sql.errors import SourceError, tell_type
from custext_sql.parameters import count_of, find_closest

# Types that DuckDB finds in strings of JSON, which are texts there.
_STRINGS = ("VARCHAR", "DATE", "TIME", "TIMESTAMP", "UUID", '"NULL"')
_UNVERIFIED = {"csv": "named in its first line", "tsv": "named in its first line", "json": "the keys of its objects"}


@dataclass(frozen=True)
class Source:
    """Where texts come from.

    `reader` is SQL to select from. `exact_reader` leaves the values of copied columns as they are written in the file,
    for output in the same format. `quotes`: False for CSV and TSV files in which quotes are ordinary characters; output
    in these formats is then written without quoting. `header`: False for those whose columns are numbers. `is_array`:
    JSON files that are arrays of objects. `rows`: about how many there are, to show progress; None if unknown.
    """

    name: str
    format: str
    reader: str
    columns: dict[str, str]  # names and types
    exact_reader: str | None = None
    delimiter: str = ","
    table: tuple[str, str] | None = None  # schema and name, as the catalog has them
    quotes: bool = True
    header: bool = True
    is_array: bool = False
    rows: int | None = None

    def find_column(self, name: str, typed: Collection[str] = ()) -> str:
        """Return the column of that name, ignoring case. typed: all names that the user gave for columns."""
        alike = [column for column in self.columns if column.lower() == name.lower()]
        if name in self.columns or len(alike) == 1:
            return name if name in self.columns else alike[0]
        nearest = find_closest(name, self.list_names(typed))
        hint = f"did you mean {nearest!r}?" if nearest else self.tell_columns(typed)
        raise SourceError(f"{self.name}: column {name!r} does not exist; {hint}")

    def list_names(self, typed: Collection[str] = ()) -> list[str]:
        """Return the names of columns that a message may list.

        The first line of a CSV file is data if there is no header, and keys of JSON objects may be data too. They count
        as names only if a name that the user typed is among them.
        """
        known = {column.lower() for column in self.columns}
        is_named = self.format not in _UNVERIFIED or any(name.lower() in known for name in typed)
        return list(self.columns) if is_named or not self.header else []

    def tell_columns(self, typed: Collection[str] = ()) -> str:
        """Return a list of the columns, or else their number and where their names are expected."""
        names = self.list_names(typed)
        if names or self.format not in _UNVERIFIED:
            return f"columns: {', '.join(names)}"
        return f"the file has {count_of(len(self.columns), 'column')}, {_UNVERIFIED[self.format]}"

    def find_text_column(self, name: str, typed: Collection[str] = ()) -> str:
        """Return the column of that name; SourceError if it does not hold texts."""
        column = self.find_column(name, typed)
        kind = self.columns[column]
        if not kind.startswith(_STRINGS if self.format == "json" else ("VARCHAR", "ENUM")) or kind.endswith("]"):
            raise SourceError(f"{self.name}: expected text in column {column!r}, found {tell_type(kind)}")
        return column


def describe_columns(connection: duckdb.DuckDBPyConnection, reader: str) -> dict[str, str]:
    """Return the names and types of the columns that a reader returns."""
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {reader}").fetchall()}


def check_column_names(name: str, columns: Sequence[str]) -> None:
    """Raise a SourceError for names that DuckDB, which ignores case, would change: it could mix up two columns."""
    if len({column.lower() for column in columns}) < len(columns):
        raise SourceError(f"{name}: two columns have the same name, ignoring case; rename one of them")
