"""custext inspect"""

import click

from custext_sql.cli.options import eps_option, json_option, mapping_option
from custext_sql.cli.output import draw_bar, print_json, print_table

_WIDTH = 24  # cells of the longest bar


@click.command("inspect", short_help="Show what may come out for a word.")
@click.argument("word")
@mapping_option
@eps_option
@json_option
@click.pass_obj
def inspect_command(db: str | None, word: str, mapping: str | None, eps: float, as_json: bool) -> None:
    """Show what may come out for a word: its group, scores and probabilities.

    \b
    Example:
      custext inspect she --eps 1
    """
    from custext_sql.mechanism.inspection import inspect_word
    from custext_sql.store.mappings import load_mapping

    inspection = inspect_word(load_mapping(db, mapping), word, eps)
    if as_json:
        print_json(inspection)
        return
    click.echo(f"{inspection.word} in {inspection.mapping}, eps = {inspection.eps:g}\n")
    largest = inspection.group[0].probability
    rows = [
        (
            outcome.output,
            f"{outcome.score:.4f}",
            f"{outcome.probability:.4f}",
            draw_bar(outcome.probability / largest, _WIDTH),
        )
        for outcome in inspection.group
    ]
    print_table(("output", "score", "probability", ""), rows, right=(1, 2))
