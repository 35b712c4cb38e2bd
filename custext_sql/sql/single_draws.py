"""Whether a query draws each row of its data at most once, so that the eps spent on a row is known.

The functions see calls, not rows: a join, a list or a second call may draw the same text many times, and so may a macro
of DuckDB itself that repeats its argument. A query is trusted only if its text and its plan are as simple as possible:
one SELECT from one table or from files, one call that is a column by itself, no operator that could repeat a row. Any
other query has spent "at least" the largest call.
"""

import json
import os
import re
from collections.abc import Iterator
from glob import glob
from typing import Any

import duckdb

SANITIZING = frozenset({"custext_sanitize", "custext_sanitize_keyed"})

_OPERATORS = frozenset({"PROJECTION", "FILTER", "ORDER_BY", "TOP_N", "LIMIT", "STREAMING_LIMIT", "LIMIT_PERCENT"})
_SCANS = ("SEQ_SCAN", "TABLE_SCAN", "READ_", "PARQUET_SCAN", "EMPTY_RESULT")
_UNCLEAR = frozenset({"LAMBDA", "SUBQUERY", "WINDOW"})  # expressions in which something may be called more than once
_PATTERN = re.compile(r"[*?\[]")


def draws_each_row_once(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    """Return whether a query certainly draws no row more than once."""
    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            return False
        [(parsed,)] = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
        [statement] = json.loads(parsed).get("statements", [{}])
        node = statement.get("node") or {}
        return (
            _has_one_call(connection, node)
            and not _has_macros(connection)
            and _is_chain(connection.execute(f"EXPLAIN (FORMAT json) {statements[0].query}").fetchall()[0][1])
        )
    except (duckdb.Error, OSError, ValueError, LookupError):  # an error in the query is reported when it runs
        return False


def _has_one_call(connection: duckdb.DuckDBPyConnection, node: dict[str, Any]) -> bool:
    """Return whether a parsed SELECT reads one table or file, and has one call, which is a column by itself."""
    source = node.get("from_table") or {}
    if node.get("type") != "SELECT_NODE" or source.get("type") != "BASE_TABLE" or node["cte_map"]["map"]:
        return False
    if not _has_rows_once(connection, str(source["table_name"])):
        return False
    found = list(_walk(node))
    calls = [item for item in found if item.get("function_name", "").lower() in SANITIZING]
    columns = [
        entry.get("value", entry) for item in node["select_list"] for entry in (item, *(item.get("replace_list") or ()))
    ]
    if len(calls) != 1 or not any(calls[0] is column for column in columns):
        return False
    within = list(_walk(calls[0]))
    if any(item.get("class") in _UNCLEAR or item.get("function_name") == "unnest" for item in found):
        return False
    plain = {id(item) for item in node["select_list"] if not item.get("columns")}
    if any(item.get("class") == "STAR" and id(item) not in plain for item in found):  # COLUMNS repeats what holds it
        return False
    return not _repeats_alias(found, calls[0], within)


def _has_rows_once(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Return whether a name is a table whose columns call no function of ours, or files that are each read once."""
    known = connection.execute(
        "SELECT lower(table_name), sql FROM duckdb_tables() UNION ALL SELECT lower(view_name), NULL FROM duckdb_views()"
    ).fetchall()
    statements = [sql for known_name, sql in known if known_name == name.lower()]
    if statements:
        return all(sql is not None and "custext_" not in sql.lower() for sql in statements)
    files = glob(name, recursive=True) if _PATTERN.search(name) else [name]  # noqa: PTH207 (it may be absolute)
    return len({(status.st_dev, status.st_ino) for status in map(os.stat, files)}) == len(files) > 0


def _repeats_alias(found: list[dict[str, Any]], call: dict[str, Any], within: list[dict[str, Any]]) -> bool:
    """Return whether the column with the call is referred to by name, which would repeat the call."""
    holding = [item for item in found if any(inner is call for inner in _walk(item))]
    aliases = {str(item[key]).lower() for item in holding for key in ("alias", "key") if item.get(key)}
    inner = {id(item) for item in within}
    return any(
        str(item["column_names"][-1]).lower() in aliases
        for item in found
        if item.get("class") == "COLUMN_REF" and id(item) not in inner
    )


def _has_macros(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether the user has macros, which may hide calls."""
    [(count,)] = connection.execute(
        "SELECT count(*) FROM duckdb_functions() WHERE function_type = 'macro' AND NOT internal"
    ).fetchall()
    return bool(count)


def _is_chain(plan: str) -> bool:
    """Return whether a plan is one scan and operators above it that never repeat a row."""
    operators = json.loads(plan)
    while len(operators) == 1:
        name = operators[0]["name"].strip()
        if name.startswith(_SCANS):
            return not operators[0]["children"]
        if name not in _OPERATORS:
            return False
        operators = operators[0]["children"]
    return False


def _walk(item: Any) -> Iterator[dict[str, Any]]:
    """Yield every object within a piece of JSON, including itself."""
    if isinstance(item, dict):
        yield item
        for value in item.values():
            yield from _walk(value)
    elif isinstance(item, list):
        for value in item:
            yield from _walk(value)
