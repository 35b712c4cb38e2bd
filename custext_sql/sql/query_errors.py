"""DuckDB's errors in words that quote no data.

DuckDB's messages quote lines of files, values, keys, and types that contain values, with quotes inside quotes. So an
error is put together again from parts that are known to be harmless: fixed messages, files, lines, names from the
query, plain types. What is not recognized is left out.
"""

import builtins
import json
import re
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import duckdb

from custext_sql import errors
from custext_sql.errors import CusTextError, QueryError, tell_failure
from custext_sql.sql.data_errors import explain_data
from custext_sql.sql.error_templates import fill_template
from custext_sql.sql.query_words import QueryWords
from custext_sql.store.duckdb_files import is_damaged

_OWN = re.compile(r"Invalid Input Error: Python exception occurred while executing the UDF: (\w+): (.*)", re.DOTALL)
_SIGNATURES = {
    "custext_sanitize": "custext_sanitize(text VARCHAR, eps DOUBLE, plus BOOLEAN)",
    "custext_sanitize_keyed": "custext_sanitize_keyed(text VARCHAR, record VARCHAR)",
    "custext_epsilon": "custext_epsilon(text VARCHAR, eps DOUBLE, plus BOOLEAN)",
    "custext_distribution": "custext_distribution(word, eps)",
}
_USED = re.compile(rf"\b({'|'.join(_SIGNATURES)})\(")
_FROM_THE_MACHINE = re.compile(
    r"(?:IO|Permission|Out of Memory) Error: |TransactionContext Error: Failed to commit: Could not "
)
_FILE_AT_FAULT = re.compile(r' (?:file|directory) \\?"(.+?)\\?": ')
_DAMAGED = "a file that is read is damaged or cut off; restore a backup of it"
_PARSER = "Parser Error: "
_NEAR = re.compile(r'Parser Error: syntax error at or near "(.*?)"\n', re.DOTALL)
_UNFINISHED = re.compile(
    r"Parser Error: (syntax error at end of input|unterminated (?:string literal|quoted identifier|/\* comment))"
)
_WRITES = "Binder Error: WITH clause containing a "
_EXTENSION = re.compile(
    r"(?:An error occurred while trying to automatically install the required extension '"
    r"|[^\n]* requires the extension |[^\n]* exists in the )"
    r"(avro|aws|azure|delta|ducklake|encodings|excel|fts|httpfs|iceberg|icu|inet|json|mysql_scanner|parquet"
    r"|postgres_scanner|spatial|sqlite_scanner|vss)\b"
)

own_messages: deque[str] = deque(maxlen=100)  # recent errors of our functions; anything else like them may be data


def remembering(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with its errors remembered, to recognize them when DuckDB passes them on as text."""

    @wraps(function)
    def remembered(*columns: Any) -> Any:
        try:
            return function(*columns)
        except CusTextError as error:
            own_messages.append(str(error))
            raise

    return remembered


@contextmanager
def safe_errors(query: str | None = None, *, names: Collection[str] = ()) -> Iterator[None]:
    """Within it, errors of DuckDB become QueryErrors that quote no data, without DuckDB's traceback.

    query: the query, if known; its words outside of quotes may be shown. names: names of columns that are known not to
    be data, and may be shown too.
    """
    try:
        yield
    except duckdb.Error as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from None
        raise explain(error, query, names) from None
    except RuntimeError as error:  # fetching turns Ctrl-C into this
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from None
        raise
    except OverflowError:
        raise QueryError("a value is too large for Python; cast it to VARCHAR, or write the result to a file") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise explain(error, query, names) from None  # Arrow, reading rows from DuckDB, passes on DuckDB's message


def _is_interrupt(error: duckdb.Error) -> bool:
    """Return whether an error of DuckDB means Ctrl-C, which may arrive within a function."""
    inner = _OWN.match(str(error))
    return isinstance(error, duckdb.InterruptException) or bool(inner and inner[1] == "KeyboardInterrupt")


def explain(error: duckdb.Error | OSError, query: str | None = None, names: Collection[str] = ()) -> CusTextError:
    """Return an error of DuckDB in words that quote no data."""
    message, words = str(error), QueryWords.read(query, names)
    told = (
        _explain_own(message)
        or explain_data(message, words)
        or _explain_syntax(message, words, query)
        or _explain_query(message, words)
        or _explain_machine(message, words)
        or (_DAMAGED if is_damaged(error) else None)
    )
    kind = type(error).__name__.removesuffix("Exception")
    failed = f"the query failed with DuckDB's {kind} error" if isinstance(error, duckdb.Error) else "the query failed"
    return QueryError(told or f"{failed}; its message is not shown because it may quote data")


def _explain_own(message: str) -> str | None:
    """Return the message of an error that one of our functions raised."""
    if not (found := _OWN.match(message)):
        return None
    kind, words = found[1], found[2].strip()
    if words in own_messages:
        return words
    is_known = hasattr(builtins, kind) or hasattr(errors, kind)  # any other name may be data
    return f"a function failed{f' with {kind}' if is_known else ''}; its message is not shown because it may quote data"


def _explain_syntax(message: str, words: QueryWords, query: str | None) -> str | None:
    """Return what cannot be parsed, and where; the line that DuckDB shows may contain a text."""
    if not message.startswith(_PARSER):
        return None
    near, unfinished = _NEAR.match(message), _UNFINISHED.match(message)
    told = "syntax error" if near else unfinished[1] if unfinished else "the query cannot be parsed"
    token = words.find_name(near[1]) if near else None
    return f"{_PARSER}{told}" + (f' at or near "{token}"' if token else "") + _find_place(query or "")


def _find_place(query: str) -> str:
    """Return where DuckDB's parser stops, by line and character; nothing if it does not."""
    with duckdb.connect(config={"errors_as_json": True}) as parser:
        try:
            parser.extract_statements(query)
        except duckdb.ParserException as error:
            before = query.encode()[: int(json.loads(str(error)[len(_PARSER) :]).get("position", 0))].decode()
            return f" (line {before.count(chr(10)) + 1}, character {len(before) - before.rfind(chr(10))})"
    return ""


def _explain_query(message: str, words: QueryWords) -> str | None:
    """Return what is wrong with the query itself, or with the files that it names."""
    if extension := _EXTENSION.match(message):
        name = extension[1]
        how = f"INSTALL {name}; LOAD {name}"
        return f"the query needs DuckDB's {name} extension; in Python, on custext_sql.connect(), run: {how}"
    if message.startswith(_WRITES):
        return "a query can only return rows, but its WITH clause writes; to write its rows, use --output or --into"
    told = None if words.is_dynamic else fill_template(message, words)
    used = _USED.search(told or "")
    return f"{told} The function is {_SIGNATURES[used[1]]}." if used else told


def _explain_machine(message: str, words: QueryWords) -> str | None:
    """Return what the operating system lacks or does not allow."""
    if not _FROM_THE_MACHINE.match(message):
        return None
    problem = tell_failure(message)
    file = _FILE_AT_FAULT.search(message)
    shown = words.find_file(file[1]) if file else None
    return f"{shown}: {problem}" if problem and shown else problem
