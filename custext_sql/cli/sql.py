"""custext sql"""

from pathlib import Path
from typing import Any

import click

from custext_sql.cli.options import calibration_option, json_option, mapping_option, policy_option
from custext_sql.cli.output import print_json, print_table, progress_bar

_SHOWN = 100  # rows of a table that people read


@click.command("sql", short_help="Run a query that may sanitize.")
@click.argument("query")
@click.option("--data", metavar="FILE", help="A DuckDB file whose tables the query reads; it is not changed.")
@click.option("--output", metavar="FILE", help="Write the result: a name in .parquet, .csv or .json.")
@click.option("--force", is_flag=True, help="Replace an existing output.")
@click.option("--dataset", metavar="NAME", help="With --output: what the ledger calls the data.  [default: <query>]")
@policy_option
@calibration_option
@mapping_option
@click.option("--key-file", metavar="PATH", help="The key for custext_sanitize_keyed; it brings its settings.")
@json_option
@click.pass_obj
def sql_command(
    db: str | None,
    query: str,
    data: str | None,
    output: str | None,
    force: bool,
    dataset: str | None,
    policy: str | None,
    calibration: str | None,
    mapping: str | None,
    key_file: str | None,
    as_json: bool,
) -> None:
    """Run SQL in DuckDB with custext_sanitize, custext_sanitize_keyed and custext_epsilon.

    The query names its files, or the tables of --data; without --data it also sees the tables of the custext database.

    \b
    Example:
      custext sql "SELECT id, custext_sanitize(body, 1.0, true) AS body FROM 'reviews.csv'"
      custext sql "SELECT * REPLACE (custext_sanitize(body, 1, true) AS body) FROM reviews" \\
        --data shop.duckdb --output reviews.parquet
      custext sql "FROM custext_distribution('doctor', 1.0)"
    """
    from custext_sql.queries import fetch_objects, let_threads_alternate, open_data, show
    from custext_sql.releases import release_query
    from custext_sql.sanitizer import Sanitizer

    let_threads_alternate()
    settings: dict[str, Any] = {"mapping": mapping, "policy": policy, "calibration": calibration, "key_file": key_file}
    if output is not None:
        with progress_bar("sanitizing") as progress:
            rows, note = release_query(
                query, Path(output), db, data, dataset or "<query>", force=force, progress=progress, **settings
            )
        if note:
            click.echo(f"Warning: {note}", err=True)
        if as_json:
            print_json({"output": output, "rows": rows})
        else:
            click.echo(f"{Path(output)}: {rows:,} rows")
        return
    with open_data(Sanitizer.load(db, **settings), db, data) as connection:
        if as_json:
            print_json(fetch_objects(connection, query))
        elif shown := show(connection, query, _SHOWN):
            cells = [["NULL" if cell is None else cell for cell in row] for row in shown.rows]
            print_table(shown.columns, cells, right=[place for place, number in enumerate(shown.is_number) if number])
            if shown.goes_on:
                click.echo(f"The first {_SHOWN} rows; all of them: --output FILE, or --json", err=True)
