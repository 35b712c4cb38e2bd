"""custext attack"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from custext_sql.cli.options import (
    SEED,
    calibration_option,
    epsilons_option,
    json_option,
    mapping_option,
    plus_option,
    policy_option,
    prior_options,
)
from custext_sql.cli.output import print_json, print_table, progress_bar, show_draws

if TYPE_CHECKING:
    from custext_sql.attacks.measuring import BayesResult, QueryResult

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_SAMPLE = 100  # words of the vocabulary, where none is named


@click.group("attack")
def attack_command() -> None:
    """Find out what attackers learn from sanitized text.

    \b
    Example:
      custext attack query car she --eps 1,2,3,8
      custext attack bayes --eps 1,2,3
    """


@attack_command.command("query", short_help="How many draws of a word tell it.")
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

    from custext_sql.attacks.measuring import SAMPLE_TRIALS, attack_words
    from custext_sql.attacks.query import TRIALS
    from custext_sql.errors import SettingError
    from custext_sql.mapping_store import load_mapping

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
    print_table(["word", "attacker", *(f"eps = {one:g}" for one in epsilons)], rows, right=range(2, 2 + len(epsilons)))


def _print_quantiles(results: "list[QueryResult]", epsilons: list[float], count: int) -> None:
    from custext_sql.attacks.measuring import find_quantile

    rows = []
    for label, value in (("mode", "n_mode"), ("likelihood", "n_ml")):
        for share in _QUANTILES:
            cells = [
                show_draws(find_quantile([getattr(one, value) for one in results if one.eps == epsilon], share), None)
                for epsilon in epsilons
            ]
            rows.append([f"{share:.0%}", label, *cells])
    click.echo(f"{count:,} words of the vocabulary, chosen at random: that share of them needs no more draws")
    print_table(["share", "attacker", *(f"eps = {one:g}" for one in epsilons)], rows, right=range(2, 2 + len(epsilons)))


@attack_command.command("bayes", short_help="How often the best single guess is right.")
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
    from custext_sql.attacks.measuring import attack_tables
    from custext_sql.attacks.priors import uniform_prior
    from custext_sql.baselines.contenders import Arena
    from custext_sql.evaluation.frequencies import find_prior

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
    print_table(["", *(f"eps = {one:g}" for one in epsilons)], rows, right=range(1, 1 + len(epsilons)))


@attack_command.command("mask", short_help="How often a language model guesses words from the rest.")
@click.option(
    "--model",
    required=True,
    metavar="NAME",
    help="A masked language model: a folder, a name at Hugging Face, or ngram.",
)
@click.option("--data", required=True, metavar="FILE", help="Texts to sanitize and to attack.")
@click.option("--column", metavar="NAME", help="Its column; not for lines of text.")
@click.option("--public", metavar="FILE", help="Texts that the ngram attacker learns from.")
@click.option("--public-column", metavar="NAME", help="Its column.  [default: that of --column]")
@click.option("--rows", default=200, show_default=True, type=click.IntRange(1), help="Texts attacked, from the top.")
@epsilons_option("1,2,3")
@plus_option
@policy_option
@calibration_option
@mapping_option
@click.option("--seed", default=0, show_default=True, type=SEED, help="Of the draws.")
@click.option("--batch-size", default=32, show_default=True, type=click.IntRange(1), help="Texts a step of the model.")
@json_option
@click.pass_obj
def mask_command(
    db: str | None,
    model: str,
    data: str,
    column: str | None,
    public: str | None,
    public_column: str | None,
    rows: int,
    eps: list[float],
    plus: bool,
    policy: str | None,
    calibration: str | None,
    mapping: str | None,
    seed: int,
    batch_size: int,
    as_json: bool,
) -> None:
    """How often a language model guesses a word of the original from the sanitized words around it.

    This is the paper's mask token inference attack: texts are sanitized, each word in turn is masked, and the model
    guesses. r_mask is the share of words guessed right, 1 - r_mask the privacy that remains; the last column leaves out
    words that were not drawn, such as kept stopwords. Any masked language model
    of Hugging Face will do (pip install 'custext-sql[evaluation]'); ngram needs none, and learns from public texts.

    \b
    Example:
      custext attack mask --model bert-base-uncased --data reviews.csv --column body
      custext attack mask --model ngram --public news.txt --data reviews.csv --column body
    """
    from custext_sql.attacks.mask_measuring import measure_masks, open_attack
    from custext_sql.baselines.contenders import CUSTEXT, CUSTEXT_PLUS, Arena
    from custext_sql.evaluation.datasets import read_texts
    from custext_sql.evaluation.utility import Cell

    arena = Arena(db, mapping=mapping, policy=policy or "paper", calibration=calibration or "paper")
    texts = [text for text in read_texts(data, column, rows) if text]
    learned = None if public is None else read_texts(public, public_column or _if_columns(public, column))
    attack = open_attack(model, public=learned, batch_size=batch_size)
    cells = [Cell(arena, CUSTEXT_PLUS if plus else CUSTEXT, epsilon, seed) for epsilon in eps]
    with progress_bar("attacking") as progress:
        measured = measure_masks(db, cells, texts, attack, dataset=Path(data).name, progress=progress)
    results = [
        {
            "eps": found.subject.eps,
            "r_mask": found.value,
            "standard_error": found.standard_error,
            "privacy": 1.0 - (found.value or 0.0),
            "r_mask_sampled": sampled.value,
            "mechanism": found.subject.mechanism,
            "mapping": found.subject.mapping,
            "model": attack.name,
            "rows": len(texts),
            "measurement_ids": [found.measurement_id, sampled.measurement_id],
        }
        for found, sampled in measured
    ]
    if as_json:
        print_json(results)
        return
    click.echo(f"{arena.mapping.info.name}, {cells[0].mechanism}, {len(texts):,} texts, guessed by {attack.name}\n")
    table = [
        [
            f"{result['eps']:g}",
            f"{result['r_mask']:.4f} ± {result['standard_error']:.4f}",
            f"{result['privacy']:.4f}",
            "" if result["r_mask_sampled"] is None else f"{result['r_mask_sampled']:.4f}",
        ]
        for result in results
    ]
    print_table(["eps", "r_mask", "1 - r_mask", "r_mask of drawn words"], table, right=range(4))


def _if_columns(path: str, column: str | None) -> str | None:
    from custext_sql.files import tell_format

    return None if tell_format(path) == "text" else column
