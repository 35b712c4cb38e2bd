"""Quotes texts, names and paths for SQL."""

from pathlib import Path


def quote_text(text: str) -> str:
    """Return a text as a SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """Return the name of a table, column or schema as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def quote_path(path: Path) -> str:
    """Return a path as a SQL string literal."""
    return quote_text(str(path))
