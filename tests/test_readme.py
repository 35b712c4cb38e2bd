"""The README shows what happens."""

import re
from pathlib import Path

import pytest

import custext_sql
from custext_sql import load_mapping
from custext_sql.cli import main
from custext_sql.store.schema import tables
from tests import readme


@pytest.mark.slow
def test_examples_print_what_the_readme_shows(tmp_path: Path) -> None:
    load_mapping()  # the default database is there
    real = readme.prepare(tmp_path)
    shown = readme.README.read_text()
    found = readme.fill(shown, tmp_path)
    assert "Traceback" not in found
    if real:
        assert readme.steady(found) == readme.steady(shown)


def test_every_command_is_documented() -> None:
    text = readme.README.read_text()
    for name in main.commands:
        assert re.search(rf"custext (--db \S+ )?{name}\b", text) or f"`{name}`" in text, name


def test_every_table_is_documented_with_its_columns() -> None:
    text = readme.README.read_text()
    for table in tables.metadata.sorted_tables:
        columns = ", ".join(column.name for column in table.columns)
        assert f"| `{table.name}` | {columns} |" in text


def test_public_functions_are_explained() -> None:
    for name in custext_sql.__all__:
        assert getattr(custext_sql, name).__doc__, name
