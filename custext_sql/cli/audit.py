"""The command `custext audit`."""

import click

from custext_sql.cli.options import (
    eps_option,
    json_option,
    keyless_calibration_option,
    keyless_language_option,
    mapping_option,
    plus_option,
)
from custext_sql.cli.output import print_json, show_sizes
from custext_sql.cli.policy_options import keep_words_option
from custext_sql.parameters import count_of


@click.command("audit", short_help="Verify the privacy guarantee of a mapping.")
@eps_option
@plus_option
@keep_words_option
@keyless_calibration_option
@mapping_option
@keyless_language_option
@json_option
@click.pass_obj
def audit_command(
    db: str | None,
    eps: float,
    plus: bool,
    keep_words: str | None,
    calibration: str,
    mapping: str | None,
    language: str,
    as_json: bool,
) -> None:
    """Verify a mapping: its fingerprint, its partition into groups, and the guarantee of eps in every group.

    The guarantee is checked in exact integer arithmetic, on the same integers that words are drawn from. With --plus
    or --keep-words, it covers the words that are replaced. The audit also shows how many words a replaced word hides
    among. If a check fails, the audit names the group and exits with status 1.

    \b
    Examples:
      custext audit --eps 1 --plus
      custext audit --eps 1 --calibration tight
    """
    from custext_sql import audit
    from custext_sql.text.word_list import read_word_file

    listed = () if keep_words is None else read_word_file(keep_words)
    found = audit(
        db, mapping=mapping, eps=eps, plus=plus, calibration=calibration, language=language, keep_words=listed
    )
    if as_json:
        print_json(found)
        return
    kept = ", stopwords kept" if found.plus else ""
    kept += f", {count_of(len(listed), 'listed word')} kept" if listed else ""
    click.echo(f"{found.mapping}, eps = {found.eps:g}, calibration {found.calibration}{kept}\n")
    click.echo(f"fingerprint       matches: {found.fingerprint}")
    click.echo(
        f"partition         holds: {found.words:,} words in {count_of(found.groups, 'group')} of "
        f"{show_sizes(found.smallest_group, found.largest_group)}"
    )
    among = "among the replaced words of every group" if kept else "in every group"
    click.echo(f"guarantee         holds {among}; no log-ratio exceeds eps = {found.eps:g}")
    hiding = f"each replaced word hides among at least {count_of(found.hides_among, 'word')}"
    click.echo(f"hiding            {hiding if found.hides_among else 'no word is replaced'}")
    click.echo(f"worst log-ratio   {found.worst_log_ratio:.6g}")
    click.echo(f"median log-ratio  {found.median_log_ratio:.6g}")
