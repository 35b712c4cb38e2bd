"""custext keygen"""

from dataclasses import asdict
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from custext_sql.store.key_files import KeySettings


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

    The key is for these settings alone, since other ones would be another draw, and for one dataset. Only you can read
    the file: whoever has it can narrow every released word down to a few candidates. It never replaces a file.

    \b
    Example:
      custext keygen reviews.key --eps 1 --plus
      custext sql "SELECT custext_sanitize_keyed(body, 'body:' || id) FROM 'reviews.csv'" --key-file reviews.key
    """
    from custext_sql import make_key

    made = make_key(path, db, mapping=mapping, eps=eps, plus=plus, policy=policy, calibration=calibration)
    if as_json:
        known = {"path": str(made.path), "name": made.key.name, "format": made.format, "rules": made.rules}
        print_json(known | asdict(made.settings))
        return
    settings = made.settings
    click.echo(f"{path}: key {made.key.name}, for these settings alone:")
    for name, value in _describe(settings):
        click.echo(f"  {name:<12} {value}")
    click.echo(f"  {'format':<12} {made.format}")
    click.echo("Keep it secret: whoever has it can narrow every released word down to a few candidates.")
    click.echo("Use it for one dataset. You choose the records: one for each text, and always the same one.")
    click.echo("Do not use it for a second dataset, nor where callers choose texts or records.")


def _describe(settings: "KeySettings") -> list[tuple[str, str]]:
    """Return what a key is for, as names and values for people."""
    from custext_sql.replacing.policy import POLICIES

    named = [f"{name}: " for name, policy in POLICIES.items() if policy == settings.policy]
    parts = ", ".join(f"{part} {choice}" for part, choice in asdict(settings.policy).items())
    return [
        ("mapping", f"{settings.mapping}, fingerprint {settings.fingerprint}"),
        ("eps", f"{settings.eps:g}"),
        ("plus", "yes, stopwords are kept" if settings.plus else "no, stopwords are drawn as all words"),
        ("stopwords", f"{settings.language}, digest {settings.stopwords}"),
        ("policy", "".join(named) + parts),
        ("calibration", settings.calibration),
    ]
