"""Reads and writes dataclasses as rows of tables: their fields are the columns, in the same order."""

from dataclasses import fields
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def list_columns(kind: "type[DataclassInstance] | DataclassInstance") -> str:
    """Return the columns of the table of such rows, separated by commas, for SQL."""
    return ", ".join(field.name for field in fields(kind))


def insert_row(connection: duckdb.DuckDBPyConnection, table: str, row: "DataclassInstance") -> None:
    """Insert a row into its table."""
    values = [getattr(row, field.name) for field in fields(row)]
    marks = ", ".join("?" for _ in values)
    connection.execute(f"INSERT INTO {table} ({list_columns(row)}) VALUES ({marks})", values)
