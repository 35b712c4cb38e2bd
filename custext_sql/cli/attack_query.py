"""custext attack query"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from custext_sql.cli.options import SEED, epsilons_option, json_option, keyless_calibration_option, mapping_option
from custext_sql.cli.output import WIDE, print_json, print_table, progress_bar, show_draws

if TYPE_CHECKING:
    from custext_sql.experiments.attacks.query_attack import QueryResult

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@click.command("query", short_help="How many draws of a word tell it.")
@click.argument("words", metavar="[WORD]...", nargs=-1)
@epsilons_option("1,2,3,8")
@click.option(
    "--sample",
    type=click.IntRange(0),
    help="Also this many words of the vocabulary, chosen at random, as quantiles.  [default: 100 without WORD]",
)
@click.option(
    "--trials",
    type=click.IntRange(100, 1_000_000),
    help="Simulated attacks for each number.  [default: 20000; of a sample, 1000]",
)
@click.option("--seed", default=0, show_default=True, type=SEED, help="Of the simulation.")
@keyless_calibration_option
@mapping_option
@json_option
@click.pass_obj
def query_command(
    db: str | None,
    words: tuple[str, ...],
    eps: list[float],
    sample: int | None,
    trials: int | None,
    seed: int,
    calibration: str,
    mapping: str | None,
    as_json: bool,
) -> None:
    """How many draws of one word tell which word it is, 19 times of 20.

    The attacker asks for the same word again and again. One takes the output that occurs most often (strict mode, the
    paper's attack), the other the word of the group that makes all outputs likeliest (maximum likelihood). Both are
    simulated on the verified tables; ± is the standard error. A key stops them: see keygen.

    \b
    Example:
      custext attack query car she --eps 1,2,3,8
      custext attack query --sample 200 --eps 1
    """
    from custext_sql import attack_query

    with progress_bar("attacking") as progress:
        attack = attack_query(
            db,
            words,
            eps=eps,
            sample=sample,
            trials=trials,
            seed=seed,
            calibration=calibration,
            mapping=mapping,
            progress=progress,
        )
    if as_json:
        print_json(attack.results)
        return
    click.echo(f"{attack.mapping}, calibration {attack.calibration}: draws that tell a word with probability 0.95\n")
    if attack.words:
        _print_words(attack.words, eps)
    if attack.words and attack.sample:
        click.echo()
    if attack.sample:
        _print_quantiles(attack.sample, eps)


def _print_words(results: "Sequence[QueryResult]", epsilons: list[float]) -> None:
    by_word: dict[str, dict[float, QueryResult]] = {}
    for result in results:
        by_word.setdefault(result.word, {})[result.eps] = result
    rows = []
    for word, found in by_word.items():
        for label, value in (("mode", "n_mode"), ("likelihood", "n_ml")):
            shown = [show_draws(getattr(found[one], value), getattr(found[one], f"{value}_error")) for one in epsilons]
            rows.append([word, label, *shown])
    print_table(
        ["word", "attacker", *(f"eps = {one:g}" for one in epsilons)],
        rows,
        right=range(2, 2 + len(epsilons)),
        width=WIDE,
    )


def _print_quantiles(results: "Sequence[QueryResult]", epsilons: list[float]) -> None:
    from custext_sql.experiments.attacks.query_attack import find_quantile

    count = len({result.word for result in results})
    rows = []
    for label, value in (("mode", "n_mode"), ("likelihood", "n_ml")):
        for share in _QUANTILES:
            shown = [
                show_draws(find_quantile([getattr(one, value) for one in results if one.eps == epsilon], share), None)
                for epsilon in epsilons
            ]
            rows.append([f"{share:.0%}", label, *shown])
    click.echo(f"{count:,} words of the vocabulary, chosen at random: that share of them needs no more draws")
    print_table(
        ["share", "attacker", *(f"eps = {one:g}" for one in epsilons)],
        rows,
        right=range(2, 2 + len(epsilons)),
        width=WIDE,
    )
