"""The files of an input, and their format by the endings of their names."""

import re
from contextlib import suppress
from itertools import islice
from pathlib import Path

from custext_sql.errors import SettingError, SourceError
from custext_sql.parameters import find_closest

STANDARD = "-"  # standard input or output
DATA_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".txt": "text",
}
FORMAT_NAMES = tuple(dict.fromkeys(DATA_FORMATS.values()))
_EXPECTED = "a name that ends in .csv, .tsv, .json, .jsonl, .parquet or .txt (all but .parquet also with .gz)"
_DATABASES = (".duckdb", ".ddb", ".db")
_SHOWN_NAMES = {"json": "JSON", "parquet": "Parquet", "text": "lines of text"}
_EXPORTS = {
    **dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), "spreadsheets are not supported; save the sheet as CSV"),
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".pdf"), "documents are not supported; save the text as .txt"),
}
_FILE = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,7}")  # one word with an ending, such as notes.md
_SIBLINGS = 1000  # files of a folder that are compared with a misspelled name


def tell_format(path: str | Path) -> str | None:
    """Return the format that the ending of a name stands for, None if it stands for none."""
    *before, last = ["", *(suffix.lower() for suffix in Path(path).suffixes)]
    if last == ".gz":
        found = DATA_FORMATS.get(before[-1])
        return None if found == "parquet" else found
    return DATA_FORMATS.get(last)


def is_zipped(path: Path) -> bool:
    """Return whether a file is gzipped, by its name."""
    return path.suffix.lower() == ".gz"


def has_object_per_line(path: Path) -> bool:
    """Return whether a JSON file has one object per line, by its name: all endings but .json say so."""
    return not path.name.lower().removesuffix(".gz").endswith(".json")


def choose_format(name: str, format: str | None, in_python: str = "sanitize_table") -> str:
    """Return the format of an input: the given one, else that of its files' names; errors say what is wrong.

    in_python: the function or class that takes a table of a DuckDB file instead.
    """
    found = tell_format(list_files(name)[0]) if format is None else check_format(format)
    ending = Path(name).suffix.lower()
    if ending in _DATABASES and (format is not None or found is None):  # opening it as text could drop DuckDB's locks
        raise SourceError(
            f"{name}: a DuckDB file is read by its tables: --data {name} --table NAME (in Python: {in_python})"
        )
    if found is None:
        other = "or the format: --format csv, tsv, json, parquet or text (in Python: format=...)"
        raise SourceError(f"{name}: {_EXPORTS.get(ending) or f'cannot tell the format; expected {_EXPECTED}, {other}'}")
    return found


def check_format(format: object) -> str:
    """Return a format if its name is known; SettingError otherwise."""
    if not isinstance(format, str) or format not in FORMAT_NAMES:
        nearest = find_closest(format, FORMAT_NAMES) if isinstance(format, str) else None
        hint = f"did you mean {nearest!r}?" if nearest else f"formats: {', '.join(FORMAT_NAMES)}"
        raise SettingError(f"format {format!r} does not exist; {hint}")
    return format


def check_csv_options(name: str, format: str, *, quotes: bool, header: bool = True) -> None:
    """Raise a SettingError if files of another format are given options of CSV and TSV. name: what errors call them."""
    if format not in ("csv", "tsv") and not (quotes and header):
        option = "--no-header (in Python: header=False)" if quotes else "--no-quotes (in Python: quotes=False)"
        raise SettingError(
            f"{name}: {option} is for CSV and TSV files; leave it out for {_SHOWN_NAMES.get(format, format)}"
        )


def list_files(path: str) -> list[Path]:
    """Return the file, the files in a folder and its subfolders, or those that match a pattern; no hidden files."""
    if not path:
        raise SourceError("the name of the input is empty")
    given = Path(path)
    try:
        exists = given.exists()
    except OSError:  # a text may be too long for the name of a file
        raise _explain_missing(path) from None
    if given.is_dir():
        found = [file for file in sorted(given.rglob("*")) if tell_format(file) and _is_visible(file, given)]
        if not found:
            raise SourceError(f"{path}: no file in this folder has {_EXPECTED}")
    elif not exists and any(mark in path for mark in "*?["):
        base = Path(given.anchor or ".")
        pattern = str(given.relative_to(given.anchor)) if given.anchor else path
        found = [file for file in sorted(base.glob(pattern)) if _is_visible(file, base)]
        if not found:
            raise SourceError(f"{path if _may_show(path) else 'the input'}: no file matches this pattern")
    elif not exists:
        raise _explain_missing(path)
    elif not given.is_file():
        raise SourceError(
            f"{path} is a pipe or a device, which can be read only once; save the data to a file first (custext "
            "sanitize also reads standard input: -)"
        )
    else:
        found = [given]
    _check_files(path, found)
    return found


def _check_files(path: str, files: list[Path]) -> None:
    """Raise a SourceError for files of different formats, and for a file that appears under two names."""
    known: dict[tuple[int, int], Path] = {}
    for file in files:
        status = file.stat()
        same = known.setdefault((status.st_dev, status.st_ino), file)
        if same is not file:
            raise SourceError(
                f"{path}: {file.name} and {same.name} are the same file; its rows would be released twice"
            )
    formats = {tell_format(file) for file in files}
    if len(formats) > 1:
        found = ", ".join(sorted("unknown" if format is None else format for format in formats))
        raise SourceError(f"{path}: expected files of one format; found {found}")


def _explain_missing(path: str) -> SourceError:
    """Return the error for an input that does not exist; it suggests a file of a similar name."""
    if not _may_show(path):
        return SourceError(
            "the input file does not exist; its name is not shown because it could be a text (to sanitize a text, run: "
            "custext sanitize TEXT)"
        )
    given, hint = Path(path), ""
    with suppress(OSError):
        siblings = [file.name for file in islice(given.parent.iterdir(), _SIBLINGS) if tell_format(file.name)]
        if nearest := find_closest(given.name, siblings):
            hint = f"; did you mean {str(given.with_name(nearest))!r}?"
    return SourceError(f"{path} does not exist{hint}")


def _may_show(path: str) -> bool:
    """Return whether a message may show the name of a missing input: anything unlike a file name may be a text."""
    is_path = tell_format(path) is not None or ("/" in path and not re.search(r"\s", path)) or _FILE.fullmatch(path)
    return bool(is_path) and path.isprintable() and len(path) < 300


def _is_visible(file: Path, base: Path) -> bool:
    return file.is_file() and not any(part.startswith(".") for part in file.relative_to(base).parts)
