"""The command group `custext evaluate`."""

import click

from custext_sql.cli.evaluate_tradeoff import tradeoff_command
from custext_sql.cli.evaluate_utility import utility_command


@click.group("evaluate", short_help="Measure how useful sanitized text remains.")
def evaluate_command() -> None:
    """Measure how useful sanitized text remains, compared with other mechanisms.

    \b
    Example:
      custext evaluate utility --train train.csv --test test.csv --text sentence
    """


for _command in (utility_command, tradeoff_command):
    evaluate_command.add_command(_command)
