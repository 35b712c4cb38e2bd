"""custext use"""

import click


@click.command("use")
@click.argument("name")
@click.pass_obj
def use_command(db: str | None, name: str) -> None:
    """Make a mapping the default of the database.

    \b
    Example:
      custext use starter-euclidean-k20
    """
    from custext_sql.mapping_store import use_mapping

    use_mapping(db, name=name)
    click.echo(f"{name} is now the default mapping")
