"""What DuckDB finds wrong with files and values, told by file, line, column and expected type, without the data."""

import re

from custext_sql.errors import PLAIN_TYPE
from custext_sql.sql.query_words import QueryWords

# What is taken from a message stands before the data in it (match, at the beginning) or behind it (the last one found).
_CSV = re.compile(r"(Conversion|Invalid Input) Error: CSV Error on Line: (\d+)\n")
_CSV_FILE = re.compile(r"^  file = (.+)$", re.MULTILINE)
_CSV_COLUMN = re.compile(rf"^Column (\w+) is being converted as type ({PLAIN_TYPE})", re.MULTILINE)
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
_UNREADABLE = re.compile(r'Invalid Input Error: Failed to read file "(.+?)": (schema mismatch)?')
_CAST_COLUMN = re.compile(r" when casting from source column (\w+)")
_CAST_TYPE = re.compile(rf" to (?:the destination type )?({PLAIN_TYPE})\s*$")


def explain_data(message: str, words: QueryWords) -> str | None:
    """Return what is wrong with a file or a value; None if the message is of another kind."""
    for explain in (_explain_csv, _explain_json, _explain_parquet, _explain_cast):
        if told := explain(message, words):
            return told
    return None


def _explain_csv(message: str, words: QueryWords) -> str | None:
    if sniffed := _SNIFFING.match(message):
        return f"{_show_file(sniffed[1], words)}: DuckDB cannot tell how this CSV file is made; say it with read_csv"
    if not (line := _CSV.match(message)):
        return None
    *_, file = ["", *_CSV_FILE.findall(message)]
    where = f"{_show_file(file.strip(), words)}, line {line[2]}"
    if line[1] == "Conversion":
        *_, (name, expected) = [("", "another type"), *_CSV_COLUMN.findall(message)]
        column = words.find_column(name)
        return f"{where}, column {column}: expected {expected}" if column else f"{where}: expected {expected}"
    if counts := _CSV_COUNT.findall(message):
        return f"{where}: expected {counts[-1][0]} columns, found {counts[-1][1]}"
    return f"{where}: {next((told for sign, told in _CSV_PROBLEMS.items() if sign in message), 'malformed CSV')}"


def _explain_json(message: str, words: QueryWords) -> str | None:
    if not (found := _JSON.match(message)):
        return None
    what, file, byte, unit, number, expected = found.groups()
    where = f"{_show_file(file, words)}, {'line' if unit == 'line' else 'record'} {number}"
    if what == "Malformed JSON":
        return f"{where}: malformed JSON" + (f" at byte {byte}" if byte else "")
    return f"{where}: expected a {expected} value" if expected else f"{where}: a value has another type than expected"


def _explain_parquet(message: str, words: QueryWords) -> str | None:
    if found := _PARQUET.match(message):
        return f"{_show_file(found[1], words)}: expected a whole Parquet file"
    if found := _UNREADABLE.match(message):
        problem = "its columns are not those of the first file" if found[2] else "the file is damaged"
        return f"{_show_file(found[1], words)}: {problem}"
    return None


def _explain_cast(message: str, words: QueryWords) -> str | None:
    if not message.startswith("Conversion Error: "):
        return None
    *_, column = [None, *_CAST_COLUMN.finditer(message)]
    before = message[: column.start()] if column else message.splitlines()[0]
    expected = _CAST_TYPE.search(re.split("[\"']", before)[-1])
    name = words.find_column(column[1]) if column else None
    told = f"expected {expected[1]}" if expected else "a value cannot be converted as the query asks"
    return f"column {name}: {told}" if name else told


def _show_file(name: str, words: QueryWords) -> str:
    return words.find_file(name) or "a file"
