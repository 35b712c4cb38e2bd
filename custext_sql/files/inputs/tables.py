"""Tables and views of a DuckDB file."""

import duckdb

from custext_sql.errors import SettingError, SourceError
from custext_sql.files.inputs.source import Source, describe_columns
from custext_sql.parameters import find_closest
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.quoting import quote_name


def open_table(connection: duckdb.DuckDBPyConnection, name: str, table: str) -> Source:
    """Return a table or view of a connection as a source. name: what errors call the DuckDB file.

    The table must be in the catalog: DuckDB would take an unknown name for a file, whose first line may be data.
    """
    if not isinstance(table, str):
        raise SettingError(f"table must be a name; found {type(table).__name__}")
    with safe_errors():
        known = connection.execute(
            "SELECT database_name, schema_name, table_name AS name, estimated_size FROM duckdb_tables() UNION ALL "
            "SELECT database_name, schema_name, view_name, NULL FROM duckdb_views() WHERE NOT internal "
            "ORDER BY schema_name <> 'main', name"
        ).fetchall()
        found: dict[str, tuple[str, ...]] = {}
        sizes = {tuple(parts): size for *parts, size in known}
        for parts in sizes:
            for given in (parts[2:], parts[1:], parts):  # the name alone, with its schema, with its database
                found.setdefault(".".join(given).lower(), parts)
        if table.lower() not in found:
            names = list(dict.fromkeys(parts[-1] for parts in sizes))
            nearest = find_closest(table, names)
            tables = f"tables: {', '.join(names)}" if names else "the file has no tables"
            raise SourceError(
                f"{name}: table {table!r} does not exist; {f'did you mean {nearest!r}?' if nearest else tables}"
            )
        _, schema, exact = found[table.lower()]
        reader = ".".join(map(quote_name, found[table.lower()]))
        columns = describe_columns(connection, reader)
        size = sizes[found[table.lower()]]
        return Source(f"{name}, table {table}", "table", reader, columns, table=(schema, exact), rows=size)
