"""The command `custext verify`."""

import click

from custext_sql.cli.ledger import describe_release
from custext_sql.cli.options import json_option
from custext_sql.cli.output import print_json, show_control


@click.command("verify", short_help="Find the release that wrote a file.")
@click.argument("file", metavar="FILE")
@json_option
@click.pass_context
def verify_command(context: click.Context, file: str, as_json: bool) -> None:
    """Find the release in the ledger that wrote exactly the bytes of FILE: when, and under which settings.

    The name of the file does not matter. The exit status is 1 if no release wrote it, so it may be another file, or one
    that was changed since.

    \b
    Example:
      custext verify sanitized.csv
    """
    from custext_sql import find_releases

    found = find_releases(file, context.obj)
    if as_json:
        print_json([entry.to_dict() for entry in found])
    for entry in [] if as_json else found:
        click.echo(show_control(f"{file}: {describe_release(entry)}"))
        columns = f"columns {', '.join(entry.sanitized)}; " if entry.sanitized else ""
        copied = f"copied {', '.join(entry.copied)}; " if entry.copied else ""
        click.echo(
            show_control(
                f"  {entry.state}; {columns}{copied}eps {entry.eps:g}, plus {str(entry.plus).lower()}, mapping "
                f"{entry.mapping}, {entry.draws} draws, {entry.policy}, version {entry.version}"
                if entry.eps is not None
                else f"  {entry.state}; {entry.draws}: nothing was sanitized, version {entry.version}"
            )
        )
    if not found:
        if not as_json:
            click.echo(f"{file}: no release in the ledger wrote these bytes", err=True)
        context.exit(1)
