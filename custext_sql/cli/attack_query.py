"""custext attack query"""

from functools import partial
from typing import TYPE_CHECKING

import click

from custext_sql.cli.options import SEED, calibration_option, epsilons_option, json_option, mapping_option
from custext_sql.cli.output import WIDE, print_json, print_table, progress_bar, show_draws

if TYPE_CHECKING:
    from custext_sql.experiments.attacks.measuring import QueryResult

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_SAMPLE = 100  # words of the vocabulary, where none is named


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
@calibration_option
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
    calibration: str | None,
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
    import numpy as np

    from custext_sql.errors import SettingError
    from custext_sql.experiments.attacks.measuring import SAMPLE_TRIALS, attack_words
    from custext_sql.experiments.attacks.query import TRIALS
    from custext_sql.store.mappings import load_mapping

    loaded = load_mapping(db, mapping)
    chosen = _SAMPLE if sample is None and not words else sample or 0
    if not words and not chosen:
        raise SettingError("name a word, or how many to choose: --sample 100")
    drawn = np.random.default_rng(seed).choice(len(loaded.words), min(chosen, len(loaded.words)), replace=False)
    attack = partial(attack_words, db, loaded, calibration=calibration or "paper", seed=seed)
    with progress_bar("attacking") as progress:
        named = attack(words, eps, trials=trials or TRIALS, progress=progress)
        others = [loaded.words[number] for number in drawn]
        sampled = attack(others, eps, trials=trials or SAMPLE_TRIALS, progress=progress)
    if as_json:
        print_json([*named, *sampled])
        return
    click.echo(
        f"{loaded.info.name}, calibration {calibration or 'paper'}: draws that tell a word with probability 0.95\n"
    )
    if named:
        _print_words(named, eps)
    if named and sampled:
        click.echo()
    if sampled:
        _print_quantiles(sampled, eps, len(others))


def _print_words(results: "list[QueryResult]", epsilons: list[float]) -> None:
    by_word: dict[str, dict[float, QueryResult]] = {}
    for result in results:
        by_word.setdefault(result.word, {})[result.eps] = result
    rows = []
    for word, found in by_word.items():
        for label, value in (("mode", "n_mode"), ("likelihood", "n_ml")):
            cells = [show_draws(getattr(found[one], value), getattr(found[one], f"{value}_error")) for one in epsilons]
            rows.append([word, label, *cells])
    print_table(
        ["word", "attacker", *(f"eps = {one:g}" for one in epsilons)],
        rows,
        right=range(2, 2 + len(epsilons)),
        width=WIDE,
    )


def _print_quantiles(results: "list[QueryResult]", epsilons: list[float], count: int) -> None:
    from custext_sql.experiments.attacks.measuring import find_quantile

    rows = []
    for label, value in (("mode", "n_mode"), ("likelihood", "n_ml")):
        for share in _QUANTILES:
            cells = [
                show_draws(find_quantile([getattr(one, value) for one in results if one.eps == epsilon], share), None)
                for epsilon in epsilons
            ]
            rows.append([f"{share:.0%}", label, *cells])
    click.echo(f"{count:,} words of the vocabulary, chosen at random: that share of them needs no more draws")
    print_table(
        ["share", "attacker", *(f"eps = {one:g}" for one in epsilons)],
        rows,
        right=range(2, 2 + len(epsilons)),
        width=WIDE,
    )
