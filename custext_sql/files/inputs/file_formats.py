"""The formats of data files, by the endings of their names."""

from pathlib import Path

from custext_sql.errors import SettingError, SourceError
from custext_sql.parameters import find_closest

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
EXPECTED_NAMES = "a name that ends in .csv, .tsv, .json, .jsonl, .parquet or .txt (all but .parquet also with .gz)"
_DATABASES = (".duckdb", ".ddb", ".db")
_SHOWN_NAMES = {"json": "JSON", "parquet": "Parquet", "text": "lines of text"}
_EXPORTS = {
    **dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), "spreadsheets are not supported; save the sheet as CSV"),
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".pdf"), "documents are not supported; save the text as .txt"),
}


def tell_format(path: str | Path) -> str | None:
    """Return the format that the ending of a name stands for, None if it stands for none."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        found = DATA_FORMATS.get(suffixes[-2]) if len(suffixes) > 1 else None
        return None if found == "parquet" else found
    return DATA_FORMATS.get(suffixes[-1]) if suffixes else None


def is_zipped(path: Path) -> bool:
    """Return whether a file is gzipped, by its name."""
    return path.suffix.lower() == ".gz"


def has_object_per_line(path: Path) -> bool:
    """Return whether a JSON file has one object per line, by its name: all endings but .json say so."""
    return not path.name.lower().removesuffix(".gz").endswith(".json")


def check_format(format: str) -> str:
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


def check_no_database(name: str, in_python: str = "sanitize_table") -> None:
    """Raise a SourceError for the name of a DuckDB file: opening it as a text file could drop DuckDB's locks on it.

    in_python: the function or class that takes a table instead.
    """
    if Path(name).suffix.lower() in _DATABASES:
        raise SourceError(
            f"{name}: a DuckDB file is read by its tables: --data {name} --table NAME (in Python: {in_python})"
        )


def explain_unknown_format(name: str, *, has_option: bool = False) -> SourceError:
    """Return the error for a file whose name does not end like any format. has_option: whether one can be named."""
    check_no_database(name)
    export = _EXPORTS.get(Path(name).suffix.lower())
    if export is not None:
        return SourceError(f"{name}: {export}")
    expected = f"{name}: cannot tell the format; expected {EXPECTED_NAMES}"
    if not has_option:
        return SourceError(expected)
    return SourceError(f"{expected}, or the format: --format csv, tsv, json, parquet or text (in Python: format=...)")
