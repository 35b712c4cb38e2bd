"""The command `custext choose`."""

import math
import shlex
import sys
from typing import TYPE_CHECKING

import click

from custext_sql.cli.options import json_option, keyless_calibration_option, plus_option
from custext_sql.cli.output import again, draw_bar, print_json, print_table, progress_bar
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.experiments.choice import Candidate, Choice


@click.command("choose", short_help="Suggest an eps and a mapping for a bound on an attack.")
@click.option("--data", metavar="FILE", help="Your texts; the attacker is assumed to know their word frequencies.")
@click.option("--column", metavar="NAME", help="Column of --data; leave it out for lines of text.")
@click.option(
    "--max-attack",
    required=True,
    type=float,
    help="Largest acceptable probability that the best guess is right, between 0 and 1.",
)
@click.option(
    "--prior", metavar="FILE", help="Word frequencies to use instead of those in --data: a word and a number per line."
)
@plus_option
@keyless_calibration_option
@click.option(
    "--mapping",
    "mappings",
    multiple=True,
    metavar="NAME",
    help="Mapping to consider; repeat for several.  [default: all]",
)
@json_option
@click.pass_obj
def choose_command(
    db: str | None,
    data: str | None,
    column: str | None,
    max_attack: float,
    prior: str | None,
    plus: bool,
    calibration: str,
    mappings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Suggest a mapping and the largest eps at which the best single guess is right at most as often as you allow.

    The attack is that of `attack bayes`: computed exactly from the tables, for an attacker who knows how frequent words
    are in your texts (or in --prior). The group of a word is public and reveals something at any eps. If that alone
    exceeds the bound, you need larger groups, and the exit code is 1. If several mappings meet the bound, the
    suggestion is the one with the replacements closest to the original words, unless it replaces fewer words. The
    output, which is also saved in the table measurements, is computed from your texts and is not protected.

    \b
    Example:
      custext choose --data reviews.csv --column body --max-attack 0.4
    """
    from custext_sql import choose

    with progress_bar("choosing") as progress:
        choice = choose(
            db,
            max_attack=max_attack,
            data=data,
            column=column,
            prior=prior,
            plus=plus,
            calibration=calibration,
            mappings=mappings,
            progress=progress,
        )
    if as_json:
        print_json(choice)
    else:
        _print_choice(db, choice, data, column)
    if choice.chosen is None:
        sys.exit(1)


def _print_choice(db: str | None, choice: "Choice", data: str | None, column: str | None) -> None:
    kept = ", stopwords kept" if choice.plus else ""
    click.echo(f"prior: {choice.prior} ({count_of(choice.prior_words, 'word')}){kept}")
    click.echo(
        f"bound: the best single guess is right with probability at most {choice.bound:g}; "
        f"calibration {choice.calibration}\n"
    )
    rows = [
        [
            ("* " if candidate is choice.chosen else "  ") + candidate.mapping,
            str(candidate.k),
            f"{candidate.floor:.4f}",
            "none" if candidate.eps is None else f"{candidate.eps:g}",
            "" if candidate.success is None else f"{candidate.success:.4f}",
            "" if candidate.distance is None else f"{candidate.distance:.3f}",
            f"{candidate.drawn:.1%}",
        ]
        for candidate in choice.candidates
    ]
    print_table(["  mapping", "K", "floor", "eps", "attack", "distance", "replaced"], rows, right=range(1, 7))
    click.echo("attack: probability that the best single guess is right; floor: the same if only the group is known")
    click.echo("distance: mean distance of a word from its replacement; 1 is the typical distance of two random words")
    click.echo("replaced: share of words that are replaced; the bound applies to these words only")
    shown = choice.chosen or min(choice.candidates, key=lambda candidate: candidate.floor)
    click.echo(f"\nAttack on {shown.mapping} by eps:")
    _print_curve(shown, choice.bound)
    click.echo()
    if choice.chosen is None:
        larger = f"map --embedding {shown.embedding} --k {2 * shown.k}"
        click.echo(
            f"No eps meets the bound: at K = {shown.k}, the group alone identifies a word with probability "
            f"{shown.floor:.4f}, above {choice.bound:g}. Build larger groups: {again(db, larger)}"
            if shown.floor > choice.bound
            else f"No eps of 0.001 or more meets the bound: at K = {shown.k}, the floor is {shown.floor:.4f}, just "
            f"below {choice.bound:g}. Build larger groups: {again(db, larger)}"
        )
        return
    named = "INPUT" if data is None else shlex.quote(data)
    option = f" --column {shlex.quote(column)}" if column else ""
    tight = " --calibration tight" if choice.calibration == "tight" else ""
    plus = " --plus" if choice.plus else ""
    command = f"sanitize {named} OUTPUT{option} --eps {shown.eps:g} --mapping {shown.mapping}{plus}{tight}"
    assert shown.eps is not None
    click.echo(f"eps = {shown.eps:g} at K = {shown.k}: {again(db, command)}")
    click.echo(
        "The bound holds for this attack only. Whatever the attack, eps guarantees for each replaced word that no "
        f"output is more than e^{shown.eps:g} = {math.exp(shown.eps):,.4g} times as likely for one word of a group as "
        "for another."
    )


def _print_curve(candidate: "Candidate", bound: float) -> None:
    rows = [
        [
            f"{result.eps:g}",
            f"{result.success:.4f}",
            draw_bar(result.success, 40) + ("" if result.success <= bound else "  above the bound"),
        ]
        for result in candidate.curve
    ]
    print_table(["eps", "attack", ""], rows, right=(0, 1))
