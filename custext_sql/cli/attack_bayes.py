"""custext attack bayes"""

from typing import TYPE_CHECKING

import click

from custext_sql.cli.options import epsilons_option, json_option, mapping_option, plus_option, prior_options
from custext_sql.cli.output import WIDE, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from custext_sql.experiments.attacks.measuring import BayesResult


@click.command("bayes", short_help="How often the best single guess is right.")
@epsilons_option("0.5,1,2,3,5,8")
@prior_options
@plus_option
@click.option(
    "--calibration",
    type=click.Choice(["paper", "tight", "both"]),
    default="both",
    show_default=True,
    help="How eps sets the temperature.",
)
@mapping_option
@json_option
@click.pass_obj
def bayes_command(
    db: str | None,
    eps: list[float],
    prior: str | None,
    public: str | None,
    column: str | None,
    plus: bool,
    calibration: str,
    mapping: str | None,
    as_json: bool,
) -> None:
    """How probably the best single guess is right, exactly, from the tables.

    The attacker sees one output, knows the tables and how frequent words are, and guesses the likeliest input. Nothing
    that sees a word by itself does better. The floor is what the group alone tells, at any eps. The prior is uniform,
    and also that of --prior or --public if given; with --plus it is that of words which are no stopwords.

    \b
    Example:
      custext attack bayes --eps 1,2,3
      custext attack bayes --public news.csv --column body --plus
    """
    from custext_sql.experiments.attacks.measuring import attack_tables
    from custext_sql.experiments.attacks.priors import uniform_prior
    from custext_sql.experiments.evaluation.frequencies import find_prior
    from custext_sql.experiments.mechanisms import Arena

    arena = Arena(db, mapping=mapping)
    priors = [uniform_prior(len(arena.mapping.words))]
    given = find_prior(arena, prior, public, column)
    priors += [given] if given is not None else []
    if plus:
        priors = [one.without(arena.is_stopword) for one in priors]
    calibrations = ("paper", "tight") if calibration == "both" else (calibration,)
    results: list[list[BayesResult]] = []
    with progress_bar("attacking") as progress:
        for known in priors:
            results.append([])
            for one in calibrations:
                results[-1] += attack_tables(
                    db, arena.mapping, [known], eps, calibration=one, plus=plus, progress=progress
                )
    if as_json:
        print_json([result for found in results for result in found])
        return
    info = arena.mapping.info
    click.echo(f"{info.name}, K = {info.k}: probability that the best single guess is right\n")
    for known, found in zip(priors, results, strict=True):
        counted = "" if known is priors[0] else f", {known.words:,} words, of which {known.drawn:.1%} are drawn"
        click.echo(f"prior: {known.name}{counted}{', stopwords being kept' if plus else ''}")
        _print_success(found, eps)
        click.echo()


def _print_success(results: "list[BayesResult]", epsilons: list[float]) -> None:
    floor = results[0].floor
    rows = [["the group alone (floor)", *(f"{floor:.4f}" for _ in epsilons)]]
    for calibration in dict.fromkeys(result.calibration for result in results):
        found = {result.eps: result for result in results if result.calibration == calibration}
        rows.append([f"calibration {calibration}", *(f"{found[one].success:.4f}" for one in epsilons)])
    print_table(["", *(f"eps = {one:g}" for one in epsilons)], rows, right=range(1, 1 + len(epsilons)), width=WIDE)
