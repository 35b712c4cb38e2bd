"""custext load"""

from pathlib import Path

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import again, print_json, progress_bar

_FORMATS = ("glove", "word2vec", "word2vec-binary", "fasttext", "npz", "parquet")


@click.command("load", short_help="Load word vectors.")
@click.argument("source")
@click.option("--name", help="Name of the embedding in the database. Required, except for 'starter'.")
@click.option("--format", type=click.Choice(_FORMATS), help="Format of the file.  [default: recognized]")
@click.option("--member", metavar="FILE", help="Which file of a zip archive, if it holds several.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Keep the first N words only.")
@click.option("--vocab", metavar="FILE", help="Keep only the words of this file: the first field of each line.")
@click.option("--replace", is_flag=True, help="Replace an embedding of that name. Mappings built from it stay.")
@json_option
@click.pass_obj
def load_command(
    db: str | None,
    source: str,
    name: str | None,
    format: str | None,
    member: str | None,
    limit: int | None,
    vocab: str | None,
    replace: bool,
    as_json: bool,
) -> None:
    """Load word vectors into the database.

    SOURCE is a GloVe, word2vec (text or binary) or fastText file, plain, .gz or in a .zip; a NumPy .npz with words and
    a matrix; a Parquet file; spacy:PIPELINE for the vectors of an installed spaCy pipeline; or 'starter' for the
    vectors that ship with custext, together with their mappings of K = 20.

    \b
    Example:
      custext --db my.duckdb load glove.6B.zip --member glove.6B.300d.txt --name glove --limit 100000
    """
    from custext_sql.store.database import locate
    from custext_sql.store.default_database import load_starter
    from custext_sql.store.embeddings import load_embeddings
    from custext_sql.vectors.starter import STARTER

    if name is None and source != STARTER:
        raise click.UsageError("Missing option '--name': how shall the embedding be called?")
    if source == STARTER and (format or member):
        raise click.UsageError("--format and --member are for files; the starter vectors are none.")
    path = locate(db)  # builds the default database, if it is that and not there, before any bar is drawn
    with progress_bar(f"Loading {Path(source).name}") as progress:
        if source == STARTER and limit is None and vocab is None:
            report = load_starter(path, name=name or STARTER, replace=replace, progress=progress)
        else:
            report = load_embeddings(
                path,
                source,
                name=name or STARTER,
                format=format,
                member=member,
                limit=limit,
                vocabulary=vocab,
                replace=replace,
                progress=progress,
            )
    if as_json:
        print_json(report)
        return
    if report is None:
        click.echo(f"{name or STARTER}: already there, with its mappings")
        return
    embedding = report.embedding
    click.echo(
        f"{embedding.name}: {embedding.size:,} words of {embedding.dimension} dimensions from {embedding.source} "
        f"({embedding.format}), in {report.seconds:.1f} s"
    )
    if report.folded:
        click.echo(f"  {report.folded:,} rows folded to a word that was there already; the first row of each stays")
    if report.outside_vocabulary:
        click.echo(f"  {report.outside_vocabulary:,} rows outside the vocabulary left out")
    if report.not_found:
        click.echo(f"  {report.not_found:,} words of the vocabulary not found")
    step = f"map --embedding {embedding.name} --k {min(20, embedding.size)}"
    if source == STARTER and limit is None and vocab is None:
        step = f"inspect she --mapping {embedding.name} --eps 1"
    click.echo(f"Next: {again(db, step)}")
