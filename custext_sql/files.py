"""Files and tables in, files out: how DuckDB reads each, and how it writes them."""

import csv
import difflib
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from custext_sql.errors import OutputError, SourceError
from custext_sql.query_errors import safe_errors

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".txt": "text",
}
_KNOWN = "a name in .csv, .tsv, .json, .jsonl, .parquet or .txt, the first four and .txt also with .gz"
# Kinds of values that JSON writes as strings, so that they are texts there.
_STRINGS = ("VARCHAR", "DATE", "TIME", "TIMESTAMP", "UUID")


@dataclass(frozen=True)
class Source:
    """Where texts come from. `reader` is SQL to select from; `exact_reader` reads columns other than those that are
    sanitized as they are written, for output in the same format.
    """

    name: str
    format: str
    reader: str
    columns: dict[str, str]  # names and types
    exact_reader: str | None = None
    delimiter: str = ","

    def find_column(self, name: str) -> str:
        """The column of that name, in whatever case."""
        alike = [column for column in self.columns if column.lower() == name.lower()]
        if name in self.columns or len(alike) == 1:
            return name if name in self.columns else alike[0]
        nearest = difflib.get_close_matches(name, self.columns, n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else self.tell_columns()
        raise SourceError(f"{self.name}: there is no column {name}; {hint}")

    def tell_columns(self) -> str:
        """Which there are; but a CSV file may lack its header, so that its first line is data."""
        if self.format in ("csv", "tsv"):
            return f"it has {len(self.columns)}, named in its first line"
        return f"there is {', '.join(self.columns)}"

    def find_text_column(self, name: str) -> str:
        """The same, if it holds texts."""
        column = self.find_column(name)
        kind = self.columns[column]
        if not kind.startswith(_STRINGS if self.format == "json" else ("VARCHAR", "ENUM")) or kind.endswith("]"):
            raise SourceError(f"{self.name}: column {column} holds {kind}, not text")
        return column


def tell_format(path: str | Path) -> str | None:
    """By the ending of a name."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        found = FORMATS.get(suffixes[-2]) if len(suffixes) > 1 else None
        return None if found == "parquet" else found
    return FORMATS.get(suffixes[-1]) if suffixes else None


def list_files(path: str) -> list[Path]:
    """The file, those of a folder and of its folders, or those that a pattern matches; never drafts or hidden ones."""
    given = Path(path)
    if given.is_dir():
        found = [file for file in sorted(given.rglob("*")) if tell_format(file) and _is_visible(file, given)]
        if not found:
            raise SourceError(f"{path}: there is no file to read in this folder: {_KNOWN}")
    elif not given.exists() and any(mark in path for mark in "*?["):
        base = Path(given.anchor or ".")
        pattern = str(given.relative_to(given.anchor)) if given.anchor else path
        found = [file for file in sorted(base.glob(pattern)) if file.is_file() and _is_visible(file, base)]
        if not found:
            raise SourceError(f"{path}: no file matches")
    elif not given.exists():
        raise SourceError(f"{path}: there is no such file")
    else:
        found = [given]
    formats = {tell_format(file) for file in found}
    if len(formats) > 1:
        raise SourceError(f"{path}: expected files of one format; found {', '.join(sorted(map(str, formats)))}")
    return found


def open_files(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], *, format: str | None = None
) -> Source:
    """A source of one or more files of one format."""
    found = format or tell_format(files[0])
    if found is None:
        raise SourceError(f"{name}: cannot tell the format; expected {_KNOWN}; or say it with --format")
    if found == "text":
        return Source(name, "text", "", {"text": "VARCHAR"})
    listed = "[" + ", ".join(quote(str(file)) for file in files) + "]"
    with safe_errors():
        if found == "parquet":
            reader = f"read_parquet({listed})"
            return Source(name, found, reader, _describe(connection, reader))
        if found == "json":
            layout = "newline_delimited" if tell_layout(files[0]) else "auto"
            reader = f"read_json({listed}, format = '{layout}')"
            return Source(name, found, reader, _describe(connection, reader))
        return _open_csv(connection, name, files, found, listed)


def _open_csv(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], format: str, listed: str
) -> Source:
    delimiter, header = _read_header(files[0], ("\t",) if format == "tsv" else (",", ";", "\t", "|"))
    if len({column.lower() for column in header}) < len(header) or not all(header):
        raise SourceError(f"{name}: the first line must name the columns, each once")
    options = f"header = true, delim = {quote(delimiter)}, quote = '\"', escape = '\"', allow_quoted_nulls = false"
    kinds = ", ".join(f"{quote(column)}: 'VARCHAR'" for column in header)
    exact = f"read_csv({listed}, {options}, auto_detect = false, columns = {{{kinds}}})"
    typed = f"read_csv({listed}, {options}, skip = 0, null_padding = false)"
    try:
        columns = _describe(connection, typed)
    except duckdb.Error:
        connection.execute(f"SELECT count(*) FROM {exact}").fetchall()  # its error names the line
        raise
    return Source(name, format, typed, columns, exact, delimiter)


def tell_layout(file: Path) -> bool:
    """Whether a JSON file has an object a line, by its name."""
    return not file.name.lower().removesuffix(".gz").endswith(".json")


def open_table(connection: duckdb.DuckDBPyConnection, name: str, table: str) -> Source:
    """A table of a connection."""
    reader = ".".join(identifier(part) for part in table.split("."))
    try:
        columns = _describe(connection, reader)
    except duckdb.CatalogException:
        names = [row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
        nearest = difflib.get_close_matches(table, names, n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else f"there is {', '.join(names) or 'none'}"
        raise SourceError(f"{name}: there is no table {table}; {hint}") from None
    return Source(f"{name}, table {table}", "table", reader, columns)


def choose_reader(source: Source, chosen: Sequence[str], target_format: str) -> str:
    """What to select from so that columns which are not sanitized come out as they went in."""
    if source.exact_reader is not None and target_format in ("csv", "tsv"):
        return source.exact_reader
    if source.format == "json" and target_format == "json":
        kinds = ", ".join(
            f"{quote(column)}: '{'VARCHAR' if column in chosen else 'JSON'}'" for column in source.columns
        )
        return source.reader[:-1] + f", columns = {{{kinds}}})"
    return source.reader


def write_options(target: Path | None, target_format: str, source: Source) -> str:
    """The options of COPY for a format."""
    delimiter = "\t" if target_format == "tsv" else source.delimiter if source.format == target_format else ","
    options = {
        "csv": f"FORMAT csv, HEADER, DELIMITER {quote(delimiter)}",
        "tsv": f"FORMAT csv, HEADER, DELIMITER {quote(delimiter)}",
        "json": "FORMAT json",
        "parquet": "FORMAT parquet",
    }[target_format]
    zipped = target is not None and target.suffix.lower() == ".gz"
    return f"{options}, COMPRESSION gzip" if zipped else options


def check_target(source_files: Sequence[Path], given: str, target: Path) -> None:
    """Refuse to write over the input, or into a folder that is read."""
    for file in source_files:
        if file.resolve() == target.resolve() or (target.exists() and file.samefile(target)):
            raise OutputError(f"{target} is the input; name another output")
    folder = Path(given)
    if folder.is_dir() and folder.resolve() in target.resolve().parents:
        raise OutputError(f"{target} lies in the input folder {given}, where the next run would read it; name another")


def quote(text: str) -> str:
    """A string of SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A name of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _describe(connection: duckdb.DuckDBPyConnection, reader: str) -> dict[str, str]:
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {reader}").fetchall()}


def _read_header(file: Path, delimiters: Sequence[str]) -> tuple[str, list[str]]:
    """What parts the fields of the first line, being that of some which makes most of them; and these."""
    opener: Any = gzip.open if file.suffix.lower() == ".gz" else open
    try:
        with opener(file, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
            start = lines.readline(1 << 20)
    except OSError as error:
        raise SourceError(f"{file}: cannot be read: {error.strerror or 'it is no gzip file'}") from None
    found = {delimiter: next(csv.reader([start], delimiter=delimiter), []) for delimiter in delimiters}
    best = max(found, key=lambda delimiter: len(found[delimiter]))
    return best, found[best]


def _is_visible(file: Path, base: Path) -> bool:
    return file.is_file() and not any(part.startswith(".") for part in file.relative_to(base).parts)
