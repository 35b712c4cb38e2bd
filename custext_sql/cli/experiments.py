"""The command groups `custext attack`, with query, bayes, context and mask, and `custext evaluate`."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli import options
from custext_sql.cli.output import print_table, progress_bar, report_skipped
from custext_sql.files.inputs.file_formats import tell_format
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.experiments.evaluations import EvaluationSetup, TradeOff, UtilityResult
    from custext_sql.experiments.query_attack import QueryResult

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_ATTACKERS = (("mode", "n_mode"), ("likelihood", "n_ml"))
_FILE_OPTIONS = ("format", "encoding", "no_quotes", "no_header")


@click.group("attack")
@options.examples("custext attack query car she --eps 1,2,3,8")
def attack_command() -> None:
    """Measure what attackers learn from sanitized text."""


@attack_command.command("query", short_help="How many draws identify a word.")
@options.examples("custext attack query car she --eps 1,2,3,8")
@click.argument("words", metavar="[WORD]...", nargs=-1)
@options.epsilons("1,2,3,8")
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
@options.shown("--seed", default=0, type=options.SEED, help="Seed of the simulation.")
@options.calibration
@options.mapping
@options.prints_result
def query_command(db: str | None, words: tuple[str, ...], eps: list[float], **settings: Any) -> Iterator[Any]:
    """Simulate how many draws of one word an attacker needs to identify it with probability 0.95.

    The attacker asks for a replacement of the same word again and again. The first attacker guesses the output that
    occurs most often (mode, the paper's attack). The second one guesses the word of the group under which the outputs
    are most likely (maximum likelihood). Both are simulated on the verified tables; ± is the standard error. A key
    prevents both attacks as long as callers cannot choose texts or record IDs: see `custext keygen`.
    """
    from custext_sql.experiments import attack_query

    with progress_bar("attacking") as progress:
        attack = attack_query(db, words, eps=eps, progress=progress, **settings)
    yield attack.results
    wanted = "draws needed to identify a word with probability 0.95"
    click.echo(f"{attack.mapping}, calibration {attack.calibration}: {wanted}\n")
    if attack.words:
        _print_words(attack.words, eps)
    if attack.words and attack.sample:
        click.echo()
    if attack.sample:
        _print_quantiles(attack.sample, eps)


def _print_words(results: "Sequence[QueryResult]", epsilons: list[float]) -> None:
    found = {(result.word, result.eps): result for result in results}
    rows = []
    for word in dict.fromkeys(result.word for result in results):
        at = [found[word, epsilon] for epsilon in epsilons]
        for name, count in _ATTACKERS:
            draws = (_show_draws(getattr(one, count), getattr(one, f"{count}_error")) for one in at)
            rows.append([word, name, *draws])
    _print_by_eps(["word", "attacker"], rows, epsilons)


def _print_quantiles(results: "Sequence[QueryResult]", epsilons: list[float]) -> None:
    from custext_sql.experiments.query_attack import find_quantile

    rows = []
    for name, count in _ATTACKERS:
        counts = [[getattr(one, count) for one in results if one.eps == epsilon] for epsilon in epsilons]
        for share in _QUANTILES:
            rows.append([f"{share:.0%}", name, *(_show_draws(find_quantile(some, share), None) for some in counts)])
    words = count_of(len({result.word for result in results}), "random word")
    click.echo(f"{words} of the vocabulary: draws needed to identify the given share of them")
    _print_by_eps(["share", "attacker"], rows, epsilons)


def _show_draws(count: int | None, error: float | None) -> str:
    """Return a number of draws with its standard error, unless that is negligible."""
    if count is None:
        return "never"
    if error is None or error < 0.05:
        return f"{count:,}"
    return f"{count:,} ± {error:,.0f}" if error >= 0.95 else f"{count:,} ± {error:.1f}"


def _print_by_eps(names: list[str], rows: list[list[str]], epsilons: list[float], left: int | None = None) -> None:
    """Print a table whose last columns are for one eps each. left: the number of left-aligned columns; None for all."""
    columns = [*names, *(f"eps = {one:g}" for one in epsilons)]
    print_table(columns, rows, right=range(left or len(names), len(columns)), fixed=len(names))


@attack_command.command("bayes", short_help="How often the best single guess is right.")
@options.examples("custext attack bayes --public news.csv --public-column body --plus")
@options.epsilons("0.5,1,2,3,5,8")
@options.file("--prior", help="Word frequencies: one word and one number per line.")
@options.public("Public texts, whose word frequencies the attacker uses.", column="none, for lines of text")
@options.plus
@options.policy("paper")
@click.option(
    "--calibration",
    type=click.Choice(["paper", "tight", "both"]),
    default="both",
    show_default=True,
    help="How eps scales the scores; 'both' compares the two.",
)
@options.mapping
@options.prints_result
def bayes_command(db: str | None, eps: list[float], plus: bool, **settings: Any) -> Iterator[Any]:
    """Compute how often the best single guess is right, exactly, from the tables.

    The attacker sees one output, is told that it is a replacement, knows the tables and how frequent words are, and
    guesses the most likely input. No attacker who sees one word at a time does better. The floor is the success rate if
    only the group of the word is known; against this attacker, no eps goes below it. Results are for a uniform prior,
    and also for the one from --prior or --public if given. With --plus, the priors cover only words that are not
    stopwords, and with --keep-words only words that are not listed. The rest of the policy only changes how the words
    of --public are counted.
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
@options.examples(
    "custext attack context reviews.csv --column body --public news.txt",
    "custext attack context reviews.txt --public news.txt --eps 0,1,8 --plus",
)
@options.texts(required=True)
@options.public("Public texts from which the attacker learns.", required=True)
@click.option("--rows", type=click.IntRange(1), help="Texts to attack, from the top.  [default: all]")
@options.epsilons("0,1,2,3")
@options.settings("paper")
@options.seed
@options.prints_result
def context_command(db: str | None, plus: bool, **settings: Any) -> Iterator[Any]:
    """Measure how often replaced words are guessed from everything that a sanitized text shows.

    INPUT has the texts to sanitize and attack: a file, a folder or a quoted pattern of files; for a table, give --data
    and --table instead. The attacker sees the sanitized texts, knows the mapping, eps and the stopwords, and has public
    texts, from which a bigram model learns which words follow each other. Each guess is the word with the largest exact
    posterior probability, given the whole text. At eps = 0, the output shows the groups of replaced words and nothing
    else. A larger eps reveals as much or more, apart from sampling noise, unless kept words (--plus, --keep-words)
    share groups with replaced ones: a drawn word may then pass for a kept one, which a group's representative never
    does. Public texts that also occur in INPUT are left out.
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
        [f"{one.eps:g}", _show(one.success, one.standard_error), _show(one.single), _show(one.texts_guessed)]
        for one in attack.results
    ]
    print_table(["eps", "guessed with context", "without context", "texts guessed entirely"], rows, right=range(4))
    click.echo(f"\nAt eps = 0: {attack.results[0].success_at_0:.4f} of the replaced words")


@attack_command.command("mask", short_help="How often a language model guesses a masked word.")
@options.examples("custext attack mask reviews.csv --column body --model ngram --public news.txt")
@options.texts(required=True)
@options.named("--model", required=True, help="Masked language model: a folder, a Hugging Face name, or ngram.")
@options.public("Public texts from which ngram learns.")
@options.shown("--rows", default=200, type=click.IntRange(1), help="Texts to attack, from the top.")
@options.epsilons("0,1,2,3")
@options.settings("paper")
@options.seed
@options.shown("--batch-size", default=32, type=click.IntRange(1), help="Masked texts per model call.")
@options.prints_result
def mask_command(db: str | None, **settings: Any) -> Iterator[Any]:
    """Measure how often a language model guesses an original word from the sanitized words around it.

    INPUT has the texts to sanitize and attack: a file, a folder or a quoted pattern of files; for a table, give --data
    and --table instead. This is the paper's mask token inference attack: the texts are sanitized, each word in turn is
    masked, and the model guesses it. r_mask is the share of words guessed correctly; 1 - r_mask is the paper's privacy
    score, the share that this model misses. The last column counts only words that were replaced, not kept stopwords.
    Any masked language model from Hugging Face works (in a checkout: pip install '.[models]'). ngram needs no model
    files: it learns from public texts.
    """
    from custext_sql.experiments import attack_mask

    with progress_bar("attacking") as progress:
        attack = attack_mask(db, progress=progress, **settings)
    report_skipped(attack.skipped)
    yield attack.results
    click.echo(f"{attack.mapping}, {attack.mechanism}, policy {attack.policy}")
    click.echo(f"{count_of(attack.rows, 'text')}, masked words guessed by {attack.model}\n")
    rows = [
        [f"{one.eps:g}", _show(one.r_mask, one.standard_error), _show(one.privacy), _show(one.r_mask_replaced)]
        for one in attack.results
    ]
    print_table(["eps", "r_mask", "1 - r_mask", "r_mask of replaced words"], rows, right=range(4))


def _show(mean: float | None, spread: float | None = None, digits: int = 4) -> str:
    """Return a value with its spread, if there is one: "0.8123 ± 0.0040"."""
    if mean is None:
        return ""
    return f"{mean:.{digits}f}" if spread is None else f"{mean:.{digits}f} ± {spread:.{digits}f}"


_data_options = options.together(
    options.file("--train", help="Labeled training texts: CSV, TSV, JSON, Parquet."),
    options.file("--test", help="Labeled test texts."),
    options.file("--data", "data_file", help="Instead of files: a DuckDB file with two tables."),
    options.named("--train-table", help="Table of --data with the training texts."),
    options.named("--test-table", help="Table of --data with the test texts."),
    options.named("--corpus", help="Instead of files: sentence_polarity (NLTK's corpus), or its zip file."),
    click.option("--text", multiple=True, metavar="COLUMN", help="Column of the texts; give it twice for pairs."),
    options.shown("--label", default="label", metavar="COLUMN", help="Column of the labels."),
    options.files("--train and --test"),
    options.flag(
        "--no-header", help="CSV and TSV: all lines are rows, as in GLUE's CoLA; --text and --label are numbers from 1."
    ),
    click.option(
        "--limit",
        type=click.IntRange(1),
        metavar="N",
        help="Use N training rows and N test rows, spread evenly.  [default: all]",
    ),
    options.choice(
        *("--task", "classification", "similarity"),
        help="What the labels are: classes, or how similar two texts are.",
        show_default=True,
    ),
    options.named(
        *("--mapping", "mappings"),
        multiple=True,
        help="Mapping to use; repeat for several.  [default: the database's default]",
    ),
    options.shown("--model", default="tfidf", help="tfidf, embedding, or a Hugging Face model to fine-tune."),
    options.shown("--seeds", default=3, type=click.IntRange(1), help="Number of repetitions."),
    click.option("--length", type=click.IntRange(8), help="Fine-tuning: tokens per text.  [default: 128]"),
    click.option("--epochs", type=click.IntRange(1), help="Fine-tuning: epochs.  [default: 3]"),
    click.option("--batch-size", type=click.IntRange(1), help="Fine-tuning: texts per step.  [default: 64]"),
    click.option("--learning-rate", type=float, help="Fine-tuning: learning rate.  [default: 2e-5]"),
    options.flag(
        "--no-conversion",
        help="Do not divide eps by the largest distance between two words for santext, santext+ and fbdd.",
    ),
    options.policy("paper"),
    options.calibration,
)


def _mechanisms(default: str) -> options.Decorator:
    return options.shown(
        "--mechanisms",
        default=default,
        metavar="LIST",
        callback=lambda _, __, value: [name.strip().lower() for name in value.split(",") if name.strip()],
        help="Comma-separated: custext, custext+, santext, santext+, fbdd, random, original.",
    )


@click.group("evaluate", short_help="Measure how useful sanitized text remains.")
@options.examples("custext evaluate utility --train train.csv --test test.csv --text sentence")
def evaluate_command() -> None:
    """Measure how useful sanitized text remains, compared with other mechanisms."""


@evaluate_command.command("utility", short_help="Train and test on sanitized texts.")
@options.examples(
    "custext evaluate utility --train SST-2/train.tsv --test SST-2/dev.tsv --no-quotes --text sentence",
    "custext evaluate utility --train STS-B/train.tsv --test STS-B/dev.tsv --no-quotes --text sentence1 \\",
    "    --text sentence2 --label score --task similarity",
    "custext evaluate utility --train CoLA/train.tsv --test CoLA/dev.tsv --no-quotes --no-header --text 4 --label 2",
)
@_data_options
@_mechanisms("original,custext+,custext,santext+,santext,fbdd,random")
@options.epsilons("0,1,2,3")
@options.prints_result
def utility_command(db: str | None, /, eps: list[float], **given: Any) -> Iterator[Any]:
    """Sanitize training and test data with each mechanism, train and test a model, and print the paper's Table 1.

    Values are accuracies (Pearson correlations for similarity): the mean over seeds ± the standard deviation. The
    column "clear" has the share of words that a mechanism leaves in the clear. If the data is SST-2, MedSTS or QNLI, by
    the names of its files, the paper's value is shown below ours. Draws come from seeds, so a run can be repeated; no
    sanitized text is written anywhere.
    """
    from custext_sql.experiments import evaluate_utility

    with progress_bar("evaluating") as progress:
        evaluation = evaluate_utility(db, eps=eps, progress=progress, **_find_settings(given))
    report_skipped(evaluation.setup.skipped)
    yield evaluation.results
    click.echo(_describe(evaluation.setup) + "\n")
    _print_utility(evaluation.results, eps)
    click.echo("\nclear: share of the words of the test texts that stay in the clear")
    if any(one.paper is not None for one in evaluation.results):
        from custext_sql.experiments.evaluations import CITATION, list_differences

        differences = "; ".join(list_differences(evaluation.setup))
        click.echo(click.wrap_text(f"paper: {CITATION}. Here: {differences}", 80))


def _print_utility(results: "Sequence[UtilityResult]", epsilons: list[float]) -> None:
    from custext_sql.experiments.evaluations import summarize

    rows: dict[tuple[str, str | None, str | None], dict[float | None, list[UtilityResult]]] = {}
    for one in results:
        row = rows.setdefault((one.mechanism, one.embedding, one.mapping), {})
        row.setdefault(one.eps, []).append(one)
    several = _need_names(rows)
    table = []
    for (mechanism, embedding, mapping), found in rows.items():
        cells = [found[None] if None in found else found.get(epsilon, []) for epsilon in epsilons]
        names = [mapping or embedding or ""] * several
        share = next(one for cell in cells for one in cell).in_clear
        figures = [summarize([one.value for one in cell]) if cell else None for cell in cells]  # santext: no eps of 0
        shown = ["" if figure is None else _show(figure.mean, figure.spread, 3) for figure in figures]
        table.append([mechanism, *names, f"{share:.0%}" if share == 1.0 else f"{share:.1%}", *shown])
        papers = [next((f"{one.paper:.4f}" for one in cell if one.paper is not None), "") for cell in cells]
        if any(papers):
            table.append(["  paper", *([""] * (1 + len(names))), *papers])
    _print_by_eps(["mechanism", *["mapping or embedding"] * several, "clear"], table, epsilons, left=1 + several)


@evaluate_command.command("tradeoff", short_help="Privacy against utility, over eps and mappings.")
@options.examples("custext evaluate tradeoff --corpus sentence_polarity --eps 1,3,5,8,12 --html tradeoff.html")
@_data_options
@_mechanisms("custext,custext+")
@options.epsilons("0,1,2,3,5,8")
@options.choice(
    *("--attack", "bayes", "context", "mask"),
    default="mask",
    show_default=True,
    help="Mask token inference; or, only for custext and custext+, the best single guess from the tables, or the best "
    "guess from the whole text (context).",
)
@options.shown("--attack-model", default="ngram", help="Guesser for the mask attack: ngram or a model.")
@options.public(
    "Texts from which context and ngram learn.  [default: the training texts]", column="none, for lines of text"
)
@options.file("--html", help="Also draw the curves on a self-contained page.")
@options.force("page")
@options.prints_result
def tradeoff_command(db: str | None, /, html: str | None, force: bool, **given: Any) -> Iterator[Any]:
    """Measure how useful sanitized texts are and how often an attack succeeds, over eps and mappings.

    These are the paper's Figures 3 and 4. The attack targets the sanitized test texts. Utility is measured as in
    `evaluate utility`.
    """
    from custext_sql.experiments import evaluate_tradeoff
    from custext_sql.experiments.evaluations import write_tradeoff
    from custext_sql.store.outputs import check_place

    if html is not None:
        check_place(Path(html), force=force)
    with progress_bar("evaluating") as progress:
        evaluation = evaluate_tradeoff(db, progress=progress, **_find_settings(given))
    report_skipped(evaluation.setup.skipped)
    if html is not None:
        write_tradeoff(evaluation, html, force=force)
        click.echo(f"{html}: {count_of(len(evaluation.points), 'point')}", err=True)
    yield evaluation.points
    click.echo(_describe(evaluation.setup) + f"\nattack: {evaluation.attack}\n")
    _print_tradeoff(evaluation.points)


def _print_tradeoff(points: "Sequence[TradeOff]") -> None:
    several = _need_names((point.mechanism, point.embedding, point.mapping) for point in points)
    rows = []
    for point in points:
        names = [point.mechanism, *[point.mapping or point.embedding or ""] * several]
        sizes = ["" if point.k is None else str(point.k), "any" if point.eps is None else f"{point.eps:g}"]
        figures = [_show(figure.mean, figure.spread, 3) for figure in (point.utility, point.success)]
        rows.append([*names, *sizes, *figures, _show(1.0 - point.success.mean, digits=3)])
    names = ["mechanism", *["mapping or embedding"] * several]
    columns = [*names, "K", "eps", points[0].metric, "attack", "1 - attack"]
    print_table(columns, rows, fixed=len(columns) - 3, right=range(len(names), len(columns)))


def _find_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the values of all options as keyword arguments of the public functions: the data in `train` and `test`."""
    from custext_sql.files.inputs.texts import DataFiles, DataTable

    settings = given | {"convert_eps": not given["no_conversion"]}
    del settings["no_conversion"]
    path, *tables = (settings.pop(name) for name in ("data_file", "train_table", "test_table"))
    files = {name: settings.pop(name) for name in ("train", "test")}
    written = options.write_given({name: settings[name] for name in _FILE_OPTIONS})
    format, encoding, no_quotes, no_header = map(settings.pop, _FILE_OPTIONS)
    if path is None and tables == [None, None]:
        if written and files == {"train": None, "test": None}:
            raise click.UsageError(f"{written[0]} is for files; give them with --train FILE and --test FILE.")
        named = {name: file for name, file in files.items() if file is not None}
        return settings | {
            name: DataFiles(file, format, encoding, not no_quotes, not no_header) for name, file in named.items()
        }
    if path is not None and tell_format(path) is not None:
        raise click.UsageError("--data is for DuckDB files; give files of texts with --train FILE and --test FILE.")
    if path is None or None in tables:
        raise click.UsageError("--data, --train-table and --test-table go together: a DuckDB file and two tables.")
    if any(value is not None for value in (*files.values(), settings["corpus"])):
        raise click.UsageError("Expected --train and --test, or --corpus, or --data with two tables; found several.")
    return settings | {name: DataTable(path, table) for name, table in zip(files, tables, strict=True)}


def _describe(setup: "EvaluationSetup") -> str:
    """Return the setup of an evaluation in two lines, or more if they would be too long."""
    rows = f"{count_of(setup.train_rows, 'training row')}, {count_of(setup.test_rows, 'test row')}"
    used = f"{', '.join(setup.mappings)}; calibration {setup.calibration}, policy {setup.policy}"
    return "\n".join(click.wrap_text(line, 80) for line in (f"{setup.metric}, {setup.model}; {rows}", used))


def _need_names(places: Iterable[tuple[str | None, str | None, str | None]]) -> bool:
    """Return whether rows must show their mapping or embedding, because there are several.

    places: the mechanism, the embedding and the mapping of each row.
    """
    found = set(places)
    return len({embedding for _, embedding, _ in found} - {None}) > 1 or len({name for *_, name in found} - {None}) > 1
