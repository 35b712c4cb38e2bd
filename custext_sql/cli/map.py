"""custext map"""

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import again, print_json, progress_bar


@click.command("map", short_help="Split words into groups and score them.")
@click.option("--embedding", required=True, help="The embedding to group.")
@click.option("--k", default=20, show_default=True, type=click.IntRange(min=2), help="Words in a group.")
@click.option(
    "--measure",
    default="euclidean",
    show_default=True,
    type=click.Choice(["euclidean", "cosine"]),
    help="What makes words similar.",
)
@click.option(
    "--normalization",
    default="group",
    show_default=True,
    type=click.Choice(["group", "word"]),
    help="Scale scores over the group (the paper) or over each input word (the published code).",
)
@click.option("--name", help="Name of the mapping.  [default: EMBEDDING-MEASURE-kK]")
@click.option(
    "--order",
    default="file",
    show_default=True,
    type=click.Choice(["file", "random"]),
    help="Order of pivots: that of the vector file, or random.",
)
@click.option("--seed", type=int, metavar="N", help="Seed of a random order; recorded with the mapping.")
@click.option("--separate-stopwords", is_flag=True, help="Group stopwords and other words each on their own.")
@click.option("--language", help="Language of these stopwords.  [default: english]")
@click.option("--replace", is_flag=True, help="Replace a mapping of that name.")
@json_option
@click.pass_obj
def map_command(
    db: str | None,
    embedding: str,
    k: int,
    measure: str,
    normalization: str,
    name: str | None,
    order: str,
    seed: int | None,
    separate_stopwords: bool,
    language: str | None,
    replace: bool,
    as_json: bool,
) -> None:
    """Split an embedding's words into groups of K and score every pair within a group.

    The first mapping of a database is its default until 'custext use'.

    \b
    Example:
      custext --db my.duckdb map --embedding glove --k 20 --measure cosine
    """
    from custext_sql.store.mappings import build_mapping
    from custext_sql.store.rows.stopwords import SHIPPED_LANGUAGE

    if language is not None and not separate_stopwords:
        raise click.UsageError("--language goes with --separate-stopwords")
    with progress_bar(f"Grouping {embedding}") as progress:
        report = build_mapping(
            db,
            embedding=embedding,
            k=k,
            measure=measure,
            normalization=normalization,
            name=name,
            order=order,
            seed=seed,
            separate_stopwords=separate_stopwords,
            language=language or SHIPPED_LANGUAGE,
            replace=replace,
            progress=None if progress is None else lambda done, total: progress(done / total),
        )
    if as_json:
        print_json(report)
        return
    info = report.info
    click.echo(
        f"{info.name}: {info.words:,} words in {info.group_count:,} groups of {report.smallest_group} to "
        f"{report.largest_group}, in {report.seconds:.1f} s" + (" (already there)" if report.already_there else "")
    )
    if info.left_out:
        click.echo(f"  {info.left_out:,} tokens left out, each not being one word")
    if report.merged is not None:
        click.echo(f"  {report.merged!r} was alone in its class and is grouped with the other")
    click.echo(f"  fingerprint {info.fingerprint}")
    click.echo(f"Next: {again(db, f'inspect WORD --mapping {info.name} --eps 1')}")
