"""The command `custext sql`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli.options import (
    calibration_option,
    json_option,
    mapping_option,
    reuse_key_option,
    second_mapping_option,
)
from custext_sql.cli.output import print_json, print_table, progress_bar, tell_receipt, warn
from custext_sql.cli.policy_options import policy_options
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.release.query_releases import Answer
    from custext_sql.replacing.policy import Policy
    from custext_sql.sql.nested_query import Shown

_SHOWN = 100  # rows in a table on the terminal


def _split_attached(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Return the files of --attach by their names."""
    pairs = [value.partition("=") for value in values]
    if not all(name and file for name, _, file in pairs):
        raise click.BadParameter("expected NAME=FILE, such as --attach lookup=lookup.duckdb")
    names = [name.lower() for name, _, _ in pairs]
    if len(set(names)) < len(names):
        raise click.BadParameter("each file needs a name of its own")
    return {name: file for name, _, file in pairs}


@click.command("sql", short_help="Run a SQL query that can sanitize texts.")
@click.argument("query")
@click.option("--data", metavar="FILE", help="DuckDB file to query. The query cannot change it; --into adds a table.")
@click.option(
    "--attach",
    "attached",
    metavar="NAME=FILE",
    multiple=True,
    callback=_split_attached,
    help="Another DuckDB file; refer to its tables as NAME.TABLE. May be given several times.",
)
@click.option("--output", metavar="FILE", help="Write the result to a .parquet, .csv, .json or .jsonl file.")
@click.option("--into", metavar="TABLE", help="Write the result to a new table of --data.")
@click.option("--append", is_flag=True, help="Append to the table of --into; column names must match.")
@click.option("--force", is_flag=True, help="Replace an existing output.")
@click.option("--allow-raw", is_flag=True, help="Write a result even if none of it was sanitized.")
@click.option("--dataset", metavar="NAME", help="Name of the data in the ledger.  [default: <query>]")
@second_mapping_option
@reuse_key_option
@policy_options()
@calibration_option
@mapping_option
@click.option("--key-file", metavar="PATH", help="Key for custext_sanitize_keyed, with its settings.")
@json_option
@click.pass_obj
def sql_command(
    db: str | None,
    query: str,
    data: str | None,
    attached: dict[str, str],
    output: str | None,
    into: str | None,
    append: bool,
    force: bool,
    allow_raw: bool,
    dataset: str | None,
    second_mapping: bool,
    reuse_key: bool,
    policy: "str | Policy | None",
    calibration: str | None,
    mapping: str | None,
    key_file: str | None,
    as_json: bool,
) -> None:
    """Run one query in DuckDB with custext_sanitize, custext_sanitize_keyed and custext_epsilon.

    The query names files, or tables of --data; without --data it also sees the tables of the custext database. It can
    only return rows: they are shown, or written by --output or --into. Every query that sanitizes is entered in the
    ledger.

    \b
    Examples:
      custext sql "SELECT id, custext_sanitize(body, 1.0, true) AS body FROM 'reviews.csv'"
      custext sql "SELECT * REPLACE (custext_sanitize(body, 1, true) AS body) FROM reviews" \\
        --data shop.duckdb --output reviews.parquet
      custext sql "SELECT id, custext_sanitize(body, 1, true) AS body FROM reviews" \\
        --data shop.duckdb --into clean
      custext sql "FROM custext_distribution('doctor', 1.0)"
    """
    from custext_sql import Dataset, Sanitizer
    from custext_sql.release.query_releases import ReleasingQuery
    from custext_sql.sql.queries import let_threads_alternate

    if into is not None and data is None:
        raise click.UsageError("--into needs --data FILE: the DuckDB file with the table.")
    if into is not None and output is not None:
        raise click.UsageError("Use --output or --into, not both.")
    if append and into is None:
        raise click.UsageError("--append needs --into TABLE.")
    if append and force:
        raise click.UsageError("Use --append or --force, not both.")
    let_threads_alternate()
    sanitizer = Sanitizer.load(db, mapping=mapping, policy=policy, calibration=calibration, key_file=key_file)
    named = Dataset(dataset, second_mapping=second_mapping, reuse_key=reuse_key)
    release = ReleasingQuery(query, sanitizer, data, named, attached=attached, allow_raw=allow_raw)
    if output is not None or into is not None:
        with progress_bar("sanitizing") as progress:
            if output is not None:
                written = release.write(Path(output), force=force, progress=progress)
            else:
                written = release.write_table(str(into), append=append, force=force, progress=progress)
        if as_json:
            receipt = None if written.receipt is None else written.receipt.to_dict()
            place = {"output": output} if into is None else {"data": data, "table": into}
            print_json({**place, "rows": written.result, "receipt": receipt})
        else:
            place_shown = Path(output) if output is not None else f"{data}, table {into}"
            click.echo(f"{place_shown}: {count_of(written.result, 'row')}{' added' if append else ''}")
        _tell(written, with_receipt=not as_json)
    elif as_json:
        fetched = release.fetch()
        print_json(fetched.result)
        _tell(fetched)
    else:
        answer = release.show(_SHOWN)
        _print_rows(answer.result)
        _tell(answer)


def _print_rows(shown: "Shown") -> None:
    cells = [["NULL" if cell is None else cell for cell in row] for row in shown.rows]
    print_table(shown.columns, cells, right=[place for place, number in enumerate(shown.is_number) if number])
    if shown.goes_on:
        click.echo(f"Only the first {_SHOWN} rows are shown; for all rows, use --output FILE or --json", err=True)


def _tell(answer: "Answer[Any]", *, with_receipt: bool = True) -> None:
    """Print the receipt, if the query drew anything, and warnings."""
    if answer.receipt is not None:
        tell_receipt(answer.receipt, with_receipt=with_receipt)
    if answer.note:
        warn(answer.note)
