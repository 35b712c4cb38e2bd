"""The command `custext map`."""

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import again, print_json, progress_bar, show_sizes
from custext_sql.parameters import count_of


@click.command("map", short_help="Split an embedding into groups of similar words.")
@click.option("--embedding", required=True, help="Name of the embedding to split into groups.")
@click.option("--k", default=20, show_default=True, type=click.IntRange(min=2), help="Words per group.")
@click.option(
    "--grouping",
    default="greedy",
    show_default=True,
    type=click.Choice(["greedy", "refined"]),
    help="Algorithm 1 of the paper, or its groups, improved by swapping words between groups.",
)
@click.option(
    "--measure",
    default="euclidean",
    show_default=True,
    type=click.Choice(["euclidean", "cosine"]),
    help="How to measure the similarity of words.",
)
@click.option(
    "--normalization",
    default="group",
    show_default=True,
    type=click.Choice(["group", "word"]),
    help="Scale scores per group (as in the paper) or per input word (as in the published code).",
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
@click.option(
    "--order",
    default="file",
    show_default=True,
    type=click.Choice(["file", "random"]),
    help="The order of the pivot words: as in the vector file, or random.",
)
@click.option("--seed", type=int, metavar="N", help="Seed for --order random; recorded with the mapping.")
@click.option("--separate-stopwords", is_flag=True, help="Never put stopwords and other words in the same group.")
@click.option("--language", help="Language of the stopwords.  [default: english]")
@click.option("--replace", is_flag=True, help="Replace an existing mapping of that name.")
@json_option
@click.pass_obj
def map_command(
    db: str | None,
    embedding: str,
    k: int,
    grouping: str,
    measure: str,
    normalization: str,
    name: str | None,
    limit: int | None,
    order: str,
    seed: int | None,
    separate_stopwords: bool,
    language: str | None,
    replace: bool,
    as_json: bool,
) -> None:
    """Split the words of an embedding into groups of K, and score every pair of words within a group.

    The first mapping of a database is its default; 'custext use' changes it.

    \b
    Examples:
      custext --db my.duckdb map --embedding glove --k 20 --measure cosine
      custext --db my.duckdb map --embedding glove --k 40 --grouping refined --separate-stopwords
    """
    from custext_sql.store.mappings import build_mapping
    from custext_sql.store.rows.stopwords import SHIPPED_LANGUAGE

    if language is not None and not separate_stopwords:
        raise click.UsageError("--language requires --separate-stopwords")
    with progress_bar(f"Grouping {embedding}") as progress:
        report = build_mapping(
            db,
            embedding=embedding,
            k=k,
            grouping=grouping,
            measure=measure,
            normalization=normalization,
            name=name,
            order=order,
            seed=seed,
            separate_stopwords=separate_stopwords,
            language=language or SHIPPED_LANGUAGE,
            limit=limit,
            replace=replace,
            progress=None if progress is None else lambda done, total: progress(done / total),
        )
    if as_json:
        print_json(report)
        return
    info = report.info
    click.echo(
        f"{info.name}: {info.words:,} words in {count_of(info.group_count, 'group')} of "
        f"{show_sizes(report.smallest_group, report.largest_group)}, in {report.seconds:.1f} s"
        + (" (already built)" if report.already_there else "")
    )
    if info.left_out:
        click.echo(f"  {count_of(info.left_out, 'entry', 'entries')} skipped (not single words)")
    if report.merged is not None:
        click.echo(f"  {report.merged!r} is the only word of its class and is grouped with the other class")
    click.echo(f"  fingerprint {info.fingerprint}")
    click.echo(f"Next: {again(db, f'inspect WORD --mapping {info.name} --eps 1')}")
