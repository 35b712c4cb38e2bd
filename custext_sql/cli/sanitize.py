"""The command `custext sanitize`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli.file_options import encoding_option, format_option, no_quotes_option
from custext_sql.cli.options import (
    calibration_option,
    json_option,
    language_option,
    mapping_option,
    reuse_key_option,
    second_mapping_option,
)
from custext_sql.cli.output import (
    counting_bar,
    print_json,
    show_control,
    tell_receipt,
    to_json,
)
from custext_sql.cli.policy_options import policy_options
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.release.release_report import ReleaseReport
    from custext_sql.replacing.policy import Policy


@click.command("sanitize", short_help="Sanitize a text, a file, a folder or a table.")
@click.argument("arguments", nargs=-1, metavar="TEXT | INPUT OUTPUT")
@click.option("--column", "columns", multiple=True, metavar="NAME", help="Column to sanitize; repeat for several.")
@click.option(
    "--eps",
    type=float,
    help="Privacy budget per word: 0 to generalize, or 0.001 to 100.  [default: the key's, else 1.0]",
)
@click.option("--plus", is_flag=True, default=None, help="Keep stopwords (CusText+).")
@policy_options()
@calibration_option
@mapping_option
@language_option
@format_option
@encoding_option
@no_quotes_option
@click.option("--data", metavar="FILE", help="DuckDB file with the table; OUTPUT is a new table in it, or a file.")
@click.option("--table", metavar="NAME", help="Table of --data to sanitize.")
@click.option("--key-file", metavar="PATH", help="Key with its settings; gives a text the same output every time.")
@click.option("--record-column", metavar="NAME", help="Column of IDs, needed with a key; the record is COLUMN:ID.")
@click.option("--max-row-eps", type=float, metavar="B", help="Refuse the release if any row would spend more than B.")
@click.option(
    "--budget-total",
    type=float,
    metavar="B",
    help="Refuse the release if any row's total over all releases would exceed B.",
)
@click.option("--dataset", metavar="NAME", help="Name of the data in the ledger.  [default: its files or its table]")
@second_mapping_option
@reuse_key_option
@click.option("--append", is_flag=True, help="Add only the rows whose IDs the output table does not have yet.")
@click.option("--force", is_flag=True, help="Replace an existing output.")
@click.option("--seed", type=int, metavar="N", help="Repeatable draws, for demonstrations only: no protection.")
@json_option
@click.pass_obj
def sanitize_command(
    db: str | None,
    arguments: tuple[str, ...],
    columns: tuple[str, ...],
    eps: float | None,
    plus: bool | None,
    policy: "str | Policy | None",
    calibration: str | None,
    mapping: str | None,
    language: str | None,
    format_: str | None,
    encoding: str | None,
    no_quotes: bool,
    data: str | None,
    table: str | None,
    key_file: str | None,
    record_column: str | None,
    max_row_eps: float | None,
    budget_total: float | None,
    dataset: str | None,
    second_mapping: bool,
    reuse_key: bool,
    append: bool,
    force: bool,
    seed: int | None,
    as_json: bool,
) -> None:
    """Sanitize a text, or INPUT into OUTPUT.

    INPUT is a file (CSV, TSV, JSON lines, Parquet, lines of text), a folder, a quoted pattern of files, or - for
    standard input; for a table, give --data and --table instead. OUTPUT appears only when it is complete, and is always
    UTF-8. Every release is entered in the ledger.

    \b
    Examples:
      custext sanitize "My doctor in Boston said the surgery went well." --eps 1 --plus
      custext sanitize reviews.csv sanitized.csv --column body --column title --eps 1 --plus
      custext sanitize 'reviews/*.parquet' sanitized.parquet --column body --max-row-eps 200
      custext sanitize export.csv sanitized.csv --column body --encoding utf-16
      custext sanitize SST-2/train.tsv sanitized.tsv --column sentence --no-quotes
      custext sanitize --data shop.duckdb --table reviews reviews_sanitized --column body
      custext sanitize --data shop.duckdb --table reviews sanitized.parquet --column body
      custext sanitize --data shop.duckdb --table reviews reviews_clean --column body \\
        --append --record-column id --key-file shop.key
      custext sanitize - - < reviews.txt > sanitized.txt
    """
    from custext_sql.release.spooled_streams import STANDARD
    from custext_sql.release.text_releases import sanitize_text

    if (data is None) != (table is None):
        raise click.UsageError("--data and --table go together: a DuckDB file and one of its tables.")
    wanted = 1 if data else 2
    if arguments == (STANDARD,) and not data:
        arguments = (STANDARD, STANDARD)
    if not arguments or len(arguments) > 2 or (data and len(arguments) > 1):
        raise click.UsageError(
            "Expected OUTPUT: the name of a new table, or of a file."
            if data
            else "Expected TEXT, or INPUT and OUTPUT. Put a text of several words in quotes."
        )
    if len(arguments) < wanted and _names_a_file(arguments[0]):
        raise click.UsageError(
            f"{arguments[0]} is a file. To sanitize its content: custext sanitize {arguments[0]} OUTPUT --column NAME"
        )
    if encoding is not None and (data or len(arguments) < wanted):
        what = "DuckDB tables are always UTF-8" if data else "a text on the command line has none"
        raise click.UsageError(f"--encoding is for text files; {what}.")
    if no_quotes and (data or len(arguments) < wanted):
        raise click.UsageError("--no-quotes is for CSV and TSV files; leave it out for a table or a text.")
    if append and not data:
        raise click.UsageError("--append adds rows to a table: give --data and --table.")
    options: dict[str, Any] = {
        "database": db,
        "columns": columns,
        "eps": eps,
        "plus": plus,
        "policy": policy,
        "calibration": calibration,
        "mapping": mapping,
        "language": language,
        "key_file": key_file,
        "record_column": record_column,
        "max_row_eps": max_row_eps,
        "budget_total": budget_total,
        "dataset": dataset,
        "second_mapping": second_mapping,
        "reuse_key": reuse_key,
        "seed": seed,
    }
    if len(arguments) < wanted:
        _print_text(*sanitize_text(arguments[0], **options), as_json=as_json)
        return
    from custext_sql import sanitize_file, sanitize_table  # not needed, and slow to load, for one text
    from custext_sql.sql.queries import let_threads_alternate

    let_threads_alternate()
    with counting_bar("sanitizing") as progress:
        if data is not None and table is not None:
            report = sanitize_table(data, table, arguments[0], append=append, force=force, progress=progress, **options)
        else:
            report = sanitize_file(
                *arguments,
                format=format_,
                encoding=encoding,
                quotes=not no_quotes,
                force=force,
                progress=progress,
                **options,
            )
    _print_report(report, arguments[-1], to_stream=arguments[-1] == STANDARD, as_json=as_json)


def _names_a_file(text: str) -> bool:
    """Return whether a text is also the name of a file; most texts could not even be one."""
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):
        return False


def _print_text(result: str, report: "ReleaseReport", *, as_json: bool) -> None:
    if as_json:
        print_json({"text": result, "receipt": report.receipt.to_dict()})
    else:
        click.echo(result.encode())  # always UTF-8, whatever the terminal claims to support
    _tell(report, with_receipt=not as_json)


def _print_report(report: "ReleaseReport", output: str, *, to_stream: bool, as_json: bool) -> None:
    if as_json:
        copied = list(report.copied)
        made = {"output": output, "rows": report.rows, "copied": copied, "receipt": report.receipt.to_dict()}
        click.echo(to_json(made), err=to_stream)
    else:
        if not to_stream:
            click.echo(f"{report.output}: {count_of(report.rows, 'row')}")
        if report.copied:
            click.echo(f"columns copied unchanged: {', '.join(map(show_control, report.copied))}", err=True)
    _tell(report, with_receipt=not as_json)


def _tell(report: "ReleaseReport", *, with_receipt: bool) -> None:
    tell_receipt(report.receipt, with_receipt=with_receipt)
