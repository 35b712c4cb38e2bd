"""custext use"""

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import print_json


@click.command("use")
@click.argument("name")
@json_option
@click.pass_obj
def use_command(db: str | None, name: str, as_json: bool) -> None:
    """Make a mapping the default of the database.

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
