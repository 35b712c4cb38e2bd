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
from functools import cache

import duckdb

from custext_sql import errors
from custext_sql.errors import PLAIN_TYPE, CusTextError, QueryError, are_plain, tell_failure
from custext_sql.parameters import count_of
from custext_sql.sql.query_words import QueryWords
from custext_sql.store.duckdb_files import is_damaged
from custext_sql.text.utf8 import explain_encoding

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
        or _explain_csv(message, words)
        or _explain_json(message, words)
        or _explain_parquet(message, words)
        or _explain_cast(message, words)
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
    told = None if words.is_dynamic else _fill_template(message, words)
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


# What is taken from a message stands before any data (match, at the start) or after it (the last one found).
_CSV = re.compile(r"(Conversion|Invalid Input) Error: CSV Error on Line: (\d+)\n")
_CSV_FILE = re.compile(r"^  file = (.+)$", re.MULTILINE)
_CSV_COLUMN = re.compile(rf"^Column (\w+) is being converted as type ({PLAIN_TYPE})", re.MULTILINE)
_COUNTED = "Expected Number of Columns: "
_CSV_COUNT = re.compile(rf"{_COUNTED}(\d+) Found: (\d+)")
_LONGER_THAN_BUFFER = "Not implemented Error: The Parallel CSV Reader currently does not support a full read on this"
_SNIFFING = re.compile(r'Invalid Input Error: Error when sniffing file "(.+?)"\.')
_JSON = re.compile(
    r'Invalid Input Error: (Malformed JSON|JSON transform error) in file "(.+?)",(?: at byte (\d+))?'
    r" in (line|record/value) (\d+): "
    r"(?:(invalid UTF-8)|Failed to cast value to (numerical|boolean|date|timestamp|time)\b)?"
)
_JSON_LONG = re.compile(r'Invalid Input Error: "maximum_object_size" of \d+ bytes exceeded while reading file "(.+?)"')
_PARQUET = re.compile(
    r"Invalid Input Error: (?:No magic bytes found at end of file|Footer length error in file|File) '(.+?)'"
    r"(?: too small to be a Parquet file)?$",
    re.MULTILINE,
)
_UNREADABLE = re.compile(r'Invalid Input Error: Failed to read file "(.+?)": (schema mismatch)?')
_CAST_COLUMN = re.compile(r" when casting from source column (\w+)")
_CAST_TYPE = re.compile(rf" to (?:the destination type )?({PLAIN_TYPE})\s*$")


def _explain_csv(message: str, words: QueryWords) -> str | None:
    if sniffed := _SNIFFING.match(message):
        how = _advise_ordinary_quotes(words) if words.strings is None else "use read_csv with options"
        return f"{_show_file(sniffed[1], words)}: cannot tell how this CSV file is written; {how}"
    if message.startswith(_LONGER_THAN_BUFFER):
        what = "a line of the CSV file" if words.strings is None else "a line"
        return _explain_length(what, words, "read_csv", "max_line_size")
    if not (line := _CSV.match(message)):
        return None
    *_, file = ["", *_CSV_FILE.findall(message)]
    where = f"{_show_file(file.strip(), words)}, line {line[2]}"
    if line[1] == "Conversion":
        *_, (name, expected) = [("", "a value of another type"), *_CSV_COLUMN.findall(message)]
        column = words.find_column(name)
        return f"{where}, column {column!r}: expected {expected}" if column else f"{where}: expected {expected}"
    if counts := _CSV_COUNT.findall(message):
        hint = f"; {_advise_ordinary_quotes(words)}" if '"' in message.partition(_COUNTED)[0] else ""
        return f"{where}: expected {count_of(int(counts[-1][0]), 'column')}, found {counts[-1][1]}{hint}"
    problem = "malformed CSV"
    if "Maximum line size" in message:
        problem = _explain_length("the line", words, "read_csv", "max_line_size")
    elif "This file is not utf-8 encoded" in message:
        how = "not UTF-8; name its encoding in the query: read_csv('FILE', encoding = 'latin-1'), or 'utf-16'"
        problem = explain_encoding(None) if words.strings is None else how
    elif "Value with unterminated quote found" in message:
        problem = f"a quoted value has no closing quote; {_advise_ordinary_quotes(words)}"
    return f"{where}: {problem}"


def _advise_ordinary_quotes(words: QueryWords) -> str:
    how = "add --no-quotes (in Python: quotes=False)" if words.strings is None else "use read_csv('FILE', quote = '')"
    return f"if quotes are ordinary characters in this file, {how}"


def _explain_length(what: str, words: QueryWords, reader: str, option: str) -> str:
    """Return a message that a line or an object is too long. Only queries that users write can be given options."""
    if words.strings is None:
        most = "longer than the 16 MB that can be read"
        return f"{what} is {most}; split the text into several rows, or convert the file to Parquet"
    how = f"{reader}('FILE', {option} = 50_000_000)"
    return f"{what} is longer than DuckDB's limit; raise it in the query, for example: {how}"


def _explain_json(message: str, words: QueryWords) -> str | None:
    if long := _JSON_LONG.match(message):
        problem = _explain_length("an object", words, "read_json", "maximum_object_size")
        return f"{_show_file(long[1], words)}: {problem}"
    if not (found := _JSON.match(message)):
        return None
    what, file, byte, unit, number, encoding, expected = found.groups()
    if encoding:
        problem = explain_encoding(None)
    elif what == "Malformed JSON":
        problem = "malformed JSON" + (f" at byte {byte}" if byte else "")
    else:
        problem = f"expected a {expected} value" if expected else "a value has an unexpected type"
    return f"{_show_file(file, words)}, {'line' if unit == 'line' else 'record'} {number}: {problem}"


