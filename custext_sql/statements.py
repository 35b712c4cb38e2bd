"""What the statements of a query do beside giving rows: write something, or carry data out of DuckDB."""

from dataclasses import dataclass

import duckdb

from custext_sql.query_errors import safe_errors
from custext_sql.query_words import list_bare_words

_READING = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)  # the other is a PIVOT
_SETTING = ("set", "reset", "pragma")  # first words
_CHANGING = ("create", "insert", "update", "merge")


@dataclass(frozen=True)
class Statements:
    """What was seen of a query before it runs.

    writes: it may have written something by the time it fails. exports: it carries rows out, to a file or a database.
    """

    writes: bool
    exports: bool


def read_statements(query: str) -> Statements:
    """Look at the statements of a query, without running any."""
    with safe_errors(query), duckdb.connect() as parser:
        found = [(statement.type, list_bare_words(statement.query)) for statement in parser.extract_statements(query)]
    writes = any(kind not in _READING and words[:1] not in ([first] for first in _SETTING) for kind, words in found)
    attaches = any(words[:1] == ["attach"] for _, words in found)
    changes = any(words[:1] == [first] for _, words in found for first in _CHANGING)
    return Statements(writes, any(_copies_out(words) for _, words in found) or (attaches and changes))


def _copies_out(words: list[str]) -> bool:
    """Return whether a statement is EXPORT, or COPY to somewhere, perhaps explained by running it."""
    if words[:2] == ["explain", "analyze"]:
        words = words[2:]
    if words[:3] == ["copy", "from", "database"]:
        return True
    return words[:1] == ["export"] or (words[:1] == ["copy"] and "from" not in words)
