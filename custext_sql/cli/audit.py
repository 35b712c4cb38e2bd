"""custext audit"""

import click

from custext_sql.cli.output import json_option, print_json


@click.command("audit", short_help="Verify the promise of eps in every group.")
@click.option("--eps", default=1.0, show_default=True, type=float, help="Privacy budget of a word, 0.001 to 100.")
@click.option(
    "--calibration",
    default="paper",
    show_default=True,
    type=click.Choice(["paper", "tight"]),
    help="How eps sets the temperature: the paper's eps/2, or the largest that keeps the promise.",
)
@click.option("--mapping", help="Name of the mapping.  [default: the database's default]")
@json_option
@click.pass_obj
def audit_command(db: str | None, eps: float, calibration: str, mapping: str | None, as_json: bool) -> None:
    """Verify a mapping: fingerprint, partition, and the promise of eps in every group.

    The promise is checked in exact integer arithmetic, on the integers that are sampled from. Exit status 1 if anything
    fails, with the group that does.

    \b
    Example:
      custext audit --eps 1 --calibration tight
    """
    from custext_sql.auditing import audit

    found = audit(db, mapping=mapping, epsilon=eps, calibration=calibration)
    if as_json:
        print_json(found)
        return
    click.echo(f"{found.mapping}, eps = {found.eps:g}, calibration {found.calibration}\n")
    click.echo(f"fingerprint       matches: {found.fingerprint}")
    click.echo(
        f"partition         holds: {found.words:,} words in {found.groups:,} groups of {found.smallest_group} to "
        f"{found.largest_group}"
    )
    click.echo(f"promise           holds in every group, none above eps = {found.eps:g}")
    click.echo(f"worst log-ratio   {found.worst_log_ratio:.6g}")
    click.echo(f"median log-ratio  {found.median_log_ratio:.6g}")
