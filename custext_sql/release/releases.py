"""Releases of files and tables, end to end: checked beforehand, counted, written whole, entered in the ledger."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from custext_sql.errors import SettingError, SourceError
from custext_sql.release.data_files import (
    Source,
    choose_reader,
    identifier,
    list_files,
    open_files,
    quote,
    read_record,
    write_options,
)
from custext_sql.release.lines import open_text, read_lines
from custext_sql.release.new_tables import find_new_table
from custext_sql.release.release_functions import RELEASE, SPEND, RowFunctions
from custext_sql.release.release_settings import Outcome, Progress, Settings, refuse_over
from custext_sql.replacing.tally import Tally
from custext_sql.sql.queries import close_in_time, fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.database import Database
from custext_sql.store.files.atomic_outputs import draft_of
from custext_sql.store.files.duckdb_files import connect_file, when_free
from custext_sql.store.files.private_folders import private_folder, scratch_folder
from custext_sql.store.ledger.entry import Entry, receipt_beside

MEMORY = "400MB"  # that DuckDB may use; what does not fit is spilled into a private folder


@contextmanager
def open_instance(
    data: Path | None = None, *, read_only: bool = False, spill: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open DuckDB within bounded memory, alone or on a DuckDB file. spill: a private folder, if there is one."""
    with scratch_folder() if spill is None else nullcontext(spill) as folder:
        config: dict[str, Any] = {
            "memory_limit": MEMORY,
            "autoinstall_known_extensions": False,
            "temp_directory": str(folder),
            **({"access_mode": "READ_ONLY"} if read_only else {}),
        }
        with safe_errors():
            if data is None:
                connection = duckdb.connect(config=config)
            else:
                connection = when_free(data, lambda: connect_file(data, config))
        try:
            yield connection
        finally:
            close_in_time(connection)


