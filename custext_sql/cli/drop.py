"""The command group `custext drop`."""

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import name_database, print_json


@click.group("drop", short_help="Remove an embedding or a mapping.")
def drop_command() -> None:
    """Remove an embedding or a mapping from the database.

    \b
    Example:
      custext drop mapping glove-cosine-k20
    """


@drop_command.command("embedding")
@click.argument("name")
@json_option
@click.pass_obj
def drop_embedding_command(db: str | None, name: str, as_json: bool) -> None:
    """Remove the vectors of an embedding. Mappings built from it stay and still work.

    \b
    Example:
      custext drop embedding glove
    """
    from custext_sql import drop_embedding

    drop_embedding(db, name=name)
    _confirm(db, "embedding", name, as_json)


@drop_command.command("mapping")
@click.argument("name")
@json_option
@click.pass_obj
def drop_mapping_command(db: str | None, name: str, as_json: bool) -> None:
    """Remove the groups and scores of a mapping.

    \b
    Example:
      custext drop mapping glove-cosine-k20
    """
    from custext_sql import drop_mapping

    drop_mapping(db, name=name)
    _confirm(db, "mapping", name, as_json)


def _confirm(db: str | None, kind: str, name: str, as_json: bool) -> None:
    from custext_sql.store.database import locate
    from custext_sql.store.rewritten_files import suggest_compacting

    if as_json:
        print_json({"dropped": kind, "name": name})
        return
    click.echo(f"dropped {kind} {name}")
    hint = suggest_compacting(locate(db))
    if hint is not None:
        click.echo(name_database(hint, db))
