"""The command `custext use`."""

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import print_json


@click.command("use", short_help="Set the default mapping.")
@click.argument("name")
@json_option
@click.pass_obj
def use_command(db: str | None, name: str, as_json: bool) -> None:
    """Set the default mapping of the database, which other commands use unless --mapping is given.

    \b
    Example:
      custext use starter-euclidean-k20
    """
    from custext_sql import use_mapping

    use_mapping(db, name=name)
    if as_json:
        print_json({"default_mapping": name})
        return
    click.echo(f"{name} is now the default mapping")
