"""Commands about mappings: map, inspect and audit."""

from collections.abc import Iterator
from typing import Any

import click

from custext_sql.cli.options import (
    Decorator,
    calibration_option,
    eps_option,
    keep_words_option,
    language_option,
    mapping_option,
    plus_option,
    prints_result,
)
from custext_sql.cli.output import again, draw_bar, print_table, progress_bar
from custext_sql.parameters import count_of

_WIDTH = 24  # of the longest bar, in characters


def _choice_option(name: str, choices: list[str], about: str) -> Decorator:
    """Return an option whose default is its first choice."""
    return click.option(name, default=choices[0], show_default=True, type=click.Choice(choices), help=about)


@click.command("map", short_help="Split an embedding into groups of similar words.")
@click.option("--embedding", required=True, help="Name of the embedding to split into groups.")
@click.option("--k", default=20, show_default=True, type=click.IntRange(min=2), help="Words per group.")
@_choice_option(
    "--grouping",
    ["greedy", "refined"],
    "Algorithm 1 of the paper, or its groups, improved by swapping words between groups.",
)
@_choice_option("--measure", ["euclidean", "cosine"], "How to measure the similarity of words.")
@_choice_option(
    "--normalization",
    ["group", "word"],
    "Scale scores per group (as in the paper) or per input word (as in the published code).",
)
@click.option(
    "--name",
    help="Name of the mapping.  [default: EMBEDDING-MEASURE-kK, and what else is unusual, such as -refined-apart]",
)
@click.option(
    "--limit",
    type=click.IntRange(min=2),
    metavar="N",
    help="Use only the first N entries of the embedding.  [default: all]",
)
@_choice_option("--order", ["file", "random"], "The order of the pivot words: as in the vector file, or random.")
@click.option("--seed", type=int, metavar="N", help="Seed for --order random; recorded with the mapping.")
@click.option("--separate-stopwords", is_flag=True, help="Never put stopwords and other words in the same group.")
@click.option("--language", help="Language of the stopwords.  [default: english]")
@click.option("--replace", is_flag=True, help="Replace an existing mapping of that name.")
@prints_result
def map_command(db: str | None, embedding: str, language: str | None, **recipe: Any) -> Iterator[Any]:
    """Split the words of an embedding into groups of K, and score every pair of words within a group.

    The first mapping of a database is its default; 'custext use' changes it.

    \b
    Examples:
      custext --db my.duckdb map --embedding glove --k 20 --measure cosine
      custext --db my.duckdb map --embedding glove --k 40 --grouping refined --separate-stopwords
    """
    from custext_sql.store.contents import build_mapping
    from custext_sql.store.stopwords import SHIPPED_LANGUAGE

    if language is not None and not recipe["separate_stopwords"]:
        raise click.UsageError("--language requires --separate-stopwords")
    with progress_bar(f"Grouping {embedding}") as progress:
        report = build_mapping(
            db,
            embedding=embedding,
            language=language or SHIPPED_LANGUAGE,
            progress=None if progress is None else lambda done, total: progress(done / total),
            **recipe,
        )
    yield report
    info = report.info
    click.echo(
        f"{info.name}: {info.words:,} words in {count_of(info.group_count, 'group')} of "
        f"{_show_sizes(report.smallest_group, report.largest_group)}, in {report.seconds:.1f} s"
        + (" (already built)" if report.already_there else "")
    )
    if info.left_out:
        click.echo(f"  {count_of(info.left_out, 'entry', 'entries')} skipped (not single words)")
    if report.merged is not None:
        click.echo(f"  {report.merged!r} is the only word of its class and is grouped with the other class")
    click.echo(f"  fingerprint {info.fingerprint}")
    click.echo(f"Next: {again(f'inspect WORD --mapping {info.name} --eps 1')}")


@click.command("inspect", short_help="Show the possible replacements of a word.")
@click.argument("word")
@mapping_option
@eps_option
@calibration_option
@prints_result
def inspect_command(db: str | None, word: str, mapping: str | None, eps: float, calibration: str) -> Iterator[Any]:
    """Show the possible replacements of a word: its group, with scores and probabilities.

    \b
    Example:
      custext inspect she --eps 1
    """
    from custext_sql import load_mapping
    from custext_sql.mechanism.sampler import Sampler, find_distribution

    found = find_distribution(Sampler(load_mapping(db, mapping), calibration), word, eps)
    yield found
    click.echo(f"{found.word} in {found.mapping}, eps = {found.eps:g}\n")
    largest = found.group[0].probability
    rows = [
        (one.output, f"{one.score:.4f}", f"{one.probability:.4f}", draw_bar(one.probability / largest, _WIDTH))
        for one in found.group
    ]
    print_table(("output", "score", "probability", ""), rows, right=(1, 2))


@click.command("audit", short_help="Verify the privacy guarantee of a mapping.")
@eps_option
@plus_option
@keep_words_option
@calibration_option
@mapping_option
@language_option
@prints_result
def audit_command(db: str | None, keep_words: str | None, **settings: Any) -> Iterator[Any]:
    """Verify a mapping: its fingerprint, its partition into groups, and the guarantee of eps in every group.

    The guarantee is checked in exact integer arithmetic, on the same integers that words are drawn from. With --plus
    or --keep-words, it covers the words that are replaced. The audit also shows how many words a replaced word hides
    among. If a check fails, the audit names the group and exits with status 1.

    \b
    Examples:
      custext audit --eps 1 --plus
      custext audit --eps 1 --calibration tight
    """
    from custext_sql import audit
    from custext_sql.text.word_boundaries import read_word_file

    listed = () if keep_words is None else read_word_file(keep_words)
    found = audit(db, keep_words=listed, **settings)
    yield found
    kept = ", stopwords kept" if found.plus else ""
    kept += f", {count_of(len(listed), 'listed word')} kept" if listed else ""
    sizes = _show_sizes(found.smallest_group, found.largest_group)
    among = "among the replaced words of every group" if kept else "in every group"
    hiding = f"each replaced word hides among at least {count_of(found.hides_among, 'word')}"
    click.echo(f"{found.mapping}, eps = {found.eps:g}, calibration {found.calibration}{kept}\n")
    click.echo(f"fingerprint       matches: {found.fingerprint}")
    click.echo(f"partition         holds: {found.words:,} words in {count_of(found.groups, 'group')} of {sizes}")
    click.echo(f"guarantee         holds {among}; no log-ratio exceeds eps = {found.eps:g}")
    click.echo(f"hiding            {hiding if found.hides_among else 'no word is replaced'}")
    click.echo(f"worst log-ratio   {found.worst_log_ratio:.6g}")
    click.echo(f"median log-ratio  {found.median_log_ratio:.6g}")


def _show_sizes(smallest: int, largest: int) -> str:
    """Return a range of sizes: "9 to 20", or "20" if they are equal."""
    return f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"
