"""The command `custext attack context`."""

from typing import TYPE_CHECKING

import click

from custext_sql.cli.input_options import input_options, public_options
from custext_sql.cli.options import (
    SEED,
    epsilons_option,
    json_option,
    keyless_calibration_option,
    mapping_option,
    plus_option,
)
from custext_sql.cli.output import print_json, print_table, progress_bar, show_share
from custext_sql.cli.policy_options import policy_options
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.release.inputs.texts import Texts
    from custext_sql.replacing.policy import Policy


@click.command("context", short_help="How often a word is guessed from the whole text around it.")
@input_options(required=True)
@public_options("Public texts from which the attacker learns.", required=True)
@click.option("--rows", type=click.IntRange(1), help="Texts to attack, from the top.  [default: all]")
@epsilons_option("0,1,2,3")
@plus_option
@policy_options("paper")
@keyless_calibration_option
@mapping_option
@click.option("--seed", default=0, show_default=True, type=SEED, help="Seed of the draws.")
@json_option
@click.pass_obj
def context_command(
    db: str | None,
    data: "Texts",
    public: "Texts",
    column: str | None,
    public_column: str | None,
    rows: int | None,
    eps: list[float],
    plus: bool,
    policy: "str | Policy",
    calibration: str,
    mapping: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Measure how often replaced words are guessed from everything that a sanitized text shows.

    INPUT has the texts to sanitize and attack: a file, a folder or a quoted pattern of files; for a table, give --data
    and --table instead. The attacker sees the sanitized texts, knows the mapping, eps and the stopwords, and has public
    texts, from which a bigram model learns which words follow each other. Each guess is the word with the largest exact
    posterior probability, given the whole text. At eps = 0, the output shows the groups of replaced words and nothing
    else. A larger eps reveals as much or more, apart from sampling noise, unless kept words (--plus, --keep-words)
    share groups with replaced ones: a drawn word may then pass for a kept one, which a group's representative never
    does. Public texts that also occur in INPUT are left out.

    \b
    Examples:
      custext attack context reviews.csv --column body --public news.txt
      custext attack context reviews.txt --public news.txt --eps 0,1,8 --plus
    """
    from custext_sql import attack_context

    with progress_bar("attacking") as progress:
        attack = attack_context(
            db,
            public=public,
            data=data,
            column=column,
            public_column=public_column,
            rows=rows,
            eps=eps,
            plus=plus,
            policy=policy,
            calibration=calibration,
            mapping=mapping,
            seed=seed,
            progress=progress,
        )
    if as_json:
        print_json(attack)
        return
    kept = ", stopwords kept" if plus else ""
    click.echo(f"{attack.mapping}, K = {attack.k}, calibration {attack.calibration}, policy {attack.policy}{kept}")
    click.echo(f"attacked: {attack.data}, {count_of(attack.texts, 'text')}, {count_of(attack.words, 'replaced word')}")
    left_out = f"; left out because they are in both: {attack.left_out:,}" if attack.left_out else ""
    left_out += f"; skipped because they are empty: {attack.skipped:,}" if attack.skipped else ""
    click.echo(f"learned from: {attack.public}, {count_of(attack.public_texts, 'text')}{left_out}\n")
    table = [
        [
            f"{result.eps:g}",
            show_share(result.success, result.standard_error),
            f"{result.single:.4f}",
            f"{result.texts_guessed:.4f}",
        ]
        for result in attack.results
    ]
    columns = ["eps", "guessed with context", "without context", "texts guessed entirely"]
    print_table(columns, table, right=range(4))
    click.echo(f"\nAt eps = 0: {attack.results[0].success_at_0:.4f} of the replaced words")
