"""The command `custext compact`."""

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import print_json


@click.command("compact", short_help="Shrink the database file.")
@json_option
@click.pass_obj
def compact_command(db: str | None, as_json: bool) -> None:
    """Rewrite the database file to its smallest size.

    DuckDB reuses the space of what was dropped, but does not give it back. The new file is written beside the old one,
    compared with it row by row, and then takes its place, so the disk needs room for both. Other programs that use the
    database wait or say that it is in use. What was dropped is no longer in the file afterwards.

    \b
    Examples:
      custext compact
      custext --db my.duckdb compact --json
    """
    from custext_sql import compact_database

    done = compact_database(db)
    if as_json:
        print_json(done)
        return
    click.echo(f"{done.database}: {done.bytes_before / 1e6:.1f} MB before, {done.bytes_after / 1e6:.1f} MB now")
