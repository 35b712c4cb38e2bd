"""The query that releases rows, checked beforehand; columns that are not sanitized are copied unchanged."""

from collections.abc import Sequence

import duckdb

from custext_sql.errors import SettingError, SourceError
from custext_sql.parameters import count_of
from custext_sql.release.inputs.source import Source
from custext_sql.release.release_functions import RELEASE, SPEND, ReleaseFunctions
from custext_sql.release.release_plan import ReleasePlan, refuse_over
from custext_sql.replacing.tally import Tally
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.files.quoting import quote_name, quote_text
from custext_sql.store.ledger.entry import LedgerEntry


def prepare_query(
    connection: duckdb.DuckDBPyConnection, source: Source, target_format: str, plan: ReleasePlan, entry: LedgerEntry
) -> tuple[str, Tally, tuple[str, ...]]:
    """Check everything that can be checked before the release, and prepare it.

    Return the query, the tally that its run will fill, and the columns that it copies unchanged.
    """
    chosen = _check_columns(source, plan)
    column = None if plan.record_column is None else source.find_column(plan.record_column, plan.columns)
    reader = _choose_reader(source, chosen, column, target_format)
    record = None if column is None else _read_record(source, column, target_format)
    if column is not None and record is not None:
        _check_records(connection, source.name, column, f"SELECT {record} AS custext_record FROM {reader}")
    functions = ReleaseFunctions(plan.sanitizer, chosen, keyed=bool(record))
    functions.register(connection)
    if plan.sanitizer.draws == "seeded":
        connection.execute("SET threads = 1")  # draws repeat only if made in the order of the rows
    fields = [f"c{number} := CAST({quote_name(column)} AS VARCHAR)" for number, column in enumerate(chosen)]
    fields += [f"record := {record}"] if record else []
    packed = f"struct_pack({', '.join(fields)})"
    if plan.limits_rows:
        entry.check(_check_spending(connection, source, f"SELECT {SPEND}({packed}) AS spent FROM {reader}", plan))
    made = "custext_released"
    while made in {name.lower() for name in source.columns}:
        made += "_"
    new = ", ".join(f"{made}.c{number} AS {quote_name(column)}" for number, column in enumerate(chosen))
    query = f"SELECT * EXCLUDE ({made}) REPLACE ({new}) FROM (SELECT *, {RELEASE}({packed}) AS {made} FROM {reader})"
    return query, functions.tally, tuple(name for name in source.columns if name not in chosen)


def _choose_reader(source: Source, chosen: Sequence[str], record: str | None, target_format: str) -> str:
    """Return what to select from so that columns that are not sanitized stay unchanged.

    A record is the text in the file, whatever the output format, so its column is never converted.
    """
    if source.exact_reader is not None:
        if target_format in ("csv", "tsv"):
            return source.exact_reader
        types = "" if record is None else f", types = {{{quote_text(record)}: 'VARCHAR'}}"
        return f"{source.reader[:-1]}{types})"
    if source.format == "json":
        texts = (*chosen, *(() if record is None or target_format == "json" else (record,)))
        kinds = source.columns if target_format != "json" else dict.fromkeys(source.columns, "JSON")
        kinds = kinds | dict.fromkeys(texts, "VARCHAR")
        listed = ", ".join(f"{quote_text(column)}: {quote_text(kind)}" for column, kind in kinds.items())
        return f"{source.reader[:-1]}, columns = {{{listed}}})"
    return source.reader


def _read_record(source: Source, record: str, target_format: str) -> str:
    """Return SQL for the text of a row's record."""
    column = quote_name(record)
    if source.format == "json" and target_format == "json":
        return f"({column} ->> '$')"
    return f"CAST({column} AS VARCHAR)"


def _check_columns(source: Source, plan: ReleasePlan) -> list[str]:
    typed = [*plan.columns, *([] if plan.record_column is None else [plan.record_column])]
    chosen = [source.find_text_column(column, typed) for column in plan.columns]
    if not chosen:
        raise SettingError(
            f"{source.name}: name the columns to sanitize: --column NAME (in Python: columns=[...]); "
            f"{source.tell_columns()}"
        )
    if len(set(chosen)) < len(chosen):
        raise SettingError("--column (in Python: columns) names a column twice")
    if plan.sanitizer.key is not None and plan.record_column is None:
        raise SettingError(
            "draws from a key need a column of IDs, one per row: --record-column NAME (in Python: record_column=...)"
        )
    if plan.sanitizer.key is None and plan.record_column is not None:
        raise SettingError(
            "--record-column (in Python: record_column) is for draws from a key; name the key: --key-file PATH (in "
            "Python: key_file=...)"
        )
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
    if missing:
        raise SourceError(
            f"{name}: column {column!r} is NULL in {count_of(int(missing), 'row')}; every row needs an ID"
        )
    if repeated:
        values = count_of(int(repeated), "value")
        occur = "occurs" if repeated == 1 else "occur"
        raise SourceError(f"{name}: {values} of column {column!r} {occur} more than once; IDs must be unique")


def _check_spending(connection: duckdb.DuckDBPyConnection, source: Source, query: str, plan: ReleasePlan) -> float:
    """Return the most that a row would spend; BudgetError if that is over the limit."""
    limit = plan.max_row_eps
    with safe_errors():
        [(largest, over)] = fetch(
            connection,
            f"SELECT max(spent), count(*) FILTER (spent > {repr(limit) if limit else 'NULL'}) FROM ({query})",
        )
    if over and limit is not None:
        refuse_over(source.name, limit, largest, over)
    return float(largest or 0.0)
