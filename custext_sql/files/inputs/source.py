"""Rows that DuckDB can read from files or tables: which columns they have, and how to select them unchanged."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import duckdb

from custext_sql.errors import SourceError, tell_type
from custext_sql.parameters import check_type, count_of, find_closest
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.quoting import quote_name, quote_text

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

    def find_text_column(self, name: str, typed: Collection[str] = ()) -> str:
        """Return the column of that name; SourceError if it does not hold texts."""
        column = self.find_column(name, typed)
        kind = self.columns[column]
        if not kind.startswith(_STRINGS if self.format == "json" else ("VARCHAR", "ENUM")) or kind.endswith("]"):
            raise SourceError(f"{self.name}: expected text in column {column!r}, found {tell_type(kind)}")
        return column

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


def choose_reader(source: Source, chosen: Sequence[str], record: str | None, target_format: str) -> str:
    """Return what to select from so that columns that are not sanitized stay unchanged.

    A record is the text in the file, whatever the output format, so its column is never converted.
    """
    if source.exact_reader is not None:
        if target_format in ("csv", "tsv"):
            return source.exact_reader
        types = "" if record is None else f", types = {{{quote_text(record)}: 'VARCHAR'}}"
        return f"{source.reader[:-1]}{types})"
    if source.format == "json":
        texts = (*chosen, *(() if record is None or target_format == "json" else (record,)))
        kinds = source.columns if target_format != "json" else dict.fromkeys(source.columns, "JSON")
        kinds = kinds | dict.fromkeys(texts, "VARCHAR")
        listed = ", ".join(f"{quote_text(column)}: {quote_text(kind)}" for column, kind in kinds.items())
        return f"{source.reader[:-1]}, columns = {{{listed}}})"
    return source.reader


def read_record(source: Source, record: str, target_format: str) -> str:
    """Return SQL for the text of a row's record."""
    column = quote_name(record)
    is_json = source.format == target_format == "json"
    return f"({column} ->> '$')" if is_json else f"CAST({column} AS VARCHAR)"


def describe_columns(connection: duckdb.DuckDBPyConnection, reader: str) -> dict[str, str]:
    """Return the names and types of the columns that a reader returns."""
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {reader}").fetchall()}


def is_custext(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether a connection is to a custext database."""
    with safe_errors():
        names = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    return names >= {"alembic_version", "mappings", "score_rows"}


def open_table(connection: duckdb.DuckDBPyConnection, name: str, table: str) -> Source:
    """Return a table or view of a connection as a source. name: what errors call the DuckDB file.

    The table must be in the catalog: DuckDB would take an unknown name for a file, whose first line may be data.
    """
    check_type(table, str, "table must be a name")
    with safe_errors():
        known = connection.execute(
            "SELECT database_name, schema_name, table_name AS name, estimated_size FROM duckdb_tables() UNION ALL "
            "SELECT database_name, schema_name, view_name, NULL FROM duckdb_views() WHERE NOT internal "
            "ORDER BY schema_name <> 'main', name"
        ).fetchall()
        found: dict[str, tuple[tuple[str, ...], int | None]] = {}
        for *parts, size in known:
            for first in (2, 1, 0):  # the name alone, with its schema, with its database
                found.setdefault(".".join(parts[first:]).lower(), (tuple(parts), size))
        if table.lower() not in found:
            names = list(dict.fromkeys(row[2] for row in known))
            nearest = find_closest(table, names)
            tables = f"tables: {', '.join(names)}" if names else "the file has no tables"
            raise SourceError(
                f"{name}: table {table!r} does not exist; {f'did you mean {nearest!r}?' if nearest else tables}"
            )
        path, rows = found[table.lower()]
        reader = ".".join(map(quote_name, path))
        columns = describe_columns(connection, reader)
        return Source(f"{name}, table {table}", "table", reader, columns, table=(path[1], path[2]), rows=rows)
