"""DuckDB's errors in words that quote no data.

DuckDB's messages on malformed files and failed casts quote the line or the value. Here an error is put together anew
from what is known to be harmless in it: file, line, column, expected type. What is not recognized is left out.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from custext_sql import errors
from custext_sql.errors import CusTextError, QueryError

_TYPES = (
    r"(?:BOOL|BOOLEAN|U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|U?INT(?:8|16|32|64|128)|FLOAT|DOUBLE|DECIMAL|DATE|TIME"
    r"|TIMESTAMP|INTERVAL|UUID|VARCHAR|BLOB|JSON|BIT)(?:\[\])*"
)
# What is taken from a message stands before the data in it (match, at the beginning) or behind it (the last one found).
_OWN = re.compile(r"Invalid Input Error: Python exception occurred while executing the UDF: (\w+): (.*)", re.DOTALL)
_CSV = re.compile(r"[\w ]+ Error: CSV Error on Line: (\d+)\n")
_CSV_FILE = re.compile(r"^  file = (.+)$", re.MULTILINE)
_CSV_COLUMN = re.compile(rf"^Column (.+) is being converted as type ({_TYPES})", re.MULTILINE)
_CSV_COUNT = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_CSV_PROBLEMS = {
    "Value with unterminated quote found": "a quoted value does not end as it should",
    "This file is not utf-8 encoded": "expected UTF-8",
    "Maximum line size": "the line is longer than DuckDB reads; set max_line_size",
}
_SNIFFING = re.compile(r'Invalid Input Error: Error when sniffing file "(.+?)"\.')
_JSON = re.compile(
    r'Invalid Input Error: (Malformed JSON|JSON transform error) in file "(.+?)",(?: at byte (\d+))?'
    r" in (line|record/value) (\d+): (?:Failed to cast value to (numerical|boolean|date|timestamp|time)\b)?"
)
_PARQUET = re.compile(
    r"Invalid Input Error: (?:No magic bytes found at end of file|Footer length error in file) '(.+?)'$"
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
_ABOUT_THE_QUERY = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
_ABOUT_THE_MACHINE = (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.PermissionException)


@contextmanager
def safe_errors() -> Iterator[None]:
    """Within it, an error of DuckDB is raised as a QueryError that quotes no data, and without DuckDB's traceback."""
    try:
        yield
    except duckdb.Error as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from None
        raise explain(error) from None


def _is_interrupt(error: duckdb.Error) -> bool:
    """Whether it is what DuckDB makes of Ctrl-C, which may arrive within a function."""
    inner = _OWN.match(str(error))
    return isinstance(error, duckdb.InterruptException) or bool(inner and inner[1] == "KeyboardInterrupt")


def explain(error: duckdb.Error) -> CusTextError:
    """An error of DuckDB in words that quote no data."""
    message = str(error)
    told = _explain_own(message) or _explain_csv(message) or _explain_json(message) or _explain_parquet(message)
    if told is None and isinstance(error, duckdb.ConversionException):
        told = _explain_cast(message)
    if told is None and isinstance(error, (*_ABOUT_THE_QUERY, *_ABOUT_THE_MACHINE)):
        told = _QUOTED.sub(_shorten, message.splitlines()[0])
        used = _USED.search(told)
        told += f" It is {_SIGNATURES[used[1]]}." if used else ""
    kind = type(error).__name__.removesuffix("Exception")
    return QueryError(
        told or f"the query failed with DuckDB's {kind} error; its message is left out, it may quote data"
    )


def _explain_own(message: str) -> str | None:
    """An error that one of our functions raised."""
    if not (found := _OWN.match(message)):
        return None
    kind, words = found.groups()
    own = getattr(errors, kind, None)
    if isinstance(own, type) and issubclass(own, CusTextError):
        return words.strip()
    return f"a function failed with {kind}; its message is left out, it may quote data"


def _explain_csv(message: str) -> str | None:
    if sniffed := _SNIFFING.match(message):
        return (
            f"{sniffed[1]}: DuckDB cannot tell how this CSV file is made; say it: read_csv('{sniffed[1]}', delim = ...)"
        )
    if not (line := _CSV.match(message)):
        return None
    files, columns = _CSV_FILE.findall(message), _CSV_COLUMN.findall(message)
    where = f"{files[-1].strip()}, line {line[1]}" if files else f"line {line[1]}"
    if columns:
        return f"{where}, column {columns[-1][0]}: expected {columns[-1][1]}"
    if counts := _CSV_COUNT.findall(message):
        return f"{where}: expected {counts[-1][0]} columns, found {counts[-1][1]}"
    return f"{where}: {next((words for sign, words in _CSV_PROBLEMS.items() if sign in message), 'malformed CSV')}"


def _explain_json(message: str) -> str | None:
    if not (found := _JSON.match(message)):
        return None
    what, file, byte, unit, number, expected = found.groups()
    where = f"{file}, {'line' if unit == 'line' else 'record'} {number}"
    if what == "Malformed JSON":
        return f"{where}: malformed JSON" + (f" at byte {byte}" if byte else "")
    return f"{where}: expected a {expected} value" if expected else f"{where}: a value has another type than expected"


def _explain_parquet(message: str) -> str | None:
    found = _PARQUET.match(message)
    return f"{found[1]}: expected a whole Parquet file" if found else None


def _explain_cast(message: str) -> str:
    *_, column = [None, *_CAST_COLUMN.finditer(message)]
    before = message[: column.start()] if column else message.splitlines()[0]
    expected = _CAST_TYPE.search(re.split("[\"']", before)[-1])
    where = f"column {column[1]}: " if column else ""
    return f"{where}expected {expected[1]}" if expected else f"{where}a value cannot be converted as the query asks"


def _shorten(quoted: re.Match[str]) -> str:
    """A quoted piece of the query, if it is a name, a path, or a function with types."""
    return quoted[0] if re.fullmatch(r"[\w./*-]{1,100}|\w+\([A-Z_0-9, \[\]]*\)", quoted[0].strip("\"'")) else "..."
