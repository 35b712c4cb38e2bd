"""Files and tables in, files out: how DuckDB reads each, and how it writes them."""

import csv
import difflib
import gzip
import re
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from custext_sql.errors import OutputError, SourceError, tell_type
from custext_sql.sql.query_errors import safe_errors

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
_STRINGS = ("VARCHAR", "DATE", "TIME", "TIMESTAMP", "UUID", '"NULL"')
_WITHOUT_NAMES = {"csv": "named in its first line", "tsv": "named in its first line", "json": "the keys of its objects"}
_PATTERN = re.compile(r"[*?\[]")  # what DuckDB would take for a pattern


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
    table: tuple[str, str] | None = None  # schema and name, as the catalog has them

    def find_column(self, name: str, typed: Collection[str] = ()) -> str:
        """Return the column of that name, in whatever case. typed: other names that the user gave for columns."""
        alike = [column for column in self.columns if column.lower() == name.lower()]
        if name in self.columns or len(alike) == 1:
            return name if name in self.columns else alike[0]
        nearest = difflib.get_close_matches(name, self.list_names(typed), n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else self.tell_columns(typed)
        raise SourceError(f"{self.name}: there is no column {name}; {hint}")

    def list_names(self, typed: Collection[str] = ()) -> list[str]:
        """Return the names of columns that a message may show.

        The first line of a CSV file is data if there is no header, and keys of JSON objects may be data too. They are
        taken for names only if a name that the user typed is among them.
        """
        known = {column.lower() for column in self.columns}
        is_named = self.format not in _WITHOUT_NAMES or any(name.lower() in known for name in typed)
        return list(self.columns) if is_named else []

    def tell_columns(self, typed: Collection[str] = ()) -> str:
        """Say which columns there are, or else how many and where their names are expected."""
        names = self.list_names(typed)
        if names or self.format not in _WITHOUT_NAMES:
            return f"columns: {', '.join(names)}"
        return f"it has {len(self.columns)}, {_WITHOUT_NAMES[self.format]}"

    def find_text_column(self, name: str, typed: Collection[str] = ()) -> str:
        """Return the column of that name if it holds texts."""
        column = self.find_column(name, typed)
        kind = self.columns[column]
        if not kind.startswith(_STRINGS if self.format == "json" else ("VARCHAR", "ENUM")) or kind.endswith("]"):
            raise SourceError(f"{self.name}: column {column} holds {tell_type(kind)}, not text")
        return column


def tell_format(path: str | Path) -> str | None:
    """By the ending of a name."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        found = FORMATS.get(suffixes[-2]) if len(suffixes) > 1 else None
        return None if found == "parquet" else found
    return FORMATS.get(suffixes[-1]) if suffixes else None


def list_files(path: str) -> list[Path]:
    """Return the file, those of a folder and of its folders, or those that a pattern matches; none that is hidden."""
    if not path:
        raise SourceError("the name of the file is empty")
    given = Path(path)
    if not _may_exist(given):
        raise SourceError(f"{_show_input(path)}: there is no such file")
    if given.is_dir():
        found = [file for file in sorted(given.rglob("*")) if tell_format(file) and _is_visible(file, given)]
        if not found:
            raise SourceError(f"{path}: there is no file to read in this folder: {_KNOWN}")
    elif not given.exists() and any(mark in path for mark in "*?["):
        base = Path(given.anchor or ".")
        pattern = str(given.relative_to(given.anchor)) if given.anchor else path
        found = [file for file in sorted(base.glob(pattern)) if file.is_file() and _is_visible(file, base)]
        if not found:
            raise SourceError(f"{_show_input(path)}: no file matches")
    elif not given.exists():
        raise SourceError(f"{_show_input(path)}: there is no such file")
    else:
        found = [given]
    known: dict[tuple[int, int], Path] = {}
    for file in found:
        status = file.stat()
        same = known.setdefault((status.st_dev, status.st_ino), file)
        if same is not file:
            raise SourceError(f"{path}: {file.name} is the same file as {same.name}; its rows would be released twice")
    formats = {tell_format(file) for file in found}
    if len(formats) > 1:
        raise SourceError(f"{path}: expected files of one format; found {', '.join(sorted(map(str, formats)))}")
    return found


def open_files(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], *, format: str | None = None
) -> Source:
    """A source of one or more files of one format and with the same columns."""
    found = format or tell_format(files[0])
    if found is None:
        raise SourceError(f"{name}: cannot tell the format; expected {_KNOWN}; or say it with --format")
    if found == "text":
        return Source(name, "text", "", {"text": "VARCHAR"})
    listed = "[" + ", ".join(quote(_PATTERN.sub(r"[\g<0>]", str(file))) for file in files) + "]"
    opener = {"parquet": _open_parquet, "json": _open_json}.get(found, _open_csv)
    with safe_errors():
        return opener(connection, name, files, found, listed)


def _open_parquet(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], format: str, listed: str
) -> Source:
    reader = f"read_parquet({listed}, hive_partitioning = false)"
    columns = _describe(connection, reader)
    first = None
    for file in files:
        names = _read_parquet_names(file)
        _check_names(name, names)
        if first is None:
            first = set(names)
        elif set(names) != first:
            raise SourceError(f"{name}: the columns of {file.name} are not those of {files[0].name}")
    return Source(name, format, reader, columns)


def _read_parquet_names(file: Path) -> list[str]:
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(file).names)
    except (OSError, UnicodeDecodeError, pa.ArrowException):
        raise SourceError(f"{file}: expected a whole Parquet file") from None


def _open_json(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], format: str, listed: str
) -> Source:
    layout = "newline_delimited" if tell_layout(files[0]) else "auto"
    options = f"format = '{layout}', hive_partitioning = false"
    keys = connection.execute(
        f"SELECT DISTINCT unnest(json_keys(json)) FROM read_json_objects({listed}, {options})"
    ).fetchall()
    _check_names(name, [key for (key,) in keys])
    everything = f"sample_size = -1, maximum_sample_files = {len(files) + 1}"
    columns = _describe(connection, f"read_json({listed}, {options}, {everything})")
    return Source(name, format, f"read_json({listed}, {options})", columns)


def _open_csv(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], format: str, listed: str
) -> Source:
    delimiters = ("\t",) if format == "tsv" else (",", ";", "\t", "|")
    delimiter, header = _read_header(files[0], delimiters)
    if not all(header):
        raise SourceError(f"{name}: the first line must name the columns; one of them has no name")
    _check_names(name, header)
    for file in files[1:]:
        if _read_header(file, delimiters) != (delimiter, header):
            raise SourceError(f"{name}: the first line of {file.name} is not that of {files[0].name}")
    options = (
        f"header = true, delim = {quote(delimiter)}, quote = '\"', escape = '\"', comment = '', skip = 0, "
        "allow_quoted_nulls = false, null_padding = false, hive_partitioning = false"
    )
    kinds = ", ".join(f"{quote(column)}: 'VARCHAR'" for column in header)
    names = ", ".join(map(quote, header))
    exact = f"read_csv({listed}, {options}, auto_detect = false, columns = {{{kinds}}})"
    typed = f"read_csv({listed}, {options}, names = [{names}])"
    try:
        columns = _describe(connection, typed)
    except duckdb.Error:
        connection.execute(f"SELECT count(*) FROM {exact}").fetchall()  # its error names the line
        raise
    return Source(name, format, typed, columns, exact, delimiter)


def _check_names(name: str, columns: Sequence[str]) -> None:
    """Refuse names that DuckDB, which ignores case, would change: a column could then pass for another."""
    if len({column.lower() for column in columns}) < len(columns):
        raise SourceError(f"{name}: two columns have the same name, but for its case; rename one of them")


def tell_layout(file: Path) -> bool:
    """Whether a JSON file has an object a line, by its name."""
    return not file.name.lower().removesuffix(".gz").endswith(".json")


def open_table(connection: duckdb.DuckDBPyConnection, name: str, table: str) -> Source:
    """Return a table or view of a connection as a source.

    It must be in the catalog: DuckDB would take an unknown name for that of a file, whose first line may be data.
    """
    with safe_errors():
        known = connection.execute(
            "SELECT database_name, schema_name, table_name AS name FROM duckdb_tables() UNION ALL "
            "SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal "
            "ORDER BY schema_name <> 'main', name"
        ).fetchall()
        found: dict[str, tuple[str, ...]] = {}
        for parts in known:
            for given in (parts[2:], parts[1:], parts):  # the name alone, with its schema, with its database too
                found.setdefault(".".join(given).lower(), parts)
        if table.lower() not in found:
            names = list(dict.fromkeys(parts[-1] for parts in known))
            nearest = difflib.get_close_matches(table, names, n=1)
            hint = f"did you mean {nearest[0]}?" if nearest else f"tables: {', '.join(names) or 'none'}"
            raise SourceError(f"{name}: there is no table {table}; {hint}")
        _, schema, exact = found[table.lower()]
        reader = ".".join(map(identifier, found[table.lower()]))
        return Source(f"{name}, table {table}", "table", reader, _describe(connection, reader), table=(schema, exact))


def choose_reader(source: Source, chosen: Sequence[str], record: str | None, target_format: str) -> str:
    """What to select from so that columns which are not sanitized come out as they went in.

    A record is the text of the file, whatever the output: so its column is not converted on the way.
    """
    if source.exact_reader is not None:
        if target_format in ("csv", "tsv"):
            return source.exact_reader
        return source.reader if record is None else f"{source.reader[:-1]}, types = {{{quote(record)}: 'VARCHAR'}})"
    if source.format == "json":
        texts = (*chosen, *(() if record is None or target_format == "json" else (record,)))
        kinds = ", ".join(
            f"{quote(column)}: {quote('VARCHAR' if column in texts else 'JSON' if target_format == 'json' else kind)}"
            for column, kind in source.columns.items()
        )
        return f"{source.reader[:-1]}, columns = {{{kinds}}})"
    return source.reader


def read_record(source: Source, record: str, target_format: str) -> str:
    """SQL for the text of a record."""
    column = identifier(record)
    if source.format == "json" and target_format == "json":
        return f"({column} ->> '$')"
    return f"CAST({column} AS VARCHAR)"


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
    found = {}
    try:
        for delimiter in delimiters:
            with opener(file, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
                found[delimiter] = [field.strip() for field in next(csv.reader(lines, delimiter=delimiter), [])]
    except (OSError, EOFError, zlib.error, csv.Error):
        raise SourceError(f"{file}: the first line cannot be read") from None
    best = max(found, key=lambda delimiter: len(found[delimiter]))
    return best, found[best]


def _may_exist(path: Path) -> bool:
    """Return whether a file could have that name, which may be too long for one."""
    try:
        path.exists()
    except OSError:
        return False
    return True


def _show_input(path: str) -> str:
    """Return how a message names an input that is not there: what does not look like a file may be a text."""
    is_path = tell_format(path) is not None or ("/" in path and not re.search(r"\s", path))
    return path if is_path and path.isprintable() and len(path) < 300 else "the input"


def _is_visible(file: Path, base: Path) -> bool:
    return file.is_file() and not any(part.startswith(".") for part in file.relative_to(base).parts)
