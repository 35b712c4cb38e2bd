"""DuckDB's errors in words that quote no data.

DuckDB's messages on malformed files and failed casts quote the line or the value. Here an error is put together anew
from what is known to be harmless in it: file, line, column, expected type. What is not recognized is left out.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import wraps
from pathlib import Path
from typing import Any

import duckdb

from custext_sql.errors import CusTextError, QueryError

_TYPES = (
    r"(?:TIMESTAMP|TIME|BOOLEAN|BOOL|U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|U?INT(?:8|16|32|64|128)|FLOAT|DOUBLE"
    r"|DECIMAL|DATE|INTERVAL|UUID|VARCHAR|BLOB|JSON|BIT)\b(?:\[\])*"
)
# What is taken from a message stands before the data in it (match, at the beginning) or behind it (the last one found).
_OWN = re.compile(r"Invalid Input Error: Python exception occurred while executing the UDF: (\w+): (.*)", re.DOTALL)
_CSV = re.compile(r"(Conversion|Invalid Input) Error: CSV Error on Line: (\d+)\n")
_CSV_FILE = re.compile(r"^  file = (.+)$", re.MULTILINE)
_CSV_COLUMN = re.compile(rf"^Column (\w+) is being converted as type ({_TYPES})", re.MULTILINE)
_CSV_COUNT = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_CSV_PROBLEMS = {
    "Value with unterminated quote found": "a quoted value does not end as it should",
    "This file is not utf-8 encoded": "expected UTF-8",
    "Maximum line size": "the line is longer than DuckDB reads; set max_line_size, or keep such texts in Parquet",
}
_SNIFFING = re.compile(r'Invalid Input Error: Error when sniffing file "(.+?)"\.')
_JSON = re.compile(
    r'Invalid Input Error: (Malformed JSON|JSON transform error) in file "(.+?)",(?: at byte (\d+))?'
    r" in (line|record/value) (\d+): (?:Failed to cast value to (numerical|boolean|date|timestamp|time)\b)?"
)
_PARQUET = re.compile(
    r"Invalid Input Error: (?:No magic bytes found at end of file|Footer length error in file|File) '(.+?)'"
    r"(?: too small to be a Parquet file)?$",
    re.MULTILINE,
)
_CAST_COLUMN = re.compile(r" when casting from source column (\w+)")
_CAST_TYPE = re.compile(rf" to (?:the destination type )?({_TYPES})\s*$")
_QUOTED = re.compile(r"\"[^\"\n]*\"?|'[^'\n]*'?")
_SIGNATURES = {
    "custext_sanitize": "custext_sanitize(text VARCHAR, eps DOUBLE, plus BOOLEAN)",
    "custext_sanitize_keyed": "custext_sanitize_keyed(text VARCHAR, record VARCHAR)",
    "custext_epsilon": "custext_epsilon(text VARCHAR, eps DOUBLE, plus BOOLEAN)",
    "custext_distribution": "custext_distribution(word, eps)",
}
_USED = re.compile(rf"\b({'|'.join(_SIGNATURES)})\(")
_DYNAMIC = re.compile(r"(?i)\b(?:getvariable|query|query_table)\s*\(")
_ABOUT_THE_QUERY = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
_ABOUT_THE_MACHINE = (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.PermissionException)

own_messages: deque[str] = deque(maxlen=100)  # raised by our functions lately; what else looks like one may be data


def remembering(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose errors are known again when DuckDB hands them on as text."""

    @wraps(function)
    def remembered(*columns: Any) -> Any:
        try:
            return function(*columns)
        except CusTextError as error:
            own_messages.append(str(error))
            raise

    return remembered


@contextmanager
def safe_errors(query: str | None = None) -> Iterator[None]:
    """Within it, an error of DuckDB is raised as a QueryError that quotes no data, and without DuckDB's traceback.

    query: what is run, if known; names that occur in it are shown.
    """
    try:
        yield
    except duckdb.Error as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from None
        raise explain(error, query) from None
    except RuntimeError as error:  # what fetching makes of Ctrl-C
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from None
        raise
    except OverflowError:
        raise QueryError("a value is too large for Python; cast it to VARCHAR, or write the result to a file") from None


def _is_interrupt(error: duckdb.Error) -> bool:
    """Whether it is what DuckDB makes of Ctrl-C, which may arrive within a function."""
    inner = _OWN.match(str(error))
    return isinstance(error, duckdb.InterruptException) or bool(inner and inner[1] == "KeyboardInterrupt")


