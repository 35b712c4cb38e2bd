"""custext report"""

import click

from custext_sql.cli.options import (
    eps_option,
    json_option,
    keyless_calibration_option,
    keyless_policy_option,
    mapping_option,
    plus_option,
)
from custext_sql.cli.output import print_json, progress_bar


@click.command("report", short_help="Show what eps and K buy, on one page.")
@click.option("--html", metavar="FILE", help="Write a self-contained page.")
@click.option("--data", metavar="FILE", help="Your texts: what passes in them, and how frequent their words are.")
@click.option("--column", metavar="NAME", help="Its column; not for lines of text.")
@click.option("--prior", metavar="FILE", help="Word frequencies to go by instead: a word and a number on each line.")
@click.option("--word", "words", multiple=True, metavar="WORD", help="For the query attack; once or more.")
@eps_option
@plus_option
@keyless_policy_option
@keyless_calibration_option
@mapping_option
@click.option("--force", is_flag=True, help="Replace an existing page.")
@json_option
@click.pass_obj
def report_command(
    db: str | None,
    html: str | None,
    data: str | None,
    column: str | None,
    prior: str | None,
    words: tuple[str, ...],
    eps: float,
    plus: bool,
    policy: str,
    calibration: str,
    mapping: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Show what a chosen eps buys: how well attacks do, what the text is still good for, what passes, what is verified.

    Attacks on the tables are measured at once if they were not before. Utility and trade-offs come from earlier runs of
    `custext evaluate`. With --data the page shows counts from your texts, none of the texts themselves; such counts are
    not protected.

    \b
    Example:
      custext report --html report.html --eps 1 --data reviews.csv --column body
    """
    from custext_sql import write_report
    from custext_sql.errors import SettingError

    if html is None and not as_json:
        raise SettingError("say where to: --html FILE for a page, --json for the same as JSON")
    with progress_bar("measuring") as progress:
        report = write_report(
            db,
            html=html,
            data=data,
            column=column,
            prior=prior,
            words=words,
            eps=eps,
            plus=plus,
            policy=policy,
            calibration=calibration,
            mapping=mapping,
            force=force,
            progress=progress,
        )
    if as_json:
        print_json(report)
    else:
        click.echo(f"{html}: {report.mapping}, eps = {report.eps:g}")
