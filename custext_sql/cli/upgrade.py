"""The command `custext upgrade`."""

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import print_json


@click.command("upgrade", short_help="Upgrade a database created by an older version.")
@json_option
@click.pass_obj
def upgrade_command(db: str | None, as_json: bool) -> None:
    """Upgrade a database created by an older version, and its ledger, to the current schema, each in one transaction.

    \b
    Example:
      custext --db my.duckdb upgrade
    """
    from custext_sql.ledger.connections import upgrade_ledger
    from custext_sql.ledger.places import LedgerFile
    from custext_sql.store.database import upgrade_database

    revisions = {"database": upgrade_database(db), "ledger": upgrade_ledger(LedgerFile.locate(None, db))}
    if as_json:
        print_json({what: {"before": before, "after": after} for what, (before, after) in revisions.items()})
        return
    for what, (before, after) in revisions.items():
        same = before == after
        click.echo(f"{what}: {f'already at revision {after}' if same else f'upgraded from {before} to {after}'}")
