"""What the statements of a query do beside giving rows: write something, or carry data out of DuckDB."""

import re
from dataclasses import dataclass

import duckdb
from duckdb import StatementType

from custext_sql.sql.query_errors import safe_errors
from custext_sql.sql.query_words import read_bare_words

_READING = (StatementType.SELECT, StatementType.MULTI)  # the other is a PIVOT
_SETTING = {StatementType.SET: ("set", "reset", "use"), StatementType.PRAGMA: ("pragma",)}  # and their first words
_INNER = (  # which change nothing outside of DuckDB, unless a file is attached
    *(StatementType.CREATE, StatementType.INSERT, StatementType.UPDATE, StatementType.DELETE, StatementType.MERGE_INTO),
    *(StatementType.ALTER, StatementType.DROP, StatementType.TRANSACTION, StatementType.VARIABLE_SET),
    *(StatementType.LOAD, StatementType.DETACH, StatementType.ANALYZE, StatementType.VACUUM),
)
_LOGGING = re.compile(r"logging", re.IGNORECASE)  # settings that make DuckDB write what a query hands to its log


@dataclass(frozen=True)
class Statements:
    """What was seen of a query before it runs.

    writes: it may have written something by the time it fails. exports: which statements may carry rows out, to a file
    or another database; where that is unclear, they may.
    """

    writes: bool
    exports: tuple[bool, ...]


def read_statements(query: str) -> Statements:
    """Look at the statements of a query, without running any."""
    with safe_errors(query), duckdb.connect() as parser:
        found = [(statement.type, read_bare_words(statement.query)) for statement in parser.extract_statements(query)]
    logs = _LOGGING.search(query) is not None
    attaches = any(kind == StatementType.ATTACH for kind, _ in found)
    return Statements(
        writes=logs or not all(_only_reads(kind, words) for kind, words in found),
        exports=tuple(logs or _may_export(kind, words, attaches=attaches) for kind, words in found),
    )


def _only_reads(kind: StatementType, words: list[str] | None) -> bool:
    return kind in _READING or (words or [""])[0] in _SETTING.get(kind, ())


def _may_export(kind: StatementType, words: list[str] | None, *, attaches: bool) -> bool:
    """Return whether a statement may carry rows out. words: None if it is unclear what is quoted."""
    if _only_reads(kind, words) or kind in (StatementType.ATTACH, StatementType.PREPARE):  # EXECUTE may
        return False
    if kind in _INNER:
        return attaches
    if words is None:
        return True
    if kind == StatementType.EXPLAIN:
        explained = words[2:3] if words[1:2] == ["analyze"] else words[1:2]
        return explained not in (["select"], ["from"])
    return kind != StatementType.COPY or "to" in words or "from" not in words