def _explain_parquet(message: str, words: QueryWords) -> str | None:
    if found := _PARQUET.match(message):
        return f"{_show_file(found[1], words)}: expected a complete Parquet file"
    if found := _UNREADABLE.match(message):
        problem = "its columns do not match those of the first file" if found[2] else "the file is damaged"
        return f"{_show_file(found[1], words)}: {problem}"
    return None


def _explain_cast(message: str, words: QueryWords) -> str | None:
    if not message.startswith("Conversion Error: "):
        return None
    *_, column = [None, *_CAST_COLUMN.finditer(message)]
    before = message[: column.start()] if column else message.splitlines()[0]
    expected = _CAST_TYPE.search(re.split("[\"']", before)[-1])
    name = words.find_column(column[1]) if column else None
    told = f"expected {expected[1]}" if expected else "a value cannot be converted to the type that the query requires"
    return f"column {name!r}: {told}" if name else told


def _show_file(name: str, words: QueryWords) -> str:
    return words.find_file(name) or "a file"


# Templates of messages. What follows a template (suggestions, an excerpt of the query) is dropped. A gap is filled with
# the text of the message if that is harmless, else with dots.
_GAP = re.compile(r"<(\w+)>")
_GAPS = {  # what may stand in a gap; names, files and calls are checked again before they are shown
    "number": r"(\d{1,6})",
    "size": r"(\d+(?:\.\d)? (?:bytes|[KMGT]iB))",
    "object": r"((?:(?:Scalar|Aggregate|Table|Macro|Table Macro) Function)|Function|Table|View|Schema|Type|Macro)",
    "clause": r"(EXCLUDE|REPLACE|RENAME|WHERE|HAVING|QUALIFY|GROUP BY|ORDER BY|LIMIT|OFFSET|JOIN|VALUES|RETURNING)",
}
_OPERATOR = re.compile(r"[-+*/%<>=!~|&^@]{1,4}")
_CALL = re.compile(r"([^\s(]+)\((.*)\)", re.DOTALL)
_HIDDEN = "..."

_TEMPLATES = (
    'Binder Error: Referenced column "<name>" not found in FROM clause!',
    'Binder Error: Referenced column "<name>" was not found because the FROM clause is missing',
    'Binder Error: Referenced table "<name>" not found!',
    'Binder Error: Table "<name>" does not have a column named "<name>"',
    'Binder Error: Column "<name>" in <clause> list not found in FROM clause',
    'Binder Error: Ambiguous reference to column name "<name>"',
    'Binder Error: column "<name>" must appear in the GROUP BY clause or must be part of an aggregate function.',
    'Binder Error: Could not find key "<name>" in struct',
    "Binder Error: Cannot extract field '<name>' from expression",
    'Binder Error: COLUMN_TYPES error: Columns with names: "<name>" do not exist in the CSV File',
    'Binder Error: Invalid named parameter "<name>" for function <name>',
    "Binder Error: No function matches the given name and argument types '<call>'. You might need to add explicit type "
    "casts.",
    'Binder Error: Could not choose a best candidate function for the function call "<call>". In order to select one, '
    "please add explicit type casts.",
    "Binder Error: Macro <name>() does not support the supplied arguments. You might need to add explicit type casts.",
    "Binder Error: aggregate function calls cannot be nested",
    "Binder Error: <clause> clause cannot contain aggregates!",
    "Binder Error: Set operations can only apply to expressions with the same number of result columns",
    "Binder Error: Subquery returns <number> columns - expected 1",
    "Binder Error: ORDER term out of range - should be between 1 and <number>",
    'Catalog Error: Table with name "<name>" does not exist because schema "<name>" does not exist.',
    "Catalog Error: <object> with name <name> does not exist!",
    'IO Error: No files found that match the pattern "<file>"',
    "IO Error: Input is not a GZIP stream: <file>",
    'Invalid Input Error: Cannot execute statement of type "<name>" on database "<name>" which is attached in '
    "read-only mode!",
    "Invalid Input Error: More than one row returned by a subquery used as an expression",
    "Out of Memory Error: failed to allocate data of size <size> (<size>/<size> used)",
)


def _fill_template(message: str, words: QueryWords) -> str | None:
    """Return a message with dots in place of possible data; None if it matches no template."""
    fillers: dict[str, Callable[[str], str | None]] = {
        "name": words.find_name,
        "file": words.find_file,
        "call": lambda call: _show_call(call, words),
    }
    for parts, pattern in _compile():
        if found := pattern.match(message):
            pieces = [
                fillers[gap](piece) or _HIDDEN if gap in fillers else piece
                for gap, piece in zip(parts[1::2], found.groups(), strict=True)
            ]
            return "".join(fixed + piece for fixed, piece in zip(parts[::2], [*pieces, ""], strict=True))
    return None


def _show_call(call: str, words: QueryWords) -> str | None:
    """Return a function with the types of its arguments; with dots for the types unless all are plain."""
    found = _CALL.fullmatch(call)
    if found is None:
        return None
    name = found[1] if _OPERATOR.fullmatch(found[1]) else words.find_name(found[1])
    return f"{name or _HIDDEN}({found[2] if are_plain(found[2]) else _HIDDEN})"


@cache
def _compile() -> list[tuple[list[str], re.Pattern[str]]]:
    """Return each template in parts, every second one a gap, with its pattern; a gap at the end ends with the line."""
    made = []
    for parts in map(_GAP.split, _TEMPLATES):
        forms = [_GAPS.get(part, "(.*?)") if place % 2 else re.escape(part) for place, part in enumerate(parts)]
        made.append((parts, re.compile("".join(forms) + ("" if parts[-1] else r"(?=\n|\Z)"), re.DOTALL)))
    return made
