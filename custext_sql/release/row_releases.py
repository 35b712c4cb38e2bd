"""Releases of rows, end to end: checked beforehand, counted, written completely, entered in the ledger."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb

from custext_sql.release.duckdb_instances import open_instance
from custext_sql.release.inputs.file_formats import has_object_per_line, is_zipped
from custext_sql.release.inputs.source import Source
from custext_sql.release.new_tables import find_new_table
from custext_sql.release.release_plan import ReleasePlan, RowProgress
from custext_sql.release.release_report import ReleaseReport
from custext_sql.release.row_queries import prepare_query
from custext_sql.release.unquoted_fields import UnquotedFields
from custext_sql.replacing.tally import Tally
from custext_sql.sql.copy_options import choose_copy_options
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.files.atomic_outputs import atomic_output
from custext_sql.store.files.private_folders import named_full_disk, private_folder
from custext_sql.store.files.quoting import quote_text
from custext_sql.store.ledger.entry import receipt_beside

OpenSource = Callable[[duckdb.DuckDBPyConnection], Source]

_ALMOST = 0.99  # the share done when as many rows as expected are sanitized: the number may be an estimate


def release_to_file(
    open_source: OpenSource,
    target: Path,
    target_format: str,
    plan: ReleasePlan,
    *,
    data: Path | None = None,
    is_stream: bool = False,
    force: bool = False,
    progress: RowProgress | None = None,
) -> ReleaseReport:
    """Sanitize columns of files, or of a table in the DuckDB file `data`, into a new file, and return a report.

    is_stream: the file stands in for a stream, so that its name says nothing.
    """
    with atomic_output(target, force=force) as output:
        with open_instance(data, read_only=data is not None, spill=output.spill) as connection:
            source = open_source(connection)
            plan = plan if data is None else _name_dataset(plan, data, source)
            entry = plan.open_entry(beside=receipt_beside(target))
            delimiter = source.delimiter if source.format == target_format else "\t" if target_format == "tsv" else ","
            quotes = source.quotes or target_format not in ("csv", "tsv")
            unquoted = None if quotes else UnquotedFields(source.name, delimiter)
            query, tally, copied = prepare_query(connection, source, target_format, plan, entry, unquoted=unquoted)
            options = choose_copy_options(
                target_format,
                delimiter=delimiter,
                quotes=quotes,
                as_array=source.is_array and (is_stream or not has_object_per_line(target)),
                zipped=is_zipped(target),
            )
            copy = f"COPY ({query}) TO {quote_text(str(output.path))} ({options})"
            rows = _run(connection, copy, output.path, tally, source.rows, progress)
        receipt = plan.publish(entry, output.publish, tally, source.name)
    return ReleaseReport(rows, receipt, str(target), copied, entry.note)


def release_to_table(
    data: Path,
    open_source: OpenSource,
    table: str,
    plan: ReleasePlan,
    *,
    force: bool = False,
    progress: RowProgress | None = None,
) -> ReleaseReport:
    """Sanitize columns of a table into a new table of the same DuckDB file, in one transaction; return a report."""
    with (
        private_folder(data.parent, data.name) as spill,
        named_full_disk(data),
        open_instance(data, spill=spill) as connection,
    ):
        source = open_source(connection)
        new = find_new_table(connection, table)
        beside = data.with_name(f"{data.name}.{new}.receipt.json")
        plan = _name_dataset(plan, data, source)
        entry = plan.open_entry(beside=beside)
        new.check(connection, source.table, force=force)
        query, tally, copied = prepare_query(connection, source, "table", plan, entry)
        connection.execute("BEGIN")
        create = "CREATE OR REPLACE TABLE" if force else "CREATE TABLE"
        rows = _run(connection, f"{create} {new.quoted} AS {query}", data, tally, source.rows, progress)
        with safe_errors():
            receipt = plan.publish(entry, lambda: connection.execute("COMMIT"), tally, source.name)
    return ReleaseReport(rows, receipt, f"{data}, table {new}", copied, entry.note)


def _name_dataset(plan: ReleasePlan, data: Path, source: Source) -> ReleasePlan:
    """Return the plan with a dataset that, if it has no name, is named after the table."""
    assert source.table is not None
    return replace(plan, dataset=plan.dataset.or_table(data, *source.table))


def _run(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    writes: Path,
    tally: Tally,
    total: int | None,
    progress: RowProgress | None,
) -> int:
    """Run the statement of a release, and return its number of rows.

    writes: the file that it writes. total: about how many rows there will be. DuckDB's own share stands still within a
    row group or a block of a file.
    """

    def tell(share: float) -> None:
        assert progress is not None
        rows = tally.rows  # read once, since it grows
        progress(min(rows / total, _ALMOST) if total else share, rows, tally.words)

    told = None if progress is None else tell
    with safe_errors():
        [(rows,)] = fetch(connection, statement, writes=writes, progress=told)
    return int(rows)
