"""The query that releases rows, checked beforehand; columns that are not sanitized are copied unchanged."""

import duckdb

from custext_sql.release.inputs.row_readers import choose_reader, read_record
from custext_sql.release.inputs.source import Source
from custext_sql.release.release_functions import RELEASE, SPEND, ReleaseFunctions
from custext_sql.release.release_plan import ReleasePlan, check_chosen, check_ids, refuse_over
from custext_sql.release.unquoted_fields import UnquotedFields
from custext_sql.replacing.tally import Tally
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.files.quoting import quote_name
from custext_sql.store.ledger.entry import LedgerEntry


def prepare_query(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    target_format: str,
    plan: ReleasePlan,
    entry: LedgerEntry,
    *,
    unquoted: UnquotedFields | None = None,
) -> tuple[str, Tally, tuple[str, ...]]:
    """Check everything that can be checked before the release, and prepare it.

    unquoted: for output that is written without quotes. Return the query, the tally that its run will fill, and the
    columns that it copies unchanged.
    """
    chosen = _check_columns(source, plan)
    column = None if plan.record_column is None else source.find_column(plan.record_column, plan.columns)
    reader = choose_reader(source, chosen, column, target_format)
    record = None if column is None else read_record(source, column, target_format)
    if column is not None and record is not None:
        _check_records(connection, source.name, column, f"SELECT {record} AS custext_record FROM {reader}")
    copied = tuple(name for name in source.columns if name not in chosen)
    if unquoted is not None:
        unquoted.check_copied(connection, source, reader, copied)
    functions = ReleaseFunctions(plan.sanitizer, chosen, keyed=bool(record), unquoted=unquoted)
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
    return query, functions.tally, copied


def _check_columns(source: Source, plan: ReleasePlan) -> list[str]:
    typed = [*plan.columns, *([] if plan.record_column is None else [plan.record_column])]
    chosen = [source.find_text_column(column, typed) for column in plan.columns]
    check_chosen(chosen, source.name, source.tell_columns())
    plan.check_record_column()
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
