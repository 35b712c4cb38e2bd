"""Releases of files, folders, patterns, streams and tables: `sanitize_file` and `sanitize_table`."""

import io
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Unpack

import duckdb

from custext_sql.errors import ForeignFileError, OutputError, SettingError, SourceError
from custext_sql.files.inputs.data_files import open_files
from custext_sql.files.inputs.encodings import (
    check_encoding_use,
    files_as_utf8,
    find_encoding,
    read_as_utf8,
    renamed_errors,
)
from custext_sql.files.inputs.file_formats import STANDARD, check_csv_options, choose_format, list_files, tell_format
from custext_sql.files.inputs.source import Source, open_table
from custext_sql.files.line_releases import release_lines, release_stream
from custext_sql.files.opening import ReleaseOptions, ReleaseReport, RowProgress, open_release
from custext_sql.files.row_releases import release_to_file, release_to_table
from custext_sql.ledger.dataset import STREAM
from custext_sql.parameters import check_type
from custext_sql.store.outputs import named_full_disk, scratch_folder

FileOrStream = str | os.PathLike[str] | BinaryIO  # "-" means standard input or output


def sanitize_file(
    input: FileOrStream,
    output: FileOrStream,
    *,
    format: str | None = None,
    encoding: str | None = None,
    quotes: bool = True,
    force: bool = False,
    progress: RowProgress | None = None,
    **options: Unpack[ReleaseOptions],
) -> ReleaseReport:
    """Sanitize files into a new file, enter the release in the ledger, and return a report with its `receipt`.

    input: a file, a folder or a pattern of files (CSV, TSV, JSON, Parquet, lines of text), "-" for standard input, or
    a binary stream. output: a file, "-" for standard output, or a binary stream; a file appears only when it is
    complete. format: csv, tsv, json, parquet or text; by default it follows from the name of the input, and a stream is
    text. encoding: that of text files, by Python's name for it ("utf-16", "latin-1", ...); UTF-8 by default. Outputs
    are always UTF-8. quotes: False if quotes are ordinary characters in CSV or TSV files, as in GLUE's; output in these
    formats is then written without quoting. force: replace an existing output. progress: called with the share done,
    and the rows and words so far.

    The options are the fields of `ReleaseOptions`. columns: the columns to sanitize; all others are copied unchanged.
    Lines of text have no columns. eps (0, or 0.001 to 100), plus, policy, calibration, mapping, language, key_file and
    seed are those of `Sanitizer.load`: the key's setting if not given, else the default (1.0, False, "strict",
    "paper"). record_column: with a key, the column of IDs; the record of a text is COLUMN:ID.

    max_row_eps: the most that a row may spend in this release. budget_total: the most that all releases of the dataset
    together may spend on a row. dataset: the name of the data in the ledger; by default its files, and <stdin> for a
    stream. second_mapping: allow a mapping other than that of earlier releases. reuse_key: allow a key that was used on
    other data. database: the file with the mapping. ledger: a path, or the URL of a PostgreSQL database; by default
    what CUSTEXT_LEDGER names, else the file beside the database.

    Raise a CusTextError, and write nothing, if an input, a setting or a limit is wrong, or if the ledger cannot be
    written. A ReleaseWarning says how many unknown words passed, and when most words are unknown.
    """
    encoding = find_encoding(encoding)
    name = _name(input, "standard input")
    release = open_release(name, **options)
    source = _find_stream(input, "input", "read")
    sink = _find_stream(output, "output", "write")
    source_format = choose_format(name, "text" if format is None and source is not None else format)
    check_csv_options(name, source_format, quotes=quotes)
    if source is not None:
        release.dataset = release.dataset.or_called(STREAM)
        if encoding is not None:
            check_encoding_use(name, source_format)
            source, encoding = read_as_utf8(source, encoding, name), None
    with ExitStack() as stack:
        if source is not None and sink is not None and source_format == "text" and not release.has_limit:
            report = release_stream(source, sink, release)
        else:
            files = list_files(name) if source is None else [stack.enter_context(_spool(source, source_format, name))]
            if sink is None:
                assert isinstance(output, str | os.PathLike)
                target, target_format = Path(output), tell_format(Path(output))
            else:
                target, target_format = stack.enter_context(_spool_output(sink)), source_format
            if source is None and sink is None:
                _check_target(files, name, target)
            release.dataset = release.dataset.or_files(name, files)
            _check_formats(source_format, target_format, _name(output, "standard output"))
            readable = stack.enter_context(files_as_utf8(name, files, source_format, encoding))
            if source_format == "text":
                report = release_lines(readable, target, release, force=force, progress=progress)
            else:
                report = release_to_file(
                    lambda connection: open_files(connection, name, readable, format=source_format, quotes=quotes),
                    target,
                    str(target_format),
                    release,
                    is_stream=sink is not None,
                    force=force,
                    progress=progress,
                )
    if sink is not None:
        report = replace(report, output=None)
    report.warn()
    return report