def release_to_file(
    open_source: Callable[[duckdb.DuckDBPyConnection], Source],
    target: Path,
    target_format: str,
    settings: Settings,
    database: Database,
    *,
    data: Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Sanitize columns of files, or of a table of the DuckDB file `data`, into a new file."""
    with draft_of(target, force=force) as draft:
        with open_instance(data, read_only=data is not None, spill=draft.spill) as connection:
            source = open_source(connection)
            settings = settings if data is None else _name_dataset(settings, data, source)
            entry = settings.open_entry(database, beside=receipt_beside(target))
            options = write_options(target, target_format, source)
            query, tally, copied = prepare(connection, source, target_format, settings, entry)
            rows = _run(connection, f"COPY ({query}) TO {quote(str(draft.path))} ({options})", tally, progress)
        receipt = settings.publish(entry, draft.publish, tally, source.name)
    return Outcome(rows, receipt, str(target), copied, entry.note)


def release_to_table(
    data: Path,
    open_source: Callable[[duckdb.DuckDBPyConnection], Source],
    table: str,
    settings: Settings,
    database: Database,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Sanitize columns of a table, into a new table of the same DuckDB file, within one transaction."""
    with private_folder(data.parent, data.name) as spill, open_instance(data, spill=spill) as connection:
        source = open_source(connection)
        new = find_new_table(connection, table)
        beside = data.with_name(f"{data.name}.{new}.receipt.json")
        settings = _name_dataset(settings, data, source)
        entry = settings.open_entry(database, beside=beside)
        new.check(connection, source, force=force)
        query, tally, copied = prepare(connection, source, "table", settings, entry)
        connection.execute("BEGIN")
        create = "CREATE OR REPLACE TABLE" if force else "CREATE TABLE"
        rows = _run(connection, f"{create} {new.quoted} AS {query}", tally, progress)
        with safe_errors():
            receipt = settings.publish(entry, lambda: connection.execute("COMMIT"), tally, source.name)
    return Outcome(rows, receipt, f"{data}, table {new}", copied, entry.note)


def _name_dataset(settings: Settings, data: Path, source: Source) -> Settings:
    """Return the settings with a dataset that, if it has no name, is called after the table that is read."""
    assert source.table is not None
    return replace(settings, dataset=settings.dataset.or_table(data, *source.table))


def read_texts(given: str, column: str | None, rows: int) -> list[str | None]:
    """The first texts of a column of files, or of lines."""
    files = list_files(given)
    with open_instance() as connection:
        source = open_files(connection, given, files)
        if source.format == "text":
            if column is not None:
                raise SettingError(f"{given}: lines have no columns; leave --column out")
            with open_text(files[0]) as lines:
                first = next(read_lines(lines, given), None)
            return [] if first is None else [line.rstrip("\r\n") for line in first.to_arrow().to_pylist()[:rows]]
        if column is None:
            raise SettingError(f"{given}: name the column to show: --column NAME; {source.tell_columns()}")
        name = identifier(source.find_text_column(column))
        with safe_errors():
            found = fetch(connection, f"SELECT CAST({name} AS VARCHAR) FROM {source.reader} LIMIT {rows}")
    return [text for (text,) in found]


def prepare(
    connection: duckdb.DuckDBPyConnection, source: Source, target_format: str, settings: Settings, entry: Entry
) -> tuple[str, Tally, tuple[str, ...]]:
    """Check everything that can be checked before the release.

    Returns the query, what will have counted when it has run, and which columns it copies as they are.
    """
    chosen = _check_columns(source, settings)
    column = None if settings.record_column is None else source.find_column(settings.record_column, settings.columns)
    reader = choose_reader(source, chosen, column, target_format)
    record = None if column is None else read_record(source, column, target_format)
    if column is not None and record is not None:
        _check_records(connection, source.name, column, f"SELECT {record} AS custext_record FROM {reader}")
    functions = RowFunctions(settings.sanitizer, settings.eps, settings.plus, chosen, keyed=bool(record))
    functions.register(connection)
    if settings.sanitizer.draws == "seeded":
        connection.execute("SET threads = 1")  # in the order of the rows, so that the draws repeat
    fields = [f"c{number} := CAST({identifier(column)} AS VARCHAR)" for number, column in enumerate(chosen)]
    fields += [f"record := {record}"] if record else []
    packed = f"struct_pack({', '.join(fields)})"
    if settings.limits_rows:
        entry.check(_check_spending(connection, source, f"SELECT {SPEND}({packed}) AS spent FROM {reader}", settings))
    made = "custext_released"
    while made in {name.lower() for name in source.columns}:
        made += "_"
    new = ", ".join(f"{made}.c{number} AS {identifier(column)}" for number, column in enumerate(chosen))
    query = f"SELECT * EXCLUDE ({made}) REPLACE ({new}) FROM (SELECT *, {RELEASE}({packed}) AS {made} FROM {reader})"
    return query, functions.tally, tuple(name for name in source.columns if name not in chosen)


def _run(connection: duckdb.DuckDBPyConnection, statement: str, tally: Tally, progress: Progress | None) -> int:
    told = None if progress is None else lambda share: progress(share, tally.rows, tally.words)
    with safe_errors():
        [(rows,)] = fetch(connection, statement, progress=told)
    return int(rows)


def _check_columns(source: Source, settings: Settings) -> list[str]:
    typed = [*settings.columns, *([] if settings.record_column is None else [settings.record_column])]
    chosen = [source.find_text_column(column, typed) for column in settings.columns]
    if not chosen:
        raise SettingError(f"{source.name}: name the columns to sanitize: --column NAME; {source.tell_columns()}")
    if len(set(chosen)) < len(chosen):
        raise SettingError("a column is named twice")
    if settings.sanitizer.key is not None and settings.record_column is None:
        raise SettingError("draws from a key need a record for each row: --record-column NAME, a column of ids")
    if settings.sanitizer.key is None and settings.record_column is not None:
        raise SettingError("--record-column is for draws from a key: --key-file PATH")
    return chosen


def _check_records(connection: duckdb.DuckDBPyConnection, name: str, column: str, query: str) -> None:
    """Every row must have an id of its own."""
    with safe_errors():
        [(missing, repeated)] = fetch(
            connection,
            "SELECT coalesce(sum(n) FILTER (custext_record IS NULL), 0), "
            "count(*) FILTER (n > 1 AND custext_record IS NOT NULL) FROM "
            f"(SELECT custext_record, count(*) AS n FROM ({query}) GROUP BY custext_record)",
        )
    if missing:
        raise SourceError(f"{name}: column {column} is NULL in {int(missing):,} rows; every record needs an id")
    if repeated:
        raise SourceError(
            f"{name}: {int(repeated):,} values of column {column} occur more than once; every record needs an id of "
            "its own"
        )


def _check_spending(connection: duckdb.DuckDBPyConnection, source: Source, query: str, settings: Settings) -> float:
    """The most that a row would spend, if it may."""
    limit = settings.max_row_eps
    with safe_errors():
        [(largest, over)] = fetch(
            connection,
            f"SELECT max(spent), count(*) FILTER (spent > {repr(limit) if limit else 'NULL'}) FROM ({query})",
        )
    if over and limit is not None:
        refuse_over(source.name, limit, largest, over)
    return float(largest or 0.0)
