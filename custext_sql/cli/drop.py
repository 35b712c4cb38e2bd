"""The command group `custext drop`."""

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import name_database, print_json


@click.group("drop", short_help="Remove an embedding, a mapping or measurements.")
def drop_command() -> None:
    """Remove an embedding, a mapping or saved measurements from the database.

    \b
    Examples:
      custext drop mapping glove-cosine-k20
      custext drop measurements --evaluated-on reviews.csv
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


@drop_command.command("measurements")
@click.option("--evaluated-on", metavar="NAME", help="Only those on this data, by the name that reports show.")
@click.option("--mapping", metavar="NAME", help="Only those with this mapping.")
@click.option("--all", "everything", is_flag=True, help="All measurements.")
@json_option
@click.pass_obj
def drop_measurements_command(
    db: str | None, evaluated_on: str | None, mapping: str | None, everything: bool, as_json: bool
) -> None:
    """Remove saved results of attack, evaluate, choose and report.

    Results that are needed later are measured again. With both names, only results that match both are removed.

    \b
    Examples:
      custext drop measurements --evaluated-on reviews.csv
      custext drop measurements --mapping glove-cosine-k20 --json
    """
    from custext_sql import drop_measurements
    from custext_sql.parameters import count_of

    dropped = drop_measurements(db, evaluated_on=evaluated_on, mapping=mapping, everything=everything)
    if as_json:
        print_json({"dropped": "measurements", "rows": dropped})
    else:
        click.echo(f"dropped {count_of(dropped, 'measurement')}")
        _hint_at_compacting(db)


def _confirm(db: str | None, kind: str, name: str, as_json: bool) -> None:
    if as_json:
        print_json({"dropped": kind, "name": name})
    else:
        click.echo(f"dropped {kind} {name}")
        _hint_at_compacting(db)


def _hint_at_compacting(db: str | None) -> None:
    from custext_sql.store.database import locate
    from custext_sql.store.rewritten_files import suggest_compacting

    hint = suggest_compacting(locate(db))
    if hint is not None:
        click.echo(name_database(hint, db))
