"""The command group `custext attack`."""

import click

from custext_sql.cli.attack_bayes import bayes_command
from custext_sql.cli.attack_context import context_command
from custext_sql.cli.attack_mask import mask_command
from custext_sql.cli.attack_query import query_command


@click.group("attack")
def attack_command() -> None:
    """Measure what attackers learn from sanitized text.

    \b
    Examples:
      custext attack query car she --eps 1,2,3,8
      custext attack bayes --eps 1,2,3
      custext attack context reviews.csv --column body --public news.txt
    """


for _command in (query_command, bayes_command, context_command, mask_command):
    attack_command.add_command(_command)
