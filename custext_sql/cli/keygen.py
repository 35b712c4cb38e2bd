"""custext keygen"""

from dataclasses import asdict

import click

from custext_sql.cli.options import (
    calibration_option,
    eps_option,
    json_option,
    mapping_option,
    plus_option,
    policy_option,
)
from custext_sql.cli.output import print_json


@click.command("keygen", short_help="Make a key for draws that repeat.")
@click.argument("path")
@eps_option
@plus_option
@policy_option
@calibration_option
@mapping_option
@json_option
@click.pass_obj
def keygen_command(
    db: str | None,
    path: str,
    eps: float,
    plus: bool,
    policy: str | None,
    calibration: str | None,
    mapping: str | None,
    as_json: bool,
) -> None:
    """Make a key file: with it the same record gives the same text however often it is asked for.

    The key is for these settings alone, since other ones would be another draw. Only you can read the file; whoever has
    it can undo what was drawn with it. An existing file is never overwritten.

    \b
    Example:
      custext keygen reviews.key --eps 1 --plus
      custext sql "SELECT custext_sanitize_keyed(body, 'body:' || id) FROM 'reviews.csv'" --key-file reviews.key
    """
    from custext_sql.key_file import make_key

    made = make_key(path, db, mapping=mapping, eps=eps, plus=plus, policy=policy, calibration=calibration)
    if as_json:
        print_json({"path": str(made.path), "name": made.key.name, **asdict(made.settings)})
        return
    settings = made.settings
    kept = ", stopwords kept" if settings.plus else ""
    click.echo(f"{path}: key {made.key.name} for {settings.mapping}, eps = {settings.eps:g}{kept}")
    click.echo("Keep it secret: whoever has it can undo what was drawn with it.")
