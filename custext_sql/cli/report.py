"""The command `custext report`."""

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


@click.command("report", short_help="Report privacy and utility at an eps, on one page.")
@click.option("--html", metavar="FILE", help="Write a self-contained page.")
@click.option("--data", metavar="FILE", help="Your texts, to count their words and what stays in the clear.")
@click.option("--column", metavar="NAME", help="Column of --data; leave it out for lines of text.")
@click.option(
    "--prior", metavar="FILE", help="Word frequencies to use instead of those in --data: a word and a number per line."
)
@click.option("--public", metavar="FILE", help="Public texts, for the context attack on --data.")
@click.option("--public-column", metavar="NAME", help="Column of --public.  [default: same as --column]")
@click.option(
    "--word",
    "words",
    multiple=True,
    metavar="WORD",
    help="Word for the query attack; repeat for several.  [default: a few common words]",
)
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
    public: str | None,
    public_column: str | None,
    words: tuple[str, ...],
    eps: float,
    plus: bool,
    policy: str,
    calibration: str,
    mapping: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Report how private and how useful texts are at a given eps: attacks, utility, words in the clear, guarantees.

    Attacks on the tables are measured now, unless they were measured before. Utility and trade-offs come from earlier
    runs of `custext evaluate`. With --data, the page shows counts from your texts, but not the texts themselves; these
    counts are not protected. With --public as well, it shows how often words of your texts are guessed in context.

    \b
    Examples:
      custext report --html report.html --eps 1 --data reviews.csv --column body
      custext report --html report.html --eps 0 --data reviews.csv --column body --public news.txt
    """
    from custext_sql import write_report
    from custext_sql.errors import SettingError

    if html is None and not as_json:
        raise SettingError("choose an output: --html FILE for a page, or --json for the same as JSON")
    with progress_bar("measuring") as progress:
        report = write_report(
            db,
            html=html,
            data=data,
            column=column,
            prior=prior,
            public=public,
            public_column=public_column,
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
