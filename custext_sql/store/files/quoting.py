"""Quotes texts and names for SQL."""


def quote_text(text: str) -> str:
    """Return a text as a SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """Return the name of a table, column or schema as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