def explain(error: duckdb.Error, query: str | None = None) -> CusTextError:
    """An error of DuckDB in words that quote no data."""
    message = str(error)
    told = _explain_own(message)
    if told is None and isinstance(error, (duckdb.InvalidInputException, duckdb.ConversionException)):
        told = _explain_csv(message, query) or _explain_json(message, query) or _explain_parquet(message, query)
    if told is None and isinstance(error, duckdb.ConversionException):
        told = _explain_cast(message, query)
    if told is None and isinstance(error, (*_ABOUT_THE_QUERY, *_ABOUT_THE_MACHINE)):
        told = _explain_query(message, query)
    kind = type(error).__name__.removesuffix("Exception")
    left_out = f"the query failed with DuckDB's {kind} error; its message is left out, it may quote data"
    return QueryError(told or left_out)


def _explain_own(message: str) -> str | None:
    """An error that one of our functions raised."""
    if not (found := _OWN.match(message)):
        return None
    kind, words = found[1], found[2].strip()
    if words in own_messages:
        return words
    return f"a function failed with {kind}; its message is left out, it may quote data"


def _explain_query(message: str, query: str | None) -> str | None:
    """What is wrong with the query itself, or with the files it names; pieces of it are shown as they stand in it."""
    if query is None or _DYNAMIC.search(query):  # where values become names
        return None

    def show(quoted: re.Match[str]) -> str:
        piece = quoted[0].strip("\"'")
        is_type = re.fullmatch(r"\w+\([A-Z_0-9, \[\]]*\)", piece)
        return quoted[0] if is_type or (piece in query and re.fullmatch(r"[\w./*-]{1,100}", piece)) else "..."

    told = _QUOTED.sub(show, message.splitlines()[0])
    used = _USED.search(told)
    return told + (f" It is {_SIGNATURES[used[1]]}." if used else "")


def _show_file(name: str, query: str | None) -> str:
    """A file's name, if the query names it or it matches a pattern there; values in its path are left out."""
    literals = [name] if query is None else re.findall(r"'([^']*)'", query)
    named = name in literals or any(fnmatch(name, literal) for literal in literals)
    return re.sub(r"=[^/\\]*", "=...", name) if named and Path(name).exists() else "a file"


def _shows(column: str, query: str | None) -> bool:
    """Whether the query names that column."""
    return query is not None and re.search(rf"(?i)\b{re.escape(column)}\b", query) is not None


def _explain_csv(message: str, query: str | None) -> str | None:
    if sniffed := _SNIFFING.match(message):
        return f"{_show_file(sniffed[1], query)}: DuckDB cannot tell how this CSV file is made; say it with read_csv"
    if not (line := _CSV.match(message)):
        return None
    *_, file = ["", *_CSV_FILE.findall(message)]
    where = f"{_show_file(file.strip(), query)}, line {line[2]}"
    if line[1] == "Conversion":
        *_, (column, expected) = [("", ""), *_CSV_COLUMN.findall(message)]
        return f"{where}, column {column}: expected {expected}" if column else f"{where}: expected another type"
    if counts := _CSV_COUNT.findall(message):
        return f"{where}: expected {counts[-1][0]} columns, found {counts[-1][1]}"
    return f"{where}: {next((words for sign, words in _CSV_PROBLEMS.items() if sign in message), 'malformed CSV')}"


def _explain_json(message: str, query: str | None) -> str | None:
    if not (found := _JSON.match(message)):
        return None
    what, file, byte, unit, number, expected = found.groups()
    where = f"{_show_file(file, query)}, {'line' if unit == 'line' else 'record'} {number}"
    if what == "Malformed JSON":
        return f"{where}: malformed JSON" + (f" at byte {byte}" if byte else "")
    return f"{where}: expected a {expected} value" if expected else f"{where}: a value has another type than expected"


def _explain_parquet(message: str, query: str | None) -> str | None:
    found = _PARQUET.match(message)
    return f"{_show_file(found[1], query)}: expected a whole Parquet file" if found else None


def _explain_cast(message: str, query: str | None) -> str:
    *_, column = [None, *_CAST_COLUMN.finditer(message)]
    before = message[: column.start()] if column else message.splitlines()[0]
    expected = _CAST_TYPE.search(re.split("[\"']", before)[-1])
    where = f"column {column[1]}: " if column and _shows(column[1], query) else ""
    return f"{where}expected {expected[1]}" if expected else f"{where}a value cannot be converted as the query asks"
