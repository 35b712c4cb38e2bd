"""The command `custext attack bayes`."""

from typing import TYPE_CHECKING

import click

from custext_sql.cli.input_options import public_options
from custext_sql.cli.options import epsilons_option, json_option, mapping_option, plus_option
from custext_sql.cli.output import print_json, print_table, progress_bar
from custext_sql.cli.policy_options import policy_options
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.experiments.attacks.bayes_attack import BayesResult
    from custext_sql.release.inputs.texts import Texts
    from custext_sql.replacing.policy import Policy


@click.command("bayes", short_help="How often the best single guess is right.")
@epsilons_option("0.5,1,2,3,5,8")
@click.option("--prior", metavar="FILE", help="Word frequencies: one word and one number per line.")
@public_options("Public texts, whose word frequencies the attacker uses.", column="none, for lines of text")
@plus_option
@policy_options("paper")
@click.option(
    "--calibration",
    type=click.Choice(["paper", "tight", "both"]),
    default="both",
    show_default=True,
    help="How eps scales the scores; 'both' compares the two.",
)
@mapping_option
@json_option
@click.pass_obj
def bayes_command(
    db: str | None,
    eps: list[float],
    prior: str | None,
    public: "Texts | None",
    public_column: str | None,
    plus: bool,
    policy: "str | Policy",
    calibration: str,
    mapping: str | None,
    as_json: bool,
) -> None:
    """Compute how often the best single guess is right, exactly, from the tables.

    The attacker sees one output, is told that it is a replacement, knows the tables and how frequent words are, and
    guesses the most likely input. No attacker who sees one word at a time does better. The floor is the success rate if
    only the group of the word is known; against this attacker, no eps goes below it. Results are for a uniform prior,
    and also for the one from --prior or --public if given. With --plus, the priors cover only words that are not
    stopwords, and with --keep-words only words that are not listed. The rest of the policy only changes how the words
    of --public are counted.

    \b
    Examples:
      custext attack bayes --eps 1,2,3
      custext attack bayes --public news.csv --public-column body --plus
    """
    from custext_sql import attack_bayes

    with progress_bar("attacking") as progress:
        attack = attack_bayes(
            db,
            eps=eps,
            prior=prior,
            public=public,
            public_column=public_column,
            plus=plus,
            policy=policy,
            calibration=calibration,
            mapping=mapping,
            progress=progress,
        )
    if as_json:
        print_json(attack.results)
        return
    settled = "" if attack.policy == "paper" else f", policy {attack.policy}"
    click.echo(f"{attack.mapping}, K = {attack.k}{settled}: probability that the best single guess is right\n")
    for known in attack.priors:
        counted = "" if known is attack.priors[0] else f" ({count_of(known.words, 'word')}, {known.drawn:.1%} replaced)"
        click.echo(f"prior: {known.name}{counted}{', stopwords kept' if plus else ''}")
        _print_success([result for result in attack.results if result.prior == known.name], eps)
        click.echo()


def _print_success(results: "list[BayesResult]", epsilons: list[float]) -> None:
    floor = results[0].floor
    rows = [["group alone (floor)", *(f"{floor:.4f}" for _ in epsilons)]]
    for calibration in dict.fromkeys(result.calibration for result in results):
        found = {result.eps: result for result in results if result.calibration == calibration}
        rows.append([f"calibration {calibration}", *(f"{found[one].success:.4f}" for one in epsilons)])
    print_table(["", *(f"eps = {one:g}" for one in epsilons)], rows, right=range(1, 1 + len(epsilons)))
