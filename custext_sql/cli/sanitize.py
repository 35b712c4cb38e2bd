"""custext sanitize"""

import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from custext_sql.cli.options import (
    calibration_option,
    json_option,
    mapping_option,
    policy_option,
    reuse_key_option,
    second_mapping_option,
)
from custext_sql.cli.output import count, counting_bar, print_json, show_control, tell_receipt, to_json, warn

if TYPE_CHECKING:
    from custext_sql.release.release_settings import Outcome, Settings
    from custext_sql.sanitizer import Sanitizer

_STREAM = "-"


@click.command("sanitize", short_help="Sanitize a text, a file, a folder or a table.")
@click.argument("arguments", nargs=-1, metavar="TEXT | INPUT OUTPUT")
@click.option("--column", "columns", multiple=True, metavar="NAME", help="A column to sanitize; may be repeated.")
@click.option("--eps", type=float, help="Privacy budget of a word, 0.001 to 100.  [default: 1.0, or the key's]")
@click.option("--plus", is_flag=True, default=None, help="Keep stopwords (CusText+).")
@policy_option
@calibration_option
@mapping_option
@click.option("--format", "format_", type=click.Choice(["csv", "tsv", "json", "parquet", "text"]), help="Of the input.")
@click.option("--data", metavar="FILE", help="A DuckDB file; OUTPUT is a new table of it, or a file.")
@click.option("--table", metavar="NAME", help="The table of --data to sanitize.")
@click.option("--key-file", metavar="PATH", help="A key, which brings its settings: the same text each time.")
@click.option("--record-column", metavar="NAME", help="With a key: the column of ids; the record is COLUMN:ID.")
@click.option("--max-row-eps", type=float, metavar="B", help="Refuse if a row would spend more in this release.")
@click.option("--budget-total", type=float, metavar="B", help="Refuse if all releases of the dataset would spend more.")
@click.option("--dataset", metavar="NAME", help="What the ledger calls the data.  [default: its files or its table]")
@second_mapping_option
@reuse_key_option
@click.option("--force", is_flag=True, help="Replace an existing output.")
@click.option("--seed", type=int, metavar="N", help="Repeatable draws, for demonstrations only: they protect nothing.")
@json_option
@click.pass_obj
def sanitize_command(
    db: str | None,
    arguments: tuple[str, ...],
    columns: tuple[str, ...],
    eps: float | None,
    plus: bool | None,
    policy: str | None,
    calibration: str | None,
    mapping: str | None,
    format_: str | None,
    data: str | None,
    table: str | None,
    key_file: str | None,
    record_column: str | None,
    max_row_eps: float | None,
    budget_total: float | None,
    dataset: str | None,
    second_mapping: bool,
    reuse_key: bool,
    force: bool,
    seed: int | None,
    as_json: bool,
) -> None:
    """Sanitize a text; or INPUT into OUTPUT: files (CSV, TSV, JSON lines, Parquet, lines of text), a folder or pattern
    of them, a table, - for a stream. OUTPUT appears when it is complete. Every release is entered in the ledger.

    \b
    Example:
      custext sanitize "My doctor in Boston said the surgery went well." --eps 1 --plus
      custext sanitize reviews.csv sanitized.csv --column body --column title --eps 1 --plus
      custext sanitize 'reviews/*.parquet' sanitized.parquet --column body --max-row-eps 200
      custext sanitize --data shop.duckdb --table reviews reviews_sanitized --column body
      custext sanitize --data shop.duckdb --table reviews sanitized.parquet --column body
      custext sanitize - - < reviews.txt > sanitized.txt
    """
    from custext_sql.release.release_settings import Settings
    from custext_sql.store.ledger.dataset import Dataset

    if (data is None) != (table is None):
        raise click.UsageError("--data and --table belong together: a DuckDB file and a table of it.")
    wanted = 1 if data else 2
    if arguments == (_STREAM,) and not data:
        arguments = (_STREAM, _STREAM)
    if not arguments or len(arguments) > 2 or (data and len(arguments) > 1):
        raise click.UsageError(
            "Expected OUTPUT, a new table or a file."
            if data
            else "Expected TEXT, or INPUT and OUTPUT. Put a text of several words in quotes."
        )
    if len(arguments) < wanted and _names_a_file(arguments[0]):
        raise click.UsageError(
            f"The text is the name of a file. For its content: custext sanitize {arguments[0]} OUTPUT --column NAME"
        )
    sanitizer = _load(db, mapping, policy, calibration, key_file, seed)
    usual = sanitizer.key.settings.of_rows if sanitizer.key else None
    settings = Settings(
        sanitizer=sanitizer,
        eps=float(usual.epsilon) if eps is None and usual else 1.0 if eps is None else eps,
        plus=bool(usual.plus) if plus is None and usual else bool(plus),
        columns=columns,
        record_column=record_column,
        max_row_eps=max_row_eps,
        dataset=Dataset(dataset, budget_total, second_mapping, reuse_key),
    )
    settings.check()
    if len(arguments) < wanted:
        _sanitize_text(db, arguments[0], settings, as_json=as_json)
        return
    if data is not None and table is not None:
        outcome = _sanitize_table(db, Path(data), table, arguments[0], settings, force=force)
    else:
        outcome = _sanitize_files(db, arguments[0], arguments[1], settings, format_, force=force)
    _report(outcome, arguments[-1], to_stream=arguments[-1] == _STREAM, as_json=as_json)


def _names_a_file(text: str) -> bool:
    """Tell whether a text is also the name of a file; most texts could not even be one."""
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):
        return False


