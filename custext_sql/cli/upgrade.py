"""custext upgrade"""

import click


@click.command("upgrade")
@click.pass_obj
def upgrade_command(db: str | None) -> None:
    """Bring a database written by an older version up to date, in one transaction.

    \b
    Example:
      custext --db my.duckdb upgrade
    """
    from custext_sql.database import upgrade_database

    before, after = upgrade_database(db)
    click.echo(f"already at revision {after}" if before == after else f"upgraded from revision {before} to {after}")
