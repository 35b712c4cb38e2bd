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
    help="Largest acceptable share of correct guesses, between 0 and 1.",
)
@click.option(
    "--attack",
    type=click.Choice(["bayes", "context"]),
    default="bayes",
    show_default=True,
    help="The best single guess from the tables, or a guess from the whole text (needs --data and --public).",
)
@click.option(
    "--prior", metavar="FILE", help="Word frequencies to use instead of those in --data: a word and a number per line."
)
@click.option("--public", metavar="FILE", help="Public texts from which the context attack learns.")
@click.option("--public-column", metavar="NAME", help="Column of --public.  [default: same as --column]")
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
    attack: str,
    prior: str | None,
    public: str | None,
    public_column: str | None,
    plus: bool,
    calibration: str,
    mappings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Suggest a mapping and an eps at which an attack succeeds at most as often as you allow.

    By default, the attack is that of `attack bayes`: computed exactly from the tables, for an attacker who knows how
    frequent words are in your texts (or in --prior). With --attack context, it is that of `attack context`: measured on
    your texts, for an attacker who has public texts. The group of a word is public and reveals something at any eps. If
    that alone exceeds the bound, you need larger groups, and the exit code is 1.

    For each mapping, eps is 0 (every replaced word becomes the most frequent one of its group) or the largest eps
    within the bound, whichever gives replacements closer to the original words. Among several mappings, the suggestion
    is the one with the closest replacements, unless it replaces fewer words. The output, which is also saved in the
    table measurements, is computed from your texts and is not protected.

    \b
    Examples:
      custext choose --data reviews.csv --column body --max-attack 0.4
      custext choose --data reviews.csv --column body --attack context --public news.txt --max-attack 0.4
    """
    from custext_sql import choose

    with progress_bar("choosing") as progress:
        choice = choose(
            db,
            max_attack=max_attack,
            attack=attack,
            data=data,
            column=column,
            prior=prior,
            public=public,
            public_column=public_column,
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
    guess = "the best single guess" if choice.public is None else "the best guess from the whole text"
    click.echo(f"prior: {choice.prior} ({count_of(choice.prior_words, 'word')}){kept}")
    if choice.public is not None:
        left_out = f" (left out because they are in both: {choice.left_out:,} texts)" if choice.left_out else ""
        click.echo(f"public texts: {choice.public}{left_out}")
    click.echo(f"bound: {guess} is right with probability at most {choice.bound:g}; calibration {choice.calibration}\n")
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
    click.echo(f"attack: probability that {guess} is right; floor: the same if only groups are known")
    click.echo("distance: mean distance of a word from its replacement; 1 is the typical distance of two random words")
    click.echo("replaced: share of words that are replaced; the bound applies to these words only")
    shown = choice.chosen or min(choice.candidates, key=lambda candidate: candidate.floor)
    click.echo(f"\nAttack on {shown.mapping} by eps:")
    _print_curve(shown, choice.bound)
    click.echo()
    if choice.chosen is None:
        from custext_sql import list_mappings
        from custext_sql.store.rows.mappings import write_options

        [info] = [info for info in list_mappings(db)[0] if info.name == shown.mapping]
        larger = f"map {write_options(info, 2 * shown.k)}"
        least = min(result.success for result in shown.curve)
        alone = "the group alone identifies" if choice.public is None else "groups and context alone identify"
        click.echo(
            f"No eps meets the bound: at K = {shown.k}, {alone} a word with probability {least:.4f}, above "
            f"{choice.bound:g}. Build larger groups: {again(db, larger)}"
        )
        return
    named = "INPUT" if data is None else shlex.quote(data)
    option = f" --column {shlex.quote(column)}" if column else ""
    tight = " --calibration tight" if choice.calibration == "tight" else ""
    plus = " --plus" if choice.plus else ""
    command = f"sanitize {named} OUTPUT{option} --eps {shown.eps:g} --mapping {shown.mapping}{plus}{tight}"
    assert shown.eps is not None
    click.echo(f"eps = {shown.eps:g} at K = {shown.k}: {again(db, command)}")
    click.echo(f"The bound holds for this attack only. Whatever the attack, {_describe_guarantee(shown.eps)}")


def _describe_guarantee(epsilon: float) -> str:
    if epsilon == 0.0:
        return "eps = 0 guarantees that the output depends on the groups of replaced words only, not on the words."
    return (
        "eps guarantees for each replaced word that no output is more than "
        f"e^{epsilon:g} = {math.exp(epsilon):,.4g} times as likely for one word of a group as for another."
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