def _load(
    db: str | None,
    mapping: str | None,
    policy: str | None,
    calibration: str | None,
    key_file: str | None,
    seed: int | None,
) -> "Sanitizer":
    from custext_sql.sanitizer import Sanitizer

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sanitizer = Sanitizer.load(
            db, mapping=mapping, policy=policy, calibration=calibration, key_file=key_file, seed=seed
        )
    for warning in caught:
        warn(str(warning.message))
    return sanitizer


def _sanitize_text(db: str | None, text: str, settings: "Settings", *, as_json: bool) -> None:
    from custext_sql.release.line_releases import release_text
    from custext_sql.store.ledger.dataset import ARGUMENT

    result, outcome = release_text(text, replace(settings, dataset=settings.dataset.or_called(ARGUMENT)), db)
    if as_json:
        print_json({"text": result, "receipt": outcome.receipt.to_dict()})
    else:
        click.echo(result.encode())  # in UTF-8, whatever the terminal is said to show
    _tell(outcome, with_receipt=not as_json)


def _sanitize_table(
    db: str | None, data: Path, table: str, output: str, settings: "Settings", *, force: bool
) -> "Outcome":
    from custext_sql.errors import ForeignFileError, SourceError
    from custext_sql.release.data_files import open_table, tell_format
    from custext_sql.release.releases import release_to_file, release_to_table

    if not data.exists():
        raise SourceError(f"{data}: there is no DuckDB file of that name")
    target_format = tell_format(output)
    try:
        with counting_bar("sanitizing") as progress:
            if target_format is None:
                return release_to_table(
                    data,
                    lambda connection: open_table(connection, str(data), table),
                    output,
                    settings,
                    db,
                    force=force,
                    progress=progress,
                )
            _check_format("a table", target_format, output)
            return release_to_file(
                lambda connection: open_table(connection, str(data), table),
                Path(output),
                target_format,
                settings,
                db,
                data=data,
                force=force,
                progress=progress,
            )
    except ForeignFileError:
        raise SourceError(f"{data}: there is no DuckDB file of that name") from None


def _sanitize_files(
    db: str | None, given: str, output: str, settings: "Settings", format_: str | None, *, force: bool
) -> "Outcome":
    from custext_sql.release.data_files import check_target, list_files, open_files, tell_format
    from custext_sql.release.line_releases import release_lines, release_stream
    from custext_sql.release.releases import release_to_file
    from custext_sql.sql.queries import let_threads_alternate
    from custext_sql.store.ledger.dataset import STREAM

    let_threads_alternate()
    to_stream, from_stream = output == _STREAM, given == _STREAM
    source_format = format_ or ("text" if from_stream else tell_format(list_files(given)[0]))
    if from_stream:
        settings = replace(settings, dataset=settings.dataset.or_called(STREAM))
    if from_stream and to_stream and source_format == "text" and not settings.limits_rows:
        return release_stream(sys.stdin.buffer, sys.stdout.buffer, settings, db)
    with _as_files(given, source_format) as files, _as_target(output) as target, counting_bar("sanitizing") as progress:
        if not from_stream and not to_stream:
            check_target(files, given, target)
        settings = replace(settings, dataset=settings.dataset.or_files(given, files))
        target_format = source_format if to_stream else tell_format(target)
        _check_format(source_format, target_format, output)
        label = "standard input" if from_stream else given
        if source_format == "text":
            return release_lines(files, target, settings, db, name=label, force=force, progress=progress)
        return release_to_file(
            lambda connection: open_files(connection, label, files, format=format_),
            target,
            str(target_format),
            settings,
            db,
            force=force,
            progress=progress,
        )


def _check_format(source_format: str | None, target_format: str | None, output: str) -> None:
    """Refuse an output that cannot hold the input: lines of text go to lines of text, rows to rows."""
    from custext_sql.errors import OutputError

    if target_format is None or (target_format == "text") != (source_format == "text"):
        raise OutputError(
            f"cannot write {source_format or 'this'} to {output}; its name must end in "
            + (".txt or .txt.gz" if source_format == "text" else ".csv, .tsv, .json, .jsonl or .parquet")
        )


@contextmanager
def _as_files(given: str, source_format: str | None) -> Iterator[list[Path]]:
    """The files of an input; standard input is first written to one."""
    from custext_sql.release.data_files import list_files
    from custext_sql.store.files.private_folders import scratch_folder

    if given != _STREAM:
        yield list_files(given)
        return
    with scratch_folder() as folder:
        spooled = folder / ("input.jsonl" if source_format == "json" else f"input.{source_format}")
        with spooled.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [spooled]


@contextmanager
def _as_target(output: str) -> Iterator[Path]:
    """The file of an output; for standard output, one whose content goes there in the end."""
    from custext_sql.store.files.private_folders import scratch_folder

    if output != _STREAM:
        yield Path(output)
        return
    with scratch_folder() as folder:
        target = folder / "output"
        yield target
        with target.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _report(outcome: "Outcome", output: str, *, to_stream: bool, as_json: bool) -> None:
    if as_json:
        copied = list(outcome.copied)
        made = {"output": output, "rows": outcome.rows, "copied": copied, "receipt": outcome.receipt.to_dict()}
        click.echo(to_json(made), err=to_stream)
    else:
        if not to_stream:
            click.echo(f"{outcome.made}: {count(outcome.rows, 'row')}")
        if outcome.copied:
            click.echo(f"columns copied unchanged: {', '.join(map(show_control, outcome.copied))}", err=True)
    _tell(outcome, with_receipt=not as_json)


def _tell(outcome: "Outcome", *, with_receipt: bool) -> None:
    tell_receipt(outcome.receipt, with_receipt=with_receipt)
    if outcome.note:
        warn(outcome.note)
