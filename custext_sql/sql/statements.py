"""What the statements of a query do besides returning rows: write something, or carry data out of DuckDB."""

import re
from dataclasses import dataclass

import duckdb
from duckdb import StatementType

from custext_sql.sql.query_errors import safe_errors
from custext_sql.sql.query_words import read_bare_words

_SETTING = {StatementType.SET: ("set", "reset", "use"), StatementType.PRAGMA: ("pragma",)}  # with their first words
_WITH_PIVOT = {  # what a statement that contains a PIVOT is, by its first word
    **dict.fromkeys(("pivot", "from", "select"), StatementType.SELECT),
    "create": StatementType.CREATE,
    "insert": StatementType.INSERT,
    "copy": StatementType.COPY,
}
_INNER = (  # these change nothing outside of DuckDB, unless a file is open for writing
    *(StatementType.CREATE, StatementType.INSERT, StatementType.UPDATE, StatementType.DELETE, StatementType.MERGE_INTO),
    *(StatementType.ALTER, StatementType.DROP, StatementType.TRANSACTION, StatementType.VARIABLE_SET),
    *(StatementType.LOAD, StatementType.DETACH, StatementType.ANALYZE, StatementType.VACUUM),
)
_STORING = (StatementType.INSERT, StatementType.UPDATE, StatementType.MERGE_INTO)
_NO_ROWS = {"temp", "temporary", "view", "macro", "function"}  # what CREATE ... AS makes without rows in the file
_LOGGING = re.compile(r"logging", re.IGNORECASE)  # settings that make DuckDB write a log of what a query passes to it


@dataclass(frozen=True)
class Statements:
    """What is known of a query before it runs.

    writes: it may have written something by the time it fails. exports: whether each statement may carry rows out, to a
    file or another database; True where that is unclear.
    """

    writes: bool
    exports: tuple[bool, ...]


def read_statements(query: str, *, writable: bool = False) -> Statements:
    """Return what the statements of a query do, without running any. writable: the data is open for writing."""
    with safe_errors(query), duckdb.connect() as parser:
        found = [
            (find_kind(statement), read_bare_words(statement.query)) for statement in parser.extract_statements(query)
        ]
    logs = _LOGGING.search(query) is not None
    attaches = any(kind == StatementType.ATTACH for kind, _ in found)
    return Statements(
        writes=logs or not all(_only_reads(kind, words) for kind, words in found),
        exports=tuple(logs or _may_export(kind, words, attaches=attaches, writable=writable) for kind, words in found),
    )


def find_kind(statement: duckdb.Statement) -> StatementType:
    """Return what a statement is. DuckDB says MULTI for any statement that contains a PIVOT, even for COPY.

    It stays MULTI where the first word does not tell.
    """
    if statement.type != StatementType.MULTI:
        return statement.type
    words = read_bare_words(statement.query) or [""]
    if words[0] == "with" and {"insert", "update", "delete", "merge"}.isdisjoint(words):
        return StatementType.SELECT
    return _WITH_PIVOT.get(words[0], StatementType.MULTI)


def _only_reads(kind: StatementType, words: list[str] | None) -> bool:
    if kind == StatementType.PRAGMA and (words or [])[1:2] in ([], ["import_database"]):
        return False  # it runs the statements of a file
    return kind == StatementType.SELECT or (words or [""])[0] in _SETTING.get(kind, ())


def _stores_rows(kind: StatementType, words: list[str] | None) -> bool:
    """Return whether a statement may store rows, or new values in them, in a file that is open for writing.

    The first words of CREATE say what it creates: [OR REPLACE] [TEMP] TABLE, VIEW and so on.
    """
    if words is None or kind in _STORING:
        return True
    if kind == StatementType.ALTER:
        return not {"using", "default"}.isdisjoint(words)
    if kind != StatementType.CREATE:
        return False
    created = words[3:4] if words[1:3] == ["or", "replace"] else words[1:2]
    return "as" in words and not _NO_ROWS.intersection(created)


def _may_export(kind: StatementType, words: list[str] | None, *, attaches: bool, writable: bool) -> bool:
    """Return whether a statement may carry rows out.

    words: None if it is unclear what is quoted. attaches: a file is attached. writable: the data is open for writing.
    """
    if _only_reads(kind, words) or kind in (StatementType.ATTACH, StatementType.PREPARE):  # EXECUTE may
        return False
    if kind in _INNER:
        return attaches or (writable and _stores_rows(kind, words))
    if words is None:
        return True
    if kind == StatementType.EXPLAIN:
        explained = words[2:3] if words[1:2] == ["analyze"] else words[1:2]
        return explained not in (["select"], ["from"])
    return kind != StatementType.COPY or writable or "to" in words or "from" not in words
