"""Releases of tables in a DuckDB file: `sanitize_table`."""

import os
from collections.abc import Sequence
from pathlib import Path

from custext_sql.errors import ForeignFileError, SettingError, SourceError
from custext_sql.release.file_releases import check_formats
from custext_sql.release.inputs.file_formats import tell_format
from custext_sql.release.inputs.tables import open_table
from custext_sql.release.release_plan import ReleasePlan, RowProgress
from custext_sql.release.release_report import ReleaseReport
from custext_sql.release.row_releases import OpenSource, release_to_file, release_to_table
from custext_sql.replacing.policy import Policy
from custext_sql.store.database import Database
from custext_sql.store.ledger.dataset import Dataset


def sanitize_table(
    data: str | os.PathLike[str],
    table: str,
    output: str | os.PathLike[str],
    *,
    columns: str | Sequence[str],
    eps: float | None = None,
    plus: bool | None = None,
    policy: str | Policy | None = None,
    calibration: str | None = None,
    mapping: str | None = None,
    language: str | None = None,
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
    """Sanitize a table of a DuckDB file, enter the release in the ledger, and return a report with its `receipt`.

    data: the DuckDB file. table: a table or view in it, with its schema where needed. output: the name of a new table
    in the same file (NAME or SCHEMA.NAME), or of a file to write, such as out.parquet; either appears only when it is
    complete. columns: the columns to sanitize; all others are copied unchanged. dataset: the name of the data in the
    ledger; by default the table.

    Other parameters, errors and warnings are those of `sanitize_file`. A SourceError says if `data` does not exist or
    is not a DuckDB file.
    """
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
    for given, what in ((data, "data"), (output, "output")):
        if not isinstance(given, str | os.PathLike):
            raise SettingError(f"{what} must be a path or a name; found {type(given).__name__}")
    path = Path(data)
    if not path.exists():
        raise SourceError(f"{path} does not exist; expected a DuckDB file")
    try:
        report = _release_table(
            plan,
            path,
            lambda connection: open_table(connection, str(path), table),
            os.fspath(output),
            force=force,
            progress=progress,
        )
    except ForeignFileError:
        hint = f"; for its rows, run: custext sanitize {path} OUTPUT --column NAME (in Python: sanitize_file)"
        raise SourceError(f"{path} is not a DuckDB file{hint if tell_format(path) else ''}") from None
    report.warn()
    return report


def _release_table(
    plan: ReleasePlan,
    data: Path,
    open_source: OpenSource,
    output: str,
    *,
    force: bool,
    progress: RowProgress | None,
) -> ReleaseReport:
    target_format = tell_format(output)
    if target_format is None:
        return release_to_table(data, open_source, output, plan, force=force, progress=progress)
    check_formats("table", target_format, output)
    return release_to_file(open_source, Path(output), target_format, plan, data=data, force=force, progress=progress)
