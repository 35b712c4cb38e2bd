"""The command `custext report`."""

from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli.input_options import input_options, public_options
from custext_sql.cli.options import eps_option, json_option, keyless_calibration_option, mapping_option, plus_option
from custext_sql.cli.output import print_json, progress_bar, report_skipped
from custext_sql.cli.policy_options import policy_options

if TYPE_CHECKING:
    from custext_sql.release.inputs.texts import Texts
    from custext_sql.replacing.policy import Policy


@click.command("report", short_help="Give a verdict on privacy at an eps, with all figures on one page.")
@input_options(required=False)
@click.option("--html", metavar="FILE", help="Write a page: the verdict, then all figures.")
@click.option(
    "--prior", metavar="FILE", help="Word frequencies to use instead of those in INPUT: a word and a number per line."
)
@public_options("Public texts, for the context attack on INPUT.")
@click.option(
    "--word",
    "words",
    multiple=True,
    metavar="WORD",
    help="Word for the query attack; repeat for several.  [default: a few common words]",
)
@click.option(
    "--dataset",
    metavar="NAME",
    help="Name of your texts in the ledger, for earlier releases.  [default: their files or their table]",
)
@eps_option
@plus_option
@policy_options("strict")
@keyless_calibration_option
@mapping_option
@click.option("--force", is_flag=True, help="Replace an existing page.")
@json_option
@click.pass_obj
def report_command(
    db: str | None,
    /,
    html: str | None,
    data: "Texts | None",
    policy: "str | Policy",
    as_json: bool,
    **settings: Any,
) -> None:
    """Give a verdict on texts that are sanitized at a given eps, in plain words: red, amber or green.

    The verdict says what an attacker can and cannot do, what stays in the clear, and what would help most. --html
    writes it as a page that prints on one sheet, followed by all figures: attacks, words in the clear, guarantees.

    INPUT has your texts: a file, a folder or a quoted pattern of files; for a table, give --data and --table instead.
    The report uses their word frequencies. With --public, it also runs the context attack on them; without it, the
    verdict is never green. For the utility of sanitized texts, see `custext evaluate`.

    The report shows no texts, but it is computed from them and is not protected.

    \b
    Examples:
      custext report reviews.csv --column body --eps 1
      custext report reviews.csv --column body --eps 0 --public news.txt --html report.html
      custext report --data shop.duckdb --table reviews --column body --html report.html
    """
    from custext_sql import write_report
    from custext_sql.experiments.verdict.wording import write_opening, write_verdict

    with progress_bar("measuring") as progress:
        report = write_report(db, html=html, data=data, policy=policy, progress=progress, **settings)
    if report.context is not None:
        report_skipped({report.context.public: report.context.skipped})
    if as_json:
        print_json(report)
    elif html is None:
        click.echo("\n".join(write_verdict(report.verdict)))
    else:
        click.echo(f"{html}: {report.mapping}, eps = {report.eps:g}")
        click.echo("\n".join(write_opening(report.verdict)))
