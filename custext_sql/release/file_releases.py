"""Releases of files, folders, patterns and streams: `sanitize_file`."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from custext_sql.errors import OutputError
from custext_sql.release.inputs.data_files import open_files
from custext_sql.release.inputs.encodings import check_encoding_use, files_as_utf8, find_encoding, read_as_utf8
from custext_sql.release.inputs.file_formats import (
    check_csv_options,
    check_format,
    check_no_database,
    explain_unknown_format,
    tell_format,
)
from custext_sql.release.inputs.input_files import list_files
from custext_sql.release.line_releases import release_lines, release_stream
from custext_sql.release.release_plan import ReleasePlan, RowProgress
from custext_sql.release.release_report import ReleaseReport
from custext_sql.release.row_releases import release_to_file
from custext_sql.release.spooled_streams import (
    STANDARD,
    FileOrStream,
    find_input_stream,
    find_output_stream,
    spool_input,
    spool_output,
)
from custext_sql.replacing.policy import Policy
from custext_sql.store.database import Database
from custext_sql.store.ledger.dataset import STREAM, Dataset


def sanitize_file(
    input: FileOrStream,
    output: FileOrStream,
    *,
    columns: str | Sequence[str] = (),
    eps: float | None = None,
    plus: bool | None = None,
    policy: str | Policy | None = None,
    calibration: str | None = None,
    mapping: str | None = None,
    language: str | None = None,
    format: str | None = None,
    encoding: str | None = None,
    quotes: bool = True,
    key_file: str | os.PathLike[str] | None = None,
    record_column: str | None = None,
    max_row_eps: float | None = None,
    budget_total: float | None = None,
    dataset: str | Dataset | None = None,
    second_mapping: bool = False,
    reuse_key: bool = False,
    force: bool = False,
    seed: int | None = None,
    progress: RowProgress | None = None,
    database: Database = None,
) -> ReleaseReport:
    """Sanitize files into a new file, enter the release in the ledger, and return a report with its `receipt`.

    input: a file, a folder or a pattern of files (CSV, TSV, JSON, Parquet, lines of text), "-" for standard input, or
    a binary stream. output: a file, "-" for standard output, or a binary stream; a file appears only when it is
    complete. columns: the columns to sanitize; all others are copied unchanged. Lines of text have no columns.

    eps (0, or 0.001 to 100), plus, policy, calibration, mapping, language, key_file and seed are those of
    `Sanitizer.load`: the key's setting if not given, else the default (1.0, False, "strict", "paper"). record_column:
    with a key, the column of IDs; the record of a text is COLUMN:ID. format: csv, tsv, json, parquet or text; by
    default it follows from the name of the input, and a stream is text. encoding: that of text files, by Python's name
    for it ("utf-16", "latin-1", ...); UTF-8 by default. Outputs are always UTF-8. quotes: False if quotes are
    ordinary characters in CSV or TSV files, as in GLUE's; output in these formats is then written without quoting.

    max_row_eps: the most that a row may spend in this release. budget_total: the most that all releases of the dataset
    together may spend on a row. dataset: the name of the data in the ledger; by default its files, and <stdin> for a
    stream. second_mapping: allow a mapping other than that of earlier releases. reuse_key: allow a key that was used on
    other data. force: replace an existing output. progress: called with the share done, and the rows and words so far.
    database: the file with the mapping and the ledger.

    Raise a CusTextError, and write nothing, if an input, a setting or a limit is wrong. If another connection has the
    ledger open, the output is still written, unless there is a budget; its receipt is then saved beside it, and
    `report.note` says so. A ReleaseWarning says how many unknown words passed, and when most words are unknown.
    """
    known_encoding = find_encoding(encoding)
    plan = ReleasePlan.make(
        database,
        mapping=mapping,
        eps=eps,
        plus=plus,
        policy=policy,
        calibration=calibration,
        language=language,
        key_file=key_file,
        seed=seed,
        columns=columns,
        record_column=record_column,
        max_row_eps=max_row_eps,
        budget_total=budget_total,
        dataset=dataset,
        second_mapping=second_mapping,
        reuse_key=reuse_key,
    )
    report = _release_files(plan, input, output, format, known_encoding, quotes=quotes, force=force, progress=progress)
    report.warn()
    return report


def check_formats(source_format: str, target_format: str | None, output: str) -> None:
    """Raise an OutputError unless the output can hold the input: lines go to lines of text, rows to rows."""
    if target_format is None or (target_format == "text") != (source_format == "text"):
        what = "lines of text" if source_format == "text" else "rows with columns"
        endings = ".txt or .txt.gz" if source_format == "text" else ".csv, .tsv, .json, .jsonl or .parquet"
        raise OutputError(f"cannot write {what} to {output}; its name must end in {endings}")


def _release_files(
    plan: ReleasePlan,
    given: FileOrStream,
    output: FileOrStream,
    format: str | None,
    encoding: str | None,
    *,
    quotes: bool,
    force: bool,
    progress: RowProgress | None,
) -> ReleaseReport:
    source, sink = find_input_stream(given), find_output_stream(output)
    name = _name_input(given)
    source_format = _choose_format(given, format, is_stream=source is not None)
    check_csv_options(name, source_format, quotes=quotes)
    if source is not None:
        plan = replace(plan, dataset=plan.dataset.or_called(STREAM))
        if encoding is not None:
            check_encoding_use(name, source_format)
            source, encoding = read_as_utf8(source, encoding, name), None
        if sink is not None and source_format == "text" and not plan.limits_rows:
            return release_stream(source, sink, plan, name=name)
    with ExitStack() as stack:
        files = list_files(name) if source is None else [stack.enter_context(spool_input(source, source_format, name))]
        if sink is None:
            assert isinstance(output, str | os.PathLike)
            target, target_format = Path(output), tell_format(Path(output))
        else:
            target, target_format = stack.enter_context(spool_output(sink)), source_format
        if source is None and sink is None:
            _check_target(files, name, target)
        plan = replace(plan, dataset=plan.dataset.or_files(name, files))
        check_formats(source_format, target_format, _name_output(output))
        readable = stack.enter_context(files_as_utf8(name, files, source_format, encoding))
        if source_format == "text":
            report = release_lines(readable, target, plan, name=name, force=force, progress=progress)
        else:
            report = release_to_file(
                lambda connection: open_files(connection, name, readable, format=source_format, quotes=quotes),
                target,
                str(target_format),
                plan,
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
