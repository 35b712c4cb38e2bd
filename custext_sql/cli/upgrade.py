"""The command `custext upgrade`."""

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import print_json


@click.command("upgrade", short_help="Upgrade a database created by an older version.")
@json_option
@click.pass_obj
def upgrade_command(db: str | None, as_json: bool) -> None:
    """Upgrade a database created by an older version to the current schema, in one transaction.

    \b
    Example:
      custext --db my.duckdb upgrade
    """
    from custext_sql.store.database import upgrade_database

    before, after = upgrade_database(db)
    if as_json:
        print_json({"before": before, "after": after})
        return
    click.echo(f"already at revision {after}" if before == after else f"upgraded from revision {before} to {after}")
