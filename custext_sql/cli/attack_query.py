"""The command `custext attack query`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from custext_sql.cli.options import SEED, epsilons_option, json_option, keyless_calibration_option, mapping_option
from custext_sql.cli.output import print_json, print_table, progress_bar, show_draws
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.experiments.attacks.query_attack import QueryResult

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@click.command("query", short_help="How many draws identify a word.")
@click.argument("words", metavar="[WORD]...", nargs=-1)
@epsilons_option("1,2,3,8")
@click.option(
    "--sample",
    type=click.IntRange(0),
    help="Also attack this many random words and show quantiles.  [default: 100 if no WORD is given]",
)
@click.option(
    "--trials",
    type=click.IntRange(100, 1_000_000),
    help="Simulated attacks per number.  [default: 20000; for --sample, 1000]",
)
@click.option("--seed", default=0, show_default=True, type=SEED, help="Seed of the simulation.")
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
    """Simulate how many draws of one word an attacker needs to identify it with probability 0.95.

    The attacker asks for a replacement of the same word again and again. The first attacker guesses the output that
    occurs most often (mode, the paper's attack). The second one guesses the word of the group under which the outputs
    are most likely (maximum likelihood). Both are simulated on the verified tables; ± is the standard error. A key
    prevents both attacks as long as callers cannot choose texts or record IDs: see `custext keygen`.

    \b
    Examples:
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
    click.echo(
        f"{attack.mapping}, calibration {attack.calibration}: draws needed to identify a word with probability 0.95\n"
    )
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
        fixed=2,
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
    click.echo(f"{count_of(count, 'random word')} of the vocabulary: draws needed to identify the given share of them")
    print_table(
        ["share", "attacker", *(f"eps = {one:g}" for one in epsilons)],
        rows,
        right=range(2, 2 + len(epsilons)),
        fixed=2,
    )
