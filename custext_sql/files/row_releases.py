"""Releases of rows, end to end: checked beforehand, counted, written completely, entered in the ledger."""

from collections.abc import Callable
from pathlib import Path

import duckdb

from custext_sql.files.duckdb_instances import open_instance
from custext_sql.files.inputs.file_formats import has_object_per_line, is_zipped
from custext_sql.files.inputs.source import Source
from custext_sql.files.new_tables import check_same_columns, find_new_table
from custext_sql.files.opening import RowProgress
from custext_sql.files.release_report import ReleaseReport
from custext_sql.files.row_queries import prepare_query
from custext_sql.files.unquoted_fields import UnquotedFields
from custext_sql.ledger.release import Release
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sanitizer.tally import Tally
from custext_sql.sql.copy_options import choose_copy_options
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.outputs import atomic_output, named_full_disk, private_folder
from custext_sql.store.quoting import quote_text

OpenSource = Callable[[duckdb.DuckDBPyConnection], Source]

_ALMOST = 0.99  # the share done when as many rows as expected are sanitized: the number may be an estimate


def release_to_file(
    open_source: OpenSource,
    target: Path,
    target_format: str,
    release: Release[Sanitizer],
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
            release.check()
            delimiter = source.delimiter if source.format == target_format else "\t" if target_format == "tsv" else ","
            quotes = source.quotes or target_format not in ("csv", "tsv")
            unquoted = None if quotes else UnquotedFields(source.name, delimiter)
            query = prepare_query(connection, source, target_format, release, unquoted=unquoted)
            options = choose_copy_options(
                target_format,
                delimiter=delimiter,
                quotes=quotes,
                as_array=source.is_array and (is_stream or not has_object_per_line(target)),
                zipped=is_zipped(target),
            )
            copy = f"COPY ({query}) TO {quote_text(str(output.path))} ({options})"
            rows = _run(connection, copy, output.path, release.tally, source.rows, progress)
        receipt = release.publish(output.publish, output.describe())
    return ReleaseReport(rows, receipt, str(target), release.copied)


def release_to_table(
    data: Path,
    open_source: OpenSource,
    table: str,
    release: Release[Sanitizer],
    *,
    append: bool = False,
    force: bool = False,
    progress: RowProgress | None = None,
) -> ReleaseReport:
    """Sanitize columns of a table into a table of the same DuckDB file, in one transaction; return a report.

    The table is new, unless `force` replaces it, or `append` adds the rows whose IDs it does not have.
    """
    with (
        private_folder(data.parent, data.name) as spill,
        named_full_disk(data),
        open_instance(data, spill=spill) as connection,
    ):
        source = open_source(connection)
        new = find_new_table(connection, table)
        exists, made_name = append and new.exists(connection, "table"), f"{data.resolve()}, table {new}"
        release.appends_to = made_name if exists else None
        release.check()
        new.check(connection, source.table, force=force, append=append)
        query = prepare_query(
            connection, source, "table", release, append=append, without=new.quoted if exists else None
        )
        connection.execute("BEGIN")
        made = f"CREATE {'OR REPLACE ' if force else ''}TABLE {new.quoted} AS {query}"
        if exists:
            check_same_columns(connection, new, query, same_type=release.record_column)
            made = f"INSERT INTO {new.quoted} BY NAME {query}"
        rows = _run(connection, made, data, release.tally, None if exists else source.rows, progress)
        with safe_errors():
            receipt = release.publish(lambda: connection.execute("COMMIT"), [{"name": made_name}])
    return ReleaseReport(rows, receipt, f"{data}, table {new}", release.copied)


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