def sanitize_table(
    data: str | os.PathLike[str],
    table: str,
    output: str | os.PathLike[str],
    *,
    append: bool = False,
    force: bool = False,
    progress: RowProgress | None = None,
    **options: Unpack[ReleaseOptions],
) -> ReleaseReport:
    """Sanitize a table of a DuckDB file, enter the release in the ledger, and return a report with its `receipt`.

    data: the DuckDB file. table: a table or view in it, with its schema where needed. output: the name of a new table
    in the same file (NAME or SCHEMA.NAME), or of a file to write, such as out.parquet; either appears only when it is
    complete. append: release only the rows whose IDs in record_column are not in the output yet, and add them to it; a
    table that does not exist yet is made. dataset: the name of the data in the ledger; by default the table.

    Other options, errors and warnings are those of `sanitize_file`. A SourceError says if `data` does not exist or is
    not a DuckDB file.
    """
    release = open_release("the table", **options)
    if append and force:
        raise SettingError("use --append or --force (in Python: append, force), not both")
    for given, what in ((data, "data"), (output, "output")):
        check_type(given, (str, os.PathLike), f"{what} must be a path or a name")
    path, target = Path(data), os.fspath(output)
    if not path.exists():
        raise SourceError(f"{path} does not exist; expected a DuckDB file")

    def open_source(connection: duckdb.DuckDBPyConnection) -> Source:
        source = open_table(connection, str(path), table)
        assert source.table is not None
        release.name = source.name
        release.dataset = release.dataset.or_table(path, *source.table)
        return source

    format = tell_format(target)
    if append and format is not None:
        raise SettingError("--append (in Python: append) adds rows to a table; name a table, not a file")
    try:
        if format is None:
            report = release_to_table(path, open_source, target, release, append=append, force=force, progress=progress)
        else:
            _check_formats("table", format, target)
            report = release_to_file(
                open_source, Path(target), format, release, data=path, force=force, progress=progress
            )
    except ForeignFileError:
        hint = f"; for its rows, run: custext sanitize {path} OUTPUT --column NAME (in Python: sanitize_file)"
        raise SourceError(f"{path} is not a DuckDB file{hint if tell_format(path) else ''}") from None
    report.warn()
    return report


def _name(given: FileOrStream, standard: str) -> str:
    """Return what messages call an input or output; files have the name that was given."""
    if isinstance(given, str | os.PathLike):
        return standard if given == STANDARD else os.fspath(given)
    return "the stream"


def _check_formats(source_format: str, target_format: str | None, output: str) -> None:
    """Raise an OutputError unless the output can hold the input: lines go to lines of text, rows to rows."""
    if target_format is None or (target_format == "text") != (source_format == "text"):
        what = "lines of text" if source_format == "text" else "rows with columns"
        endings = ".txt or .txt.gz" if source_format == "text" else ".csv, .tsv, .json, .jsonl or .parquet"
        raise OutputError(f"cannot write {what} to {output}; its name must end in {endings}")


def _check_target(files: Sequence[Path], given: str, target: Path) -> None:
    """Raise an OutputError rather than overwrite the input, or write into a folder that is read."""
    for file in files:
        if file.resolve() == target.resolve() or (target.exists() and file.samefile(target)):
            raise OutputError(f"{target} is the input; give the output another name")
    folder = Path(given)
    if folder.is_dir() and folder.resolve() in target.resolve().parents:
        raise OutputError(
            f"{target} is in the input folder {given}, and the next run would read it; write the output elsewhere"
        )


def _find_stream(given: FileOrStream, what: str, need: str) -> BinaryIO | None:
    """Return the stream to read or to write, None for a file. need: the method that it must have."""
    if isinstance(given, str | os.PathLike):
        standard = sys.stdin if need == "read" else sys.stdout
        return standard.buffer if given == STANDARD else None
    if not all(hasattr(given, name) for name in (need, "flush", "closed")):
        raise SettingError(f"{what} must be a path or a binary stream; found {type(given).__name__}")
    if given.closed:
        raise SettingError(f"{what} must be an open stream; found a closed one")
    if isinstance(given, io.TextIOBase):
        example = 'open(path, "rb") or sys.stdin.buffer' if need == "read" else 'open(path, "wb") or sys.stdout.buffer'
        raise SettingError(f"{what} must be a binary stream, such as {example}; found a text stream")
    return given


@contextmanager
def _spool(stream: BinaryIO, format: str, name: str) -> Iterator[Path]:
    """Write a stream to a private file whose name ends like its format; within, errors call the file by `name`."""
    with scratch_folder() as folder:
        spooled = folder / ("input.jsonl" if format == "json" else f"input.{format}")
        with named_full_disk(folder.parent), spooled.open("wb") as file:
            shutil.copyfileobj(stream, file)
        with renamed_errors({str(spooled): name}):
            yield spooled


@contextmanager
def _spool_output(stream: BinaryIO) -> Iterator[Path]:
    """Yield the path of a private file to be written; its content is then copied to the stream."""
    with scratch_folder() as folder:
        target = folder / STANDARD  # as the ledger names it
        with renamed_errors({str(target): str(folder.parent)}):
            yield target
        with target.open("rb") as file:
            shutil.copyfileobj(file, stream)
        stream.flush()
