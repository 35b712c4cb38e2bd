"""DuckDB's errors about files and values, told by file, line, column and expected type, without the data."""

import re

from custext_sql.errors import PLAIN_TYPE
from custext_sql.parameters import count_of
from custext_sql.sql.query_words import QueryWords
from custext_sql.text.utf8 import explain_encoding

# What is taken from a message stands before any data (match, at the start) or after it (the last one found).
_CSV = re.compile(r"(Conversion|Invalid Input) Error: CSV Error on Line: (\d+)\n")
_CSV_FILE = re.compile(r"^  file = (.+)$", re.MULTILINE)
_CSV_COLUMN = re.compile(rf"^Column (\w+) is being converted as type ({PLAIN_TYPE})", re.MULTILINE)
_COUNTED = "Expected Number of Columns: "
_CSV_COUNT = re.compile(rf"{_COUNTED}(\d+) Found: (\d+)")
_UNTERMINATED, _NOT_UTF8, _LONG = (
    "Value with unterminated quote found",
    "This file is not utf-8 encoded",
    "Maximum line size",
)
_LONGER_THAN_BUFFER = "Not implemented Error: The Parallel CSV Reader currently does not support a full read on this"
_TOO_LONG = "longer than the 16 MB that can be read; split the text into several rows, or convert the file to Parquet"
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


def explain_data(message: str, words: QueryWords) -> str | None:
    """Return what is wrong with a file or a value; None for messages of another kind."""
    for explain in (_explain_csv, _explain_json, _explain_parquet, _explain_cast):
        if told := explain(message, words):
            return told
    return None


def _explain_csv(message: str, words: QueryWords) -> str | None:
    if sniffed := _SNIFFING.match(message):
        how = "use read_csv with options" if words.strings is not None else _advise_ordinary_quotes(words)
        return f"{_show_file(sniffed[1], words)}: cannot tell how this CSV file is written; {how}"
    if message.startswith(_LONGER_THAN_BUFFER):
        return f"a line of the CSV file is {_TOO_LONG}" if words.strings is None else _advise_longer_lines("a line")
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
    return f"{where}: {_explain_line(message, words)}"


def _explain_line(message: str, words: QueryWords) -> str:
    """Return what is wrong with a line of a CSV file. Only queries that users write can be given options."""
    if _LONG in message:
        return f"the line is {_TOO_LONG}" if words.strings is None else _advise_longer_lines("the line")
    if _NOT_UTF8 in message:
        if words.strings is None:
            return explain_encoding(None)
        return "not UTF-8; name its encoding in the query: read_csv('FILE', encoding = 'latin-1'), or 'utf-16'"
    if _UNTERMINATED not in message:
        return "malformed CSV"
    return f"a quoted value has no closing quote; {_advise_ordinary_quotes(words)}"


def _advise_ordinary_quotes(words: QueryWords) -> str:
    how = "add --no-quotes (in Python: quotes=False)" if words.strings is None else "use read_csv('FILE', quote = '')"
    return f"if quotes are ordinary characters in this file, {how}"


def _advise_longer_lines(what: str) -> str:
    return (
        f"{what} is longer than DuckDB's limit; raise it in the query, for example: read_csv('FILE', "
        "max_line_size = 50_000_000)"
    )


def _explain_json(message: str, words: QueryWords) -> str | None:
    if long := _JSON_LONG.match(message):
        problem = f"an object is {_TOO_LONG}"
        if words.strings is not None:
            problem = (
                "an object is longer than DuckDB's limit; raise it in the query, for example: read_json('FILE', "
                "maximum_object_size = 50_000_000)"
            )
        return f"{_show_file(long[1], words)}: {problem}"
    if not (found := _JSON.match(message)):
        return None
    what, file, byte, unit, number, encoding, expected = found.groups()
    where = f"{_show_file(file, words)}, {'line' if unit == 'line' else 'record'} {number}"
    if encoding:
        return f"{where}: {explain_encoding(None)}"
    if what == "Malformed JSON":
        return f"{where}: malformed JSON" + (f" at byte {byte}" if byte else "")
    return f"{where}: expected a {expected} value" if expected else f"{where}: a value has an unexpected type"


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
