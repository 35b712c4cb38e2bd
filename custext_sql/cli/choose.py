"""custext choose"""

import math
import shlex
import sys
from typing import TYPE_CHECKING

import click

from custext_sql.cli.options import json_option, keyless_calibration_option, plus_option
from custext_sql.cli.output import again, draw_bar, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from custext_sql.experiments.choice import Candidate, Choice


@click.command("choose", short_help="Suggest eps and K for a bound on an attack.")
@click.option("--data", metavar="FILE", help="Your texts, whose word frequencies the attacker knows.")
@click.option("--column", metavar="NAME", help="Its column; not for lines of text.")
@click.option("--max-attack", required=True, type=float, help="How probably the best guess may be right, 0 to 1.")
@click.option("--prior", metavar="FILE", help="Word frequencies to go by instead: a word and a number on each line.")
@plus_option
@keyless_calibration_option
@click.option("--mapping", "mappings", multiple=True, metavar="NAME", help="Look only at these.  [default: all]")
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
    """Suggest the eps, and the mapping among those present, at which the best single guess stays below a bound.

    The attack is that of `attack bayes`: exact, from the tables, by somebody who knows how frequent words are in your
    texts (or in --prior). The group of a word is public and tells something at any eps: if that alone is above the
    bound, larger groups are needed, and the command ends with 1. Of several mappings that will do, the one is chosen
    whose replacements are closest to the words, unless it draws fewer words. What is printed, and kept in the table
    measurements, comes from your texts and is not protected.

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
    words = ", of which stopwords are kept" if choice.plus else ""
    click.echo(f"prior: {choice.prior}, counted from {choice.prior_words:,} words{words}")
    click.echo(
        f"bound: the best single guess is right with {choice.bound:g} at most; calibration {choice.calibration}\n"
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
    print_table(["  mapping", "K", "floor", "eps", "attack", "distance", "drawn"], rows, right=range(1, 7))
    click.echo("distance: of a word from its replacement, as a share of that of any two words")
    click.echo(
        "drawn: the share of words that are drawn; the bound is on these, the others are kept, changed or masked"
    )
    shown = choice.chosen or min(choice.candidates, key=lambda candidate: candidate.floor)
    click.echo(f"\nThe curve of {shown.mapping}:")
    _print_curve(shown, choice.bound)
    click.echo()
    if choice.chosen is None:
        larger = f"map --embedding {shown.embedding} --k {2 * shown.k}"
        click.echo(
            f"No eps will do: the group alone tells a word with probability {shown.floor:.4f} at K = {shown.k}, "
            f"which is above {choice.bound:g}. Build larger groups: {again(db, larger)}"
            if shown.floor > choice.bound
            else f"No eps from 0.001 will do: the floor at K = {shown.k} is {shown.floor:.4f}, just below "
            f"{choice.bound:g}. Build larger groups: {again(db, larger)}"
        )
        return
    named = "INPUT" if data is None else shlex.quote(data)
    option = f" --column {shlex.quote(column)}" if column else ""
    tight = " --calibration tight" if choice.calibration == "tight" else ""
    plus = " --plus" if choice.plus else ""
    told = f"sanitize {named} OUTPUT{option} --eps {shown.eps:g} --mapping {shown.mapping}{plus}{tight}"
    assert shown.eps is not None
    click.echo(f"eps = {shown.eps:g} at K = {shown.k}: {again(db, told)}")
    click.echo(
        f"The bound is on this attack. What eps promises against any is that no output is more than e^{shown.eps:g} = "
        f"{math.exp(shown.eps):,.4g} times likelier for one word of a group than for another."
    )


def _print_curve(candidate: "Candidate", bound: float) -> None:
    rows = [
        [
            f"{result.eps:g}",
            f"{result.success:.4f}",
            draw_bar(result.success, 40) + ("" if result.success <= bound else "  above"),
        ]
        for result in candidate.curve
    ]
    print_table(["eps", "attack", ""], rows, right=(0, 1))
