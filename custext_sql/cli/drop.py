"""custext drop"""

import click


@click.group("drop")
def drop_command() -> None:
    """Remove an embedding or a mapping.

    \b
    Example:
      custext drop mapping glove-cosine-k20
    """


@drop_command.command("embedding")
@click.argument("name")
@click.pass_obj
def drop_embedding_command(db: str | None, name: str) -> None:
    """Remove an embedding's vectors. Mappings built from it stay, since they stand on their own."""
    from custext_sql.embeddings import drop_embedding

    drop_embedding(db, name=name)
    click.echo(f"dropped embedding {name}")


@drop_command.command("mapping")
@click.argument("name")
@click.pass_obj
def drop_mapping_command(db: str | None, name: str) -> None:
    """Remove a mapping's groups and scores."""
    from custext_sql.mapping_store import drop_mapping

    drop_mapping(db, name=name)
    click.echo(f"dropped mapping {name}")
