"""Releases of tables in a DuckDB file: `sanitize_table`."""

import os
from pathlib import Path
from typing import Unpack

import duckdb

from custext_sql.errors import ForeignFileError, SettingError, SourceError
from custext_sql.files.file_releases import check_formats
from custext_sql.files.inputs.file_formats import tell_format
from custext_sql.files.inputs.source import Source
from custext_sql.files.inputs.tables import open_table
from custext_sql.files.opening import ReleaseOptions, RowProgress, open_release
from custext_sql.files.release_report import ReleaseReport
from custext_sql.files.row_releases import release_to_file, release_to_table
from custext_sql.ledger.release import Release
from custext_sql.sanitizer.sanitizer import Sanitizer


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
        if not isinstance(given, str | os.PathLike):
            raise SettingError(f"{what} must be a path or a name; found {type(given).__name__}")
    path = Path(data)
    if not path.exists():
        raise SourceError(f"{path} does not exist; expected a DuckDB file")
    try:
        report = _release_table(release, path, table, os.fspath(output), append=append, force=force, progress=progress)
    except ForeignFileError:
        hint = f"; for its rows, run: custext sanitize {path} OUTPUT --column NAME (in Python: sanitize_file)"
        raise SourceError(f"{path} is not a DuckDB file{hint if tell_format(path) else ''}") from None
    report.warn()
    return report


def _release_table(
    release: Release[Sanitizer],
    data: Path,
    table: str,
    output: str,
    *,
    append: bool,
    force: bool,
    progress: RowProgress | None,
) -> ReleaseReport:
    def open_source(connection: duckdb.DuckDBPyConnection) -> Source:
        source = open_table(connection, str(data), table)
        assert source.table is not None
        release.name = source.name
        release.dataset = release.dataset.or_table(data, *source.table)
        return source

    target_format = tell_format(output)
    if target_format is None:
        return release_to_table(data, open_source, output, release, append=append, force=force, progress=progress)
    if append:
        raise SettingError("--append (in Python: append) adds rows to a table; name a table, not a file")
    check_formats("table", target_format, output)
    return release_to_file(open_source, Path(output), target_format, release, data=data, force=force, progress=progress)
