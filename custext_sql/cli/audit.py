"""custext audit"""

import click

from custext_sql.cli.options import eps_option, json_option, keyless_calibration_option, mapping_option, plus_option
from custext_sql.cli.output import print_json


@click.command("audit", short_help="Verify the promise of eps in every group.")
@eps_option
@plus_option
@keyless_calibration_option
@mapping_option
@json_option
@click.pass_obj
def audit_command(db: str | None, eps: float, plus: bool, calibration: str, mapping: str | None, as_json: bool) -> None:
    """Verify a mapping: fingerprint, partition, and the promise of eps in every group.

    The promise is checked in exact integer arithmetic, on the integers that are sampled from. With --plus it is about
    the words that are drawn, and the audit says among how many of them a word hides at least. Exit status 1 if anything
    fails, with the group that does.

    \b
    Example:
      custext audit --eps 1 --plus
      custext audit --eps 1 --calibration tight
    """
    from custext_sql import audit

    found = audit(db, mapping=mapping, eps=eps, plus=plus, calibration=calibration)
    if as_json:
        print_json(found)
        return
    kept = ", stopwords kept" if found.plus else ""
    click.echo(f"{found.mapping}, eps = {found.eps:g}, calibration {found.calibration}{kept}\n")
    click.echo(f"fingerprint       matches: {found.fingerprint}")
    click.echo(
        f"partition         holds: {found.words:,} words in {found.groups:,} groups of {found.smallest_group} to "
        f"{found.largest_group}"
    )
    among = "among the drawn words of every group" if found.plus else "in every group"
    click.echo(f"promise           holds {among}, none above eps = {found.eps:g}")
    click.echo(f"hiding            a drawn word hides among at least {found.hides_among} words")
    click.echo(f"worst log-ratio   {found.worst_log_ratio:.6g}")
    click.echo(f"median log-ratio  {found.median_log_ratio:.6g}")
