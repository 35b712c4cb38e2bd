"""Texts and names as SQL writes them."""


def quote_text(text: str) -> str:
    """Return a text as a string of SQL."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """Return a name of a table, column or schema as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'
