"""The command `custext inspect`."""

import click

from custext_sql.cli.options import eps_option, json_option, keyless_calibration_option, mapping_option
from custext_sql.cli.output import draw_bar, print_json, print_table

_WIDTH = 24  # of the longest bar, in characters


@click.command("inspect", short_help="Show the possible replacements of a word.")
@click.argument("word")
@mapping_option
@eps_option
@keyless_calibration_option
@json_option
@click.pass_obj
def inspect_command(
    db: str | None, word: str, mapping: str | None, eps: float, calibration: str, as_json: bool
) -> None:
    """Show the possible replacements of a word: its group, with scores and probabilities.

    \b
    Example:
      custext inspect she --eps 1
    """
    from custext_sql import inspect_word, load_mapping

    found = inspect_word(load_mapping(db, mapping), word, eps, calibration=calibration)
    if as_json:
        print_json(found)
        return
    click.echo(f"{found.word} in {found.mapping}, eps = {found.eps:g}\n")
    largest = found.group[0].probability
    rows = [
        (
            replacement.output,
            f"{replacement.score:.4f}",
            f"{replacement.probability:.4f}",
            draw_bar(replacement.probability / largest, _WIDTH),
        )
        for replacement in found.group
    ]
    print_table(("output", "score", "probability", ""), rows, right=(1, 2))
