"""Releases of files, folders, patterns and streams: `sanitize_file`."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from custext_sql.errors import OutputError
from custext_sql.files.inputs.data_files import open_files
from custext_sql.files.inputs.encodings import check_encoding_use, files_as_utf8, find_encoding, read_as_utf8
from custext_sql.files.inputs.file_formats import (
    check_csv_options,
    check_format,
    check_no_database,
    explain_unknown_format,
    tell_format,
)
from custext_sql.files.inputs.input_files import list_files
from custext_sql.files.line_releases import release_lines, release_stream
from custext_sql.files.opening import ReleaseOptions, RowProgress, open_release
from custext_sql.files.release_report import ReleaseReport
from custext_sql.files.row_releases import release_to_file
from custext_sql.files.spooled_streams import (
    STANDARD,
    FileOrStream,
    find_input_stream,
    find_output_stream,
    spool_input,
    spool_output,
)
from custext_sql.ledger.dataset import STREAM
from custext_sql.ledger.release import Release
from custext_sql.sanitizer.sanitizer import Sanitizer


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
    known_encoding = find_encoding(encoding)
    release = open_release(_name_input(input), **options)
    report = _release_files(release, input, output, format, known_encoding, quotes, force, progress)
    report.warn()
    return report


def check_formats(source_format: str, target_format: str | None, output: str) -> None:
    """Raise an OutputError unless the output can hold the input: lines go to lines of text, rows to rows."""
    if target_format is None or (target_format == "text") != (source_format == "text"):
        what = "lines of text" if source_format == "text" else "rows with columns"
        endings = ".txt or .txt.gz" if source_format == "text" else ".csv, .tsv, .json, .jsonl or .parquet"
        raise OutputError(f"cannot write {what} to {output}; its name must end in {endings}")


def _release_files(
    release: Release[Sanitizer],
    given: FileOrStream,
    output: FileOrStream,
    format: str | None,
    encoding: str | None,
    quotes: bool,
    force: bool,
    progress: RowProgress | None,
) -> ReleaseReport:
    source, sink = find_input_stream(given), find_output_stream(output)
    name = release.name
    source_format = _choose_format(given, format, is_stream=source is not None)
    check_csv_options(name, source_format, quotes=quotes)
    if source is not None:
        release.dataset = release.dataset.or_called(STREAM)
        if encoding is not None:
            check_encoding_use(name, source_format)
            source, encoding = read_as_utf8(source, encoding, name), None
        if sink is not None and source_format == "text" and not release.has_limit:
            return release_stream(source, sink, release)
    with ExitStack() as stack:
        files = list_files(name) if source is None else [stack.enter_context(spool_input(source, source_format, name))]
        if sink is None:
            assert isinstance(output, str | os.PathLike)
            target, target_format = Path(output), tell_format(Path(output))
        else:
            target, target_format = stack.enter_context(spool_output(sink)), source_format
        if source is None and sink is None:
            _check_target(files, name, target)
        release.dataset = release.dataset.or_files(name, files)
        check_formats(source_format, target_format, _name_output(output))
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
    return report if sink is None else replace(report, output=None)


def _name_input(given: FileOrStream) -> str:
    """Return what messages call an input; files have the name that was given."""
    if isinstance(given, str | os.PathLike):
        return "standard input" if given == STANDARD else os.fspath(given)
    return "the stream"


def _name_output(output: FileOrStream) -> str:
    if isinstance(output, str | os.PathLike):
        return "standard output" if output == STANDARD else os.fspath(output)
    return "the stream"


def _choose_format(given: FileOrStream, format: str | None, *, is_stream: bool) -> str:
    """Return the format of an input: the given one, else that of a file's name, else text for a stream."""
    name = _name_input(given)
    if format is not None:
        check_no_database(name)
        return check_format(format)
    found = "text" if is_stream else tell_format(list_files(name)[0])
    if found is None:
        raise explain_unknown_format(name, has_option=True)
    return found


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
