"""The command `custext keygen`."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from custext_sql.cli.options import (
    calibration_option,
    eps_option,
    json_option,
    keyless_language_option,
    mapping_option,
    plus_option,
)
from custext_sql.cli.output import print_json
from custext_sql.cli.policy_options import policy_options

if TYPE_CHECKING:
    from custext_sql.replacing.policy import Policy
    from custext_sql.store.key_files import KeySettings


@click.command("keygen", short_help="Create a key for repeatable draws.")
@click.argument("path")
@eps_option
@plus_option
@policy_options()
@calibration_option
@mapping_option
@keyless_language_option
@json_option
@click.pass_obj
def keygen_command(
    db: str | None,
    path: str,
    eps: float,
    plus: bool,
    policy: "str | Policy | None",
    calibration: str | None,
    mapping: str | None,
    language: str,
    as_json: bool,
) -> None:
    """Create a key file. With a key, the same record and text always give the same output.

    All words of an edited text are drawn again. A key is tied to the settings given here, because sanitizing a text
    under other settings draws it again. Use it for one dataset only. Keep the file secret: anyone who has it can check
    guesses of a text. Only your user account can read it. An existing file is never overwritten.

    \b
    Examples:
      custext keygen reviews.key --eps 1 --plus
      custext sql "SELECT custext_sanitize_keyed(body, 'body:' || id) FROM 'reviews.csv'" --key-file reviews.key
    """
    from custext_sql import make_key
    from custext_sql.store.key_files import FORMAT

    made = make_key(
        path, db, mapping=mapping, eps=eps, plus=plus, policy=policy, calibration=calibration, language=language
    )
    if as_json:
        known = {"path": str(made.path), "name": made.key.name, "format": FORMAT}
        print_json(known | asdict(made.settings) | {"policy": made.settings.policy.to_dict()})
        return
    settings = made.settings
    click.echo(f"{path}: key {made.key.name}, for these settings only:")
    for name, value in _describe(settings):
        click.echo(f"  {name:<12} {value}")
    click.echo(f"  {'format':<12} {FORMAT}")
    click.echo("Keep it secret: with it, anyone can check guesses of a text, and fill in words missing from one.")
    click.echo("Use it for one dataset only. Give each text its own record ID, the same one every time.")
    click.echo("Do not use it where callers can choose texts or record IDs.")


def _describe(settings: "KeySettings") -> list[tuple[str, str]]:
    """Return the settings of a key as names and values, for people."""
    from custext_sql.replacing.policy import POLICIES

    named = [f"{name}: " for name, policy in POLICIES.items() if policy == settings.policy]
    parts = settings.policy.describe().replace(" ", ", ").replace("=", " ")
    return [
        ("mapping", f"{settings.mapping}, fingerprint {settings.fingerprint}"),
        ("eps", f"{settings.eps:g}"),
        ("plus", "yes, stopwords are kept" if settings.plus else "no, stopwords are replaced like other words"),
        ("stopwords", f"{settings.language}, digest {settings.stopwords}"),
        ("policy", "".join(named) + parts),
        ("calibration", settings.calibration),
    ]
