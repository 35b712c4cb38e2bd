"""Tables and views of a DuckDB file."""

import duckdb

from custext_sql.errors import SourceError
from custext_sql.parameters import find_closest
from custext_sql.release.inputs.source import Source, describe_columns
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.files.quoting import quote_name


def open_table(connection: duckdb.DuckDBPyConnection, name: str, table: str) -> Source:
    """Return a table or view of a connection as a source. name: of the DuckDB file, for errors.

    It must be in the catalog: DuckDB would take an unknown name for that of a file, whose first line may be data.
    """
    with safe_errors():
        known = connection.execute(
            "SELECT database_name, schema_name, table_name AS name FROM duckdb_tables() UNION ALL "
            "SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal "
            "ORDER BY schema_name <> 'main', name"
        ).fetchall()
        found: dict[str, tuple[str, ...]] = {}
        for parts in known:
            for given in (parts[2:], parts[1:], parts):  # the name alone, with its schema, with its database too
                found.setdefault(".".join(given).lower(), parts)
        if table.lower() not in found:
            names = list(dict.fromkeys(parts[-1] for parts in known))
            nearest = find_closest(table, names)
            hint = f"did you mean {nearest}?" if nearest else f"tables: {', '.join(names) or 'none'}"
            raise SourceError(f"{name}: there is no table {table}; {hint}")
        _, schema, exact = found[table.lower()]
        reader = ".".join(map(quote_name, found[table.lower()]))
        columns = describe_columns(connection, reader)
        return Source(f"{name}, table {table}", "table", reader, columns, table=(schema, exact))
