"""Compares two databases attached to one connection: all that their catalogs say, and every row."""

import duckdb

from custext_sql.store.files.quoting import quote_name

_CATALOG = {  # what a database has: the columns that say so. IDs and sizes differ between equal databases.
    "schemas": "schema_name, comment, tags",
    "tables": "schema_name, table_name, comment, tags, sql",
    "columns": "schema_name, table_name, column_index, column_name, comment, tags, column_default, is_nullable, "
    "data_type, is_generated, generation_expression",
    "constraints": "schema_name, table_name, constraint_type, constraint_text, constraint_name",
    "indexes": "schema_name, table_name, index_name, comment, tags, is_unique, is_primary, sql",
    "views": "schema_name, view_name, comment, tags, sql",
    "functions": "schema_name, function_name, function_type, comment, tags, parameters, parameter_types, "
    "macro_definition",
    "sequences": "schema_name, sequence_name, comment, tags, last_value, sql",
    "types": "schema_name, type_name, comment, tags, logical_type, labels",
}


def find_difference(connection: duckdb.DuckDBPyConnection, first: str, second: str) -> str | None:
    """Return what differs between two attached databases, such as "the table groups"; None if they are equal.

    Rows are compared in the order in which they are stored.
    """
    for kind in _CATALOG:
        if _list_catalog(connection, first, kind) != _list_catalog(connection, second, kind):
            return f"its {kind}"
    tables = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? ORDER BY ALL", [first]
    ).fetchall()
    for schema, table in tables:
        name = f"{quote_name(schema)}.{quote_name(table)}"
        if not _are_equal(connection, f"{quote_name(first)}.{name}", f"{quote_name(second)}.{name}"):
            return f"the table {table}"
    return None


def _list_catalog(connection: duckdb.DuckDBPyConnection, database: str, kind: str) -> list[tuple[object, ...]]:
    query = f"SELECT {_CATALOG[kind]} FROM duckdb_{kind}() WHERE database_name = ? ORDER BY ALL"
    return connection.execute(query, [database]).fetchall()


def _are_equal(connection: duckdb.DuckDBPyConnection, first: str, second: str) -> bool:
    [(different,)] = connection.execute(
        f"SELECT (SELECT count(*) FROM {first}) <> (SELECT count(*) FROM {second}) OR EXISTS ("
        f"FROM {first} AS custext_first POSITIONAL JOIN {second} AS custext_second "
        "WHERE custext_first IS DISTINCT FROM custext_second)"
    ).fetchall()
    return not different
