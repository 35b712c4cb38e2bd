"""custext report"""

from pathlib import Path

import click

from custext_sql.cli.options import (
    calibration_option,
    eps_option,
    json_option,
    mapping_option,
    plus_option,
    policy_option,
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
@policy_option
@calibration_option
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
    policy: str | None,
    calibration: str | None,
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
    from custext_sql.errors import SettingError
    from custext_sql.experiments.evaluation.frequencies import find_prior
    from custext_sql.experiments.mechanisms import Arena
    from custext_sql.experiments.report.contents import Chosen, collect
    from custext_sql.experiments.report.page import write_report
    from custext_sql.replacing.policy import DEFAULT_POLICY
    from custext_sql.store.files.atomic_outputs import check_place, publish_text

    if html is None and not as_json:
        raise SettingError("say where to: --html FILE for a page, --json for the same as JSON")
    if html is not None:
        check_place(Path(html), force=force)
    arena = Arena(db, mapping=mapping)
    chosen = Chosen(
        eps, calibration or "paper", plus, policy or DEFAULT_POLICY, words, None if data is None else (data, column)
    )
    known = find_prior(arena, None, data, column) if prior is None else find_prior(arena, prior, None, None)
    with progress_bar("measuring") as progress:
        report = collect(db, arena, chosen, known, progress=progress)
    if html is not None:
        publish_text(Path(html), write_report(report), force=force)
    if as_json:
        print_json(report)
    else:
        click.echo(f"{html}: {report.mapping}, eps = {report.eps:g}")
