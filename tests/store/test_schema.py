"""Dataclasses that stand for rows have the columns of their table, so that no list of columns is kept by hand."""

from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from sqlalchemy import Table

from custext_sql.experiments.measurements import Measurement, Subject
from custext_sql.mapping.mapping import MappingInfo
from custext_sql.store.ledger.table import Release
from custext_sql.store.rows.embeddings import Embedding
from custext_sql.store.schema import tables

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
    [(Embedding, tables.embeddings), (MappingInfo, tables.mappings), (Release, tables.releases)],
    ids=lambda value: value.__name__ if isinstance(value, type) else value.name,
)
def test_fields_of_a_row_are_the_columns_of_its_table(row: type[Any], table: Table) -> None:
    assert shape_of_dataclass(row) == shape_of_table(table)


def test_a_measurement_and_its_subject_are_the_columns_of_measurements() -> None:
    key, *columns = shape_of_table(tables.measurements)
    assert key == ("measurement_id", str, False)
    assert isinstance(Measurement(Subject("utility", "accuracy"), 1.0).measurement_id, str)
    subject, *found = shape_of_dataclass(Measurement)
    assert subject == ("subject", Subject, False)
    *_, (name, kind, nullable) = found
    assert nullable, "a measurement has no time until it is saved"
    assert [*shape_of_dataclass(Subject), *found[:-1], (name, kind, False)] == columns
