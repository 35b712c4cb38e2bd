"""The query that releases rows, checked beforehand; columns that are not sanitized are copied unchanged."""

import duckdb

from custext_sql.errors import SettingError, SourceError, tell_type
from custext_sql.files.inputs.row_readers import choose_reader, read_record
from custext_sql.files.inputs.source import Source
from custext_sql.files.opening import check_chosen, check_ids, check_record_column
from custext_sql.files.release_functions import RELEASE, register_rows
from custext_sql.files.unquoted_fields import UnquotedFields
from custext_sql.ledger.release import Release
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.quoting import quote_name


def prepare_query(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    target_format: str,
    release: Release[Sanitizer],
    *,
    unquoted: UnquotedFields | None = None,
    append: bool = False,
    without: str | None = None,
) -> str:
    """Check everything that can be checked before the release, and return its query, which fills the tally.

    unquoted: for output that is written without quotes. append: rows are found by their IDs; without: the table that
    has the IDs of rows to leave out, if it exists.
    """
    chosen = _find_columns(source, release)
    check_record_column(release.sanitizer.key, release.record_column, append=append)
    column = None if release.record_column is None else source.find_column(release.record_column, release.columns)
    if column is not None and source.format in ("parquet", "table") and source.columns[column] in ("FLOAT", "DOUBLE"):
        raise SourceError(
            f"{source.name}: column {column!r} is {tell_type(source.columns[column])}, and IDs must be integers or "
            "text: 1 and 1.0 would be different records; convert it"
        )
    reader = choose_reader(source, chosen, column, target_format)
    record = None if column is None else read_record(source, column, target_format)
    if column is not None and record is not None:
        _check_records(connection, source.name, column, f"SELECT {record} AS custext_record FROM {reader}")
    release.columns = tuple(chosen)
    release.copied = tuple(name for name in source.columns if name not in chosen)
    if append and column in chosen:
        raise SettingError(f"column {column!r} is sanitized, so the output does not have the IDs that --append needs")
    if without is not None and column is not None:
        known = f"SELECT CAST({quote_name(column)} AS VARCHAR) FROM {without} WHERE {quote_name(column)} IS NOT NULL"
        reader = f"(FROM {reader} WHERE {record} NOT IN ({known}))"
    if unquoted is not None:
        unquoted.check_copied(connection, source, reader, release.copied)
    if release.sanitizer.draws == "seeded":
        connection.execute("SET threads = 1")  # draws repeat only if made in the order of the rows
    keyed = record if release.sanitizer.key is not None else None
    register_rows(connection, release, chosen, keyed=keyed is not None, unquoted=unquoted)
    fields = [f"c{number} := CAST({quote_name(column)} AS VARCHAR)" for number, column in enumerate(chosen)]
    fields += [f"record := {keyed}"] if keyed else []
    made = "custext_released"
    while made in {name.lower() for name in source.columns}:
        made += "_"
    new = ", ".join(f"{made}.c{number} AS {quote_name(column)}" for number, column in enumerate(chosen))
    packed = f"struct_pack({', '.join(fields)})"
    return f"SELECT * EXCLUDE ({made}) REPLACE ({new}) FROM (SELECT *, {RELEASE}({packed}) AS {made} FROM {reader})"


def _find_columns(source: Source, release: Release[Sanitizer]) -> list[str]:
    typed = [*release.columns, *([] if release.record_column is None else [release.record_column])]
    chosen = [source.find_text_column(column, typed) for column in release.columns]
    check_chosen(chosen, source.name, source.tell_columns())
    return chosen


def _check_records(connection: duckdb.DuckDBPyConnection, name: str, column: str, query: str) -> None:
    """Raise a SourceError unless every row has an ID of its own."""
    with safe_errors():
        [(missing, repeated)] = fetch(
            connection,
            "SELECT coalesce(sum(n) FILTER (custext_record IS NULL), 0), "
            "count(*) FILTER (n > 1 AND custext_record IS NOT NULL) FROM "
            f"(SELECT custext_record, count(*) AS n FROM ({query}) GROUP BY custext_record)",
        )
    check_ids(name, column, int(missing), int(repeated))
