"""Names of tables that are to be made, as SQL writes them: with a schema or without, quoted or not."""

import re
from dataclasses import dataclass

import duckdb

from custext_sql.errors import OutputError
from custext_sql.release.inputs.source import Source
from custext_sql.store.files.quoting import quote_name

_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')  # of a name


@dataclass(frozen=True)
class NewTable:
    """A table to be made."""

    schema: str
    name: str

    def __str__(self) -> str:
        return self.name if self.schema == "main" else f"{self.schema}.{self.name}"

    @property
    def quoted(self) -> str:
        """Return the name as SQL writes it."""
        return f"{quote_name(self.schema)}.{quote_name(self.name)}"

    def check(self, connection: duckdb.DuckDBPyConnection, source: Source, *, force: bool) -> None:
        """Refuse to write over the input, or over something else unless `force` says so; views are never replaced."""
        tables, views = (self._exists(connection, kind) for kind in ("table", "view"))
        if source.table is not None and _fold(*source.table) == _fold(self.schema, self.name):
            raise OutputError(f"{self} is the input; name another output")
        if views:
            raise OutputError(f"there is a view {self} already; name another output")
        if tables and not force:
            raise OutputError(f"there is a table {self} already; --force replaces it")
        if tables and source.table is not None and NewTable(*source.table)._exists(connection, "view"):
            raise OutputError(
                "the input is a view, which may read the table that --force would replace; name a new one"
            )

    def _exists(self, connection: duckdb.DuckDBPyConnection, kind: str) -> bool:
        rows = connection.execute(
            f"SELECT schema_name, {kind}_name FROM duckdb_{kind}s() "
            "WHERE NOT internal AND database_name = current_database()"
        ).fetchall()
        return _fold(self.schema, self.name) in {_fold(schema, name) for schema, name in rows}


def find_new_table(connection: duckdb.DuckDBPyConnection, given: str) -> NewTable:
    """Return the table of that name, whose schema must be there; without one, it is in the schema main."""
    parts = [quoted.replace('""', '"') or plain for quoted, plain in _PART.findall(given)]
    spelled = ".".join(match[0] for match in _PART.finditer(given))
    if spelled != given or not 1 <= len(parts) <= 2:
        raise OutputError(
            "the name of the new table must be NAME or SCHEMA.NAME; put a part with a dot in double quotes"
        )
    schema, name = ("main", parts[0]) if len(parts) == 1 else parts
    rows = connection.execute(
        "SELECT schema_name FROM duckdb_schemas() WHERE NOT internal AND database_name = current_database()"
    ).fetchall()
    known = {found.lower(): found for (found,) in rows} | {"main": "main"}
    if schema.lower() not in known:
        raise OutputError(
            f"there is no schema {schema} for the new table; create it, or use one of: {', '.join(known.values())}"
        )
    return NewTable(known[schema.lower()], name)


def _fold(schema: str, name: str) -> tuple[str, str]:
    return schema.lower(), name.lower()
