"""Names of new tables as SQL writes them: with or without a schema, quoted or not."""

import re
from dataclasses import dataclass

import duckdb

from custext_sql.errors import OutputError, tell_type
from custext_sql.store.quoting import quote_name

_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')  # a part of a name


@dataclass(frozen=True)
class NewTable:
    """A table that is to be created."""

    schema: str
    name: str

    def __str__(self) -> str:
        return self.name if self.schema == "main" else f"{self.schema}.{self.name}"

    @property
    def quoted(self) -> str:
        """The name as SQL writes it."""
        return f"{quote_name(self.schema)}.{quote_name(self.name)}"

    @property
    def folded(self) -> tuple[str, str]:
        """The schema and the name in lower case."""
        return self.schema.lower(), self.name.lower()

    def check(
        self,
        connection: duckdb.DuckDBPyConnection,
        source: tuple[str, str] | None = None,
        *,
        force: bool = False,
        append: bool = False,
    ) -> None:
        """Raise an OutputError for the input itself, for a view, and for any existing table unless `force` or `append`.

        source: schema and name of the table or view that is read while this table is written, if any.
        """
        tables, views = (self.exists(connection, kind) for kind in ("table", "view"))
        if source is not None and NewTable(*source).folded == self.folded:
            raise OutputError(f"table {self} is the input; give the output another name")
        if views:
            raise OutputError(f"view {self} already exists; give the output another name")
        if tables and not (force or append):
            raise OutputError(f"table {self} already exists; to overwrite it, use --force (in Python: force=True)")
        if tables and not append and source is not None and NewTable(*source).exists(connection, "view"):
            raise OutputError(
                f"the input is a view, and may read table {self}, which would be overwritten; give the output another "
                "name"
            )

    def exists(self, connection: duckdb.DuckDBPyConnection, kind: str) -> bool:
        """Return whether there is a table or a view of this name. kind: "table" or "view"."""
        return self.folded in {NewTable(*row).folded for row in _list(connection, kind, f"{kind}_name")}


def find_new_table(connection: duckdb.DuckDBPyConnection, given: str) -> NewTable:
    """Return the new table of that name; its schema must exist, and is main if not given."""
    parts = [quoted.replace('""', '"') or plain for quoted, plain in _PART.findall(given)]
    spelled = ".".join(match[0] for match in _PART.finditer(given))
    if spelled != given or not 1 <= len(parts) <= 2:
        raise OutputError(
            "the name of the new table must be NAME or SCHEMA.NAME; a part that contains a dot goes in double quotes"
        )
    schema, name = ("main", parts[0]) if len(parts) == 1 else parts
    known = {found.lower(): found for found, _ in _list(connection, "schema", "NULL")} | {"main": "main"}
    if schema.lower() not in known:
        raise OutputError(f"schema {schema!r} does not exist; create it, or use one of: {', '.join(known.values())}")
    return NewTable(known[schema.lower()], name)


def _list(connection: duckdb.DuckDBPyConnection, kind: str, name: str) -> list[tuple[str, str]]:
    """Return the schemas and names of all tables, views or schemas of the current database."""
    return connection.execute(
        f"SELECT schema_name, {name} FROM duckdb_{kind}s() WHERE NOT internal AND database_name = current_database()"
    ).fetchall()


def check_same_columns(
    connection: duckdb.DuckDBPyConnection, table: NewTable, query: str, same_type: str | None = None
) -> None:
    """Raise an OutputError unless a query returns the columns of the table that its rows go to, in any order.

    same_type: the column that must also have the same type, because values of it are compared.
    """
    expected, found = (
        {row[0].lower(): row[1] for row in connection.execute(f"DESCRIBE {what}").fetchall()}
        for what in (table.quoted, query)
    )
    if sorted(expected) != sorted(found):
        raise OutputError(
            f"table {table} has other columns than the rows to append: {', '.join(expected)}; found {', '.join(found)}"
        )
    if same_type is not None and expected[same_type.lower()] != found[same_type.lower()]:
        raise OutputError(
            f"table {table}: column {same_type!r} is {tell_type(expected[same_type.lower()])}, but "
            f"{tell_type(found[same_type.lower()])} in the input, so IDs cannot be compared; give both the same type"
        )
