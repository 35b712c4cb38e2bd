"""The command group `custext attack`: query, bayes, context and mask."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli.options import (
    SEED,
    calibration_option,
    epsilons_option,
    input_options,
    mapping_option,
    plus_option,
    policy_options,
    prints_result,
    public_options,
    seed_option,
    settings_options,
)
from custext_sql.cli.output import print_table, progress_bar, report_skipped
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.experiments.query_attack import QueryResult

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_ATTACKERS = (("mode", "n_mode"), ("likelihood", "n_ml"))


@click.group("attack")
def attack_command() -> None:
    """Measure what attackers learn from sanitized text.

    \b
    Examples:
      custext attack query car she --eps 1,2,3,8
      custext attack bayes --eps 1,2,3
      custext attack context reviews.csv --column body --public news.txt
    """


@attack_command.command("query", short_help="How many draws identify a word.")
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
@calibration_option
@mapping_option
@prints_result
def query_command(db: str | None, words: tuple[str, ...], eps: list[float], **settings: Any) -> Iterator[Any]:
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
    from custext_sql.experiments import attack_query

    with progress_bar("attacking") as progress:
        attack = attack_query(db, words, eps=eps, progress=progress, **settings)
    yield attack.results
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
    rows = [
        [
            word,
            name,
            *(_show_draws(getattr(found[one], value), getattr(found[one], f"{value}_error")) for one in epsilons),
        ]
        for word, found in by_word.items()
        for name, value in _ATTACKERS
    ]
    _print_by_eps(["word", "attacker"], rows, epsilons)


def _print_quantiles(results: "Sequence[QueryResult]", epsilons: list[float]) -> None:
    from custext_sql.experiments.query_attack import find_quantile

    count = len({result.word for result in results})
    rows = []
    for name, value in _ATTACKERS:
        counts = [[getattr(one, value) for one in results if one.eps == epsilon] for epsilon in epsilons]
        for share in _QUANTILES:
            rows.append([f"{share:.0%}", name, *(_show_draws(find_quantile(some, share), None) for some in counts)])
    click.echo(f"{count_of(count, 'random word')} of the vocabulary: draws needed to identify the given share of them")
    _print_by_eps(["share", "attacker"], rows, epsilons)


def _show_draws(count: int | None, error: float | None) -> str:
    """Return a number of draws with its standard error, unless that is negligible."""
    if count is None:
        return "never"
    if error is None or error < 0.05:
        return f"{count:,}"
    return f"{count:,} ± {error:,.0f}" if error >= 0.95 else f"{count:,} ± {error:.1f}"


def _print_by_eps(names: list[str], rows: list[list[str]], epsilons: list[float]) -> None:
    """Print a table whose last columns are for one eps each."""
    columns = [*names, *(f"eps = {one:g}" for one in epsilons)]
    print_table(columns, rows, right=range(len(names), len(columns)), fixed=len(names))


@attack_command.command("bayes", short_help="How often the best single guess is right.")
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
@prints_result
def bayes_command(db: str | None, eps: list[float], plus: bool, **settings: Any) -> Iterator[Any]:
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
    from custext_sql.experiments import attack_bayes

    with progress_bar("attacking") as progress:
        attack = attack_bayes(db, eps=eps, plus=plus, progress=progress, **settings)
    yield attack.results
    settled = "" if attack.policy == "paper" else f", policy {attack.policy}"
    click.echo(f"{attack.mapping}, K = {attack.k}{settled}: probability that the best single guess is right\n")
    for known in attack.priors:
        counted = "" if known is attack.priors[0] else f" ({count_of(known.words, 'word')}, {known.drawn:.1%} replaced)"
        click.echo(f"prior: {known.name}{counted}{', stopwords kept' if plus else ''}")
        results = [result for result in attack.results if result.prior == known.name]
        rows = [["group alone (floor)", *(f"{results[0].floor:.4f}" for _ in eps)]]
        for calibration in dict.fromkeys(result.calibration for result in results):
            found = {result.eps: result.success for result in results if result.calibration == calibration}
            rows.append([f"calibration {calibration}", *(f"{found[one]:.4f}" for one in eps)])
        _print_by_eps([""], rows, eps)
        click.echo()


@attack_command.command("context", short_help="How often a word is guessed from the whole text around it.")
@input_options(required=True)
@public_options("Public texts from which the attacker learns.", required=True)
@click.option("--rows", type=click.IntRange(1), help="Texts to attack, from the top.  [default: all]")
@epsilons_option("0,1,2,3")
@settings_options("paper")
@seed_option
@prints_result
def context_command(db: str | None, plus: bool, **settings: Any) -> Iterator[Any]:
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
    from custext_sql.experiments import attack_context

    with progress_bar("attacking") as progress:
        attack = attack_context(db, plus=plus, progress=progress, **settings)
    yield attack
    kept = ", stopwords kept" if plus else ""
    click.echo(f"{attack.mapping}, K = {attack.k}, calibration {attack.calibration}, policy {attack.policy}{kept}")
    click.echo(f"attacked: {attack.data}, {count_of(attack.texts, 'text')}, {count_of(attack.words, 'replaced word')}")
    left_out = f"; left out because they are in both: {attack.left_out:,}" if attack.left_out else ""
    left_out += f"; skipped because they are empty: {attack.skipped:,}" if attack.skipped else ""
    click.echo(f"learned from: {attack.public}, {count_of(attack.public_texts, 'text')}{left_out}\n")
    rows = [
        [f"{one.eps:g}", _show_share(one.success, one.standard_error), f"{one.single:.4f}", f"{one.texts_guessed:.4f}"]
        for one in attack.results
    ]
    print_table(["eps", "guessed with context", "without context", "texts guessed entirely"], rows, right=range(4))
    click.echo(f"\nAt eps = 0: {attack.results[0].success_at_0:.4f} of the replaced words")


@attack_command.command("mask", short_help="How often a language model guesses a masked word.")
@input_options(required=True)
@click.option(
    "--model",
    required=True,
    metavar="NAME",
    help="Masked language model: a folder, a Hugging Face name, or ngram.",
)
@public_options("Public texts from which ngram learns.")
@click.option("--rows", default=200, show_default=True, type=click.IntRange(1), help="Texts to attack, from the top.")
@epsilons_option("0,1,2,3")
@settings_options("paper")
@seed_option
@click.option(
    "--batch-size", default=32, show_default=True, type=click.IntRange(1), help="Masked texts per model call."
)
@prints_result
def mask_command(db: str | None, **settings: Any) -> Iterator[Any]:
    """Measure how often a language model guesses an original word from the sanitized words around it.

    INPUT has the texts to sanitize and attack: a file, a folder or a quoted pattern of files; for a table, give --data
    and --table instead. This is the paper's mask token inference attack: the texts are sanitized, each word in turn is
    masked, and the model guesses it. r_mask is the share of words guessed correctly; 1 - r_mask is the paper's privacy
    score, the share that this model misses. The last column counts only words that were replaced, not kept stopwords.
    Any masked language model from Hugging Face works (in a checkout: pip install '.[models]'). ngram needs no model
    files: it learns from public texts.

    \b
    Examples:
      custext attack mask reviews.csv --column body --model bert-base-uncased
      custext attack mask reviews.csv --column body --model ngram --public news.txt
    """
    from custext_sql.experiments import attack_mask

    with progress_bar("attacking") as progress:
        attack = attack_mask(db, progress=progress, **settings)
    report_skipped(attack.skipped)
    yield attack.results
    click.echo(f"{attack.mapping}, {attack.mechanism}, policy {attack.policy}")
    click.echo(f"{count_of(attack.rows, 'text')}, masked words guessed by {attack.model}\n")
    rows = [
        [
            f"{one.eps:g}",
            _show_share(one.r_mask, one.standard_error),
            f"{one.privacy:.4f}",
            "" if one.r_mask_replaced is None else f"{one.r_mask_replaced:.4f}",
        ]
        for one in attack.results
    ]
    print_table(["eps", "r_mask", "1 - r_mask", "r_mask of replaced words"], rows, right=range(4))


def _show_share(mean: float, spread: float | None) -> str:
    """Return a value between 0 and 1, with its spread if there is one: "0.8123 ± 0.0040"."""
    return f"{mean:.4f}" if spread is None else f"{mean:.4f} ± {spread:.4f}"
