"""Dataclasses that stand for rows have the columns of their table, so that no list of columns is kept by hand."""

import re
from dataclasses import fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from sqlalchemy import Table

from custext_sql.ledger import schema
from custext_sql.mapping.mapping import MappingInfo
from custext_sql.store.rows.embeddings import Embedding
from custext_sql.store.schema import tables
from tests.documentation import ROOT
from tests.store.test_migrations import fetch

Shape = list[tuple[str, type, bool]]


def shape_of_table(table: Table) -> Shape:
    """Return the name, Python type and nullability of each column, in order."""
    return [(column.name, column.type.python_type, bool(column.nullable)) for column in table.columns]


def shape_of_dataclass(row: type[Any]) -> Shape:
    """Return the name and type of each field, and whether it may be None, in order."""
    hints = get_type_hints(row)
    shape = []
    for field in fields(row):
        hint = hints[field.name]
        types = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        [kind] = [one for one in types if one is not NoneType]
        shape.append((field.name, get_origin(kind) or kind, NoneType in types))
    return shape


@pytest.mark.parametrize(
    ("row", "table"),
    [(Embedding, tables.embeddings), (MappingInfo, tables.mappings)],
    ids=lambda value: value.__name__ if isinstance(value, type) else value.name,
)
def test_fields_of_a_row_are_the_columns_of_its_table(row: type[Any], table: Table) -> None:
    assert shape_of_dataclass(row) == shape_of_table(table)


def test_the_view_of_scores_is_documented_with_its_columns(fresh_db: Path) -> None:
    section = (
        (ROOT / "docs" / "schema.md").read_text(encoding="utf-8").partition("## scores\n")[2].partition("\n## ")[0]
    )
    query = "SELECT column_name FROM duckdb_columns() WHERE table_name = 'scores' ORDER BY column_index"
    found = [name for (name,) in fetch(fresh_db, query)]
    assert (
        re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
        == found
        == ["mapping", "group_id", "input", "output", "score"]
    )


def test_every_comment_is_a_phrase_that_stands_on_its_own() -> None:
    """Comments are shown beside the column alone, by any client of DuckDB or PostgreSQL."""
    for table in (*tables.metadata.sorted_tables, *schema.metadata.sorted_tables):
        for column in table.columns:
            first = (column.comment or "x").partition(" ")[0]
            assert first not in {"of", "whose", "its", "within", "where"}, f"{table.name}.{column.name}"
