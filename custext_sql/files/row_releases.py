"""Releases of rows, end to end: checked beforehand, counted, written completely, entered in the ledger."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from custext_sql.errors import OutputError, SettingError, SourceError, tell_type
from custext_sql.files.duckdb_instances import open_instance
from custext_sql.files.inputs.file_formats import has_object_per_line, is_zipped
from custext_sql.files.inputs.source import Source, choose_reader, read_record
from custext_sql.files.new_tables import check_same_columns, find_new_table
from custext_sql.files.opening import ReleaseReport, RowProgress, check_chosen, check_ids, check_record_column
from custext_sql.files.parts import sanitize_rows
from custext_sql.ledger.release import Release
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sql.copy_options import choose_copy_options
from custext_sql.sql.functions import create_function
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.outputs import atomic_output, named_full_disk, private_folder
from custext_sql.store.quoting import quote_name, quote_text

OpenSource = Callable[[duckdb.DuckDBPyConnection], Source]

_FUNCTION = "custext_release"
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
            unquoted = None if quotes else delimiter
            query = _prepare_query(connection, source, target_format, release, unquoted=unquoted)
            options = choose_copy_options(
                target_format,
                delimiter=delimiter,
                quotes=quotes,
                as_array=source.is_array and (is_stream or not has_object_per_line(target)),
                zipped=is_zipped(target),
            )
            copy = f"COPY ({query}) TO {quote_text(str(output.path))} ({options})"
            rows = _run(connection, copy, output.path, release, source.rows, progress)
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
    with ExitStack() as stack:
        spill = stack.enter_context(private_folder(data.parent, data.name))
        stack.enter_context(named_full_disk(data))
        connection = stack.enter_context(open_instance(data, spill=spill))
        source = open_source(connection)
        new = find_new_table(connection, table)
        exists, made_name = append and new.exists(connection, "table"), f"{data.resolve()}, table {new}"
        release.appends_to = made_name if exists else None
        release.check()
        new.check(connection, source.table, force=force, append=append)
        without = new.quoted if exists else None
        query = _prepare_query(connection, source, "table", release, append=append, without=without)
        connection.execute("BEGIN")
        made = f"CREATE {'OR REPLACE ' if force else ''}TABLE {new.quoted} AS {query}"
        if exists:
            check_same_columns(connection, new, query, same_type=release.record_column)
            made = f"INSERT INTO {new.quoted} BY NAME {query}"
        rows = _run(connection, made, data, release, None if exists else source.rows, progress)
        with safe_errors():
            receipt = release.publish(lambda: connection.execute("COMMIT"), [{"name": made_name}])
    return ReleaseReport(rows, receipt, f"{data}, table {new}", release.copied)


def _run(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    writes: Path,
    release: Release[Sanitizer],
    total: int | None,
    progress: RowProgress | None,
) -> int:
    """Run the statement of a release, and return its number of rows.

    writes: the file that it writes. total: about how many rows there will be. DuckDB's own share stands still within a
    row group or a block of a file.
    """

    def tell(share: float) -> None:
        assert progress is not None
        rows = release.tally.rows  # read once, since it grows
        progress(min(rows / total, _ALMOST) if total else share, rows, release.tally.words)

    with safe_errors():
        [(rows,)] = fetch(connection, statement, writes=writes, progress=None if progress is None else tell)
    return int(rows)


def _prepare_query(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    target_format: str,
    release: Release[Sanitizer],
    *,
    unquoted: str | None = None,
    append: bool = False,
    without: str | None = None,
) -> str:
    """Check everything that can be checked before the release, and return its query, which fills the tally.

    Columns that are not sanitized are copied unchanged. unquoted: the delimiter of output that is written without
    quotes. append: rows are found by their IDs; without: the table that has the IDs of rows to leave out, if it exists.
    """
    typed = [*release.columns, *([] if release.record_column is None else [release.record_column])]
    chosen = [source.find_text_column(column, typed) for column in release.columns]
    check_chosen(chosen, source.name, source.tell_columns())
    check_record_column(release.sanitizer.key, release.record_column, append=append)
    column = None if release.record_column is None else source.find_column(release.record_column, release.columns)
    reader = choose_reader(source, chosen, column, target_format)
    record = None if column is None else read_record(source, column, target_format)
    if column is not None:
        _check_records(connection, source, column, f"SELECT {record} AS custext_record FROM {reader}")
    release.columns = tuple(chosen)
    release.copied = tuple(name for name in source.columns if name not in chosen)
    if append and column in chosen:
        raise SettingError(f"column {column!r} is sanitized, so the output does not have the IDs that --append needs")
    if without is not None and column is not None:
        known = f"SELECT CAST({quote_name(column)} AS VARCHAR) FROM {without} WHERE {quote_name(column)} IS NOT NULL"
        reader = f"(FROM {reader} WHERE {record} NOT IN ({known}))"
    if unquoted is not None and source.delimiter != unquoted:  # else it was read by the same rules
        _check_fields(source.name, unquoted, found=any(unquoted in name for name in source.columns))
        marked = [f"contains({quote_name(name)}, {quote_text(unquoted)})" for name in release.copied]
        with safe_errors():
            found = marked and fetch(connection, f"SELECT 1 FROM {reader} WHERE {' OR '.join(marked)} LIMIT 1")
        _check_fields(source.name, unquoted, found=found)
    if release.sanitizer.draws == "seeded":
        connection.execute("SET threads = 1")  # draws repeat only if made in the order of the rows
    keyed = record if release.sanitizer.key is not None else None
    _register(connection, release, keyed=keyed is not None, unquoted=unquoted)
    fields = [f"c{number} := CAST({quote_name(column)} AS VARCHAR)" for number, column in enumerate(chosen)]
    fields += [f"record := {keyed}"] if keyed else []
    made = "custext_released"
    while made in {name.lower() for name in source.columns}:
        made += "_"
    new = ", ".join(f"{made}.c{number} AS {quote_name(column)}" for number, column in enumerate(chosen))
    packed = f"struct_pack({', '.join(fields)})"
    return f"SELECT * EXCLUDE ({made}) REPLACE ({new}) FROM (SELECT *, {_FUNCTION}({packed}) AS {made} FROM {reader})"


def _check_records(connection: duckdb.DuckDBPyConnection, source: Source, column: str, query: str) -> None:
    """Raise a SourceError unless every row has an ID of its own."""
    kind = source.columns[column]
    if source.format in ("parquet", "table") and kind in ("FLOAT", "DOUBLE"):
        raise SourceError(
            f"{source.name}: column {column!r} is {tell_type(kind)}, and IDs must be integers or text: 1 and 1.0 would "
            "be different records; convert it"
        )
    with safe_errors():
        [(missing, repeated)] = fetch(
            connection,
            "SELECT coalesce(sum(n) FILTER (custext_record IS NULL), 0), "
            "count(*) FILTER (n > 1 AND custext_record IS NOT NULL) FROM "
            f"(SELECT custext_record, count(*) AS n FROM ({query}) GROUP BY custext_record)",
        )
    check_ids(source.name, column, int(missing), int(repeated))


def _register(
    connection: duckdb.DuckDBPyConnection, release: Release[Sanitizer], *, keyed: bool, unquoted: str | None
) -> None:
    """Create the function of a release: it takes all sanitized columns of a row, and counts the row in the tally.

    A row is a struct: c0, c1, ..., record. keyed: whether rows have records, for draws from a key.
    """
    columns, count, name = release.columns, len(release.columns), release.name

    def sanitize(given: pa.ChunkedArray) -> pa.Array:
        whole = given.chunk(0) if given.num_chunks == 1 else pa.concat_arrays(given.chunks)
        texts = {column: pc.struct_field(whole, number) for number, column in enumerate(columns)}
        records = pc.struct_field(whole, count) if keyed else None
        done = sanitize_rows(release.sanitizer, texts, records, release.tally)
        if unquoted is not None:
            marked = [pc.match_substring(text, mark) for text in done for mark in (unquoted, "\n", "\r")]
            _check_fields(name, unquoted, found=any(pc.any(one).as_py() for one in marked))
        return pa.StructArray.from_arrays(done, names=[f"c{number}" for number in range(count)])

    texts = [f"c{number} VARCHAR" for number in range(count)]
    row = f"STRUCT({', '.join([*texts, *(['record VARCHAR'] if keyed else [])])})"
    create_function(connection, _FUNCTION, sanitize, [row], f"STRUCT({', '.join(texts)})")


def _check_fields(name: str, delimiter: str, *, found: object) -> None:
    """Raise an OutputError if a field was found that contains what separates fields or rows, and would need quotes."""
    if found:
        mark = "a tab" if delimiter == "\t" else repr(delimiter)
        raise OutputError(
            f"{name}: a field of the output would contain {mark} or a line end, which --no-quotes (in Python: "
            "quotes=False) cannot write to CSV or TSV; write to a .jsonl or .parquet file"
        )
