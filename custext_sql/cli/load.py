"""The command `custext load`."""

from pathlib import Path

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import again, print_json, progress_bar
from custext_sql.parameters import count_of

_FORMATS = ("glove", "word2vec", "word2vec-binary", "fasttext", "npz", "parquet")


@click.command("load", short_help="Load word vectors into the database.")
@click.argument("source")
@click.option("--name", help="Name of the embedding.  [default: that of the file, without .txt, .gz and the like]")
@click.option("--format", type=click.Choice(_FORMATS), help="Format of the file.  [default: detected]")
@click.option("--member", metavar="FILE", help="The file to read in a zip archive that contains several.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Keep only the first N words.")
@click.option("--vocab", metavar="FILE", help="Keep only the words in this file (the first field of each line).")
@click.option("--replace", is_flag=True, help="Replace an existing embedding; mappings built from it stay.")
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

    SOURCE is a GloVe, word2vec (text or binary) or fastText file, which may be compressed (.gz or .zip); a NumPy .npz
    file with words and a matrix; a Parquet file; spacy:PIPELINE for the vectors of an installed spaCy pipeline; or
    'starter' for the vectors that ship with custext, and their mappings.

    \b
    Examples:
      custext --db my.duckdb load glove.840B.300d.txt.gz
      custext --db my.duckdb load glove.6B.zip --member glove.6B.300d.txt --name glove --limit 100000
    """
    from custext_sql.store.database import locate
    from custext_sql.store.default_database import load_starter
    from custext_sql.store.embeddings import load_embeddings
    from custext_sql.vectors.starter import STARTER

    if source == STARTER and (format or member):
        raise click.UsageError("--format and --member apply to files only, not to the starter vectors")
    path = locate(db)  # may build the default database; that must come before a progress bar
    with progress_bar(f"Loading {Path(source).name}") as progress:
        if source == STARTER and limit is None and vocab is None:
            report = load_starter(path, name=name or STARTER, replace=replace, progress=progress)
        else:
            report = load_embeddings(
                path,
                source,
                name=name,
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
        click.echo(f"{name or STARTER}: already loaded, with its mappings")
        return
    embedding = report.embedding
    click.echo(
        f"{embedding.name}: {embedding.size:,} words of {embedding.dimension} dimensions from {embedding.source} "
        f"({embedding.format}), in {report.seconds:.1f} s"
    )
    if report.folded:
        click.echo(
            f"  {count_of(report.folded, 'entry', 'entries')} skipped (same word as an earlier one, ignoring case)"
        )
    if report.outside_vocabulary:
        click.echo(f"  {count_of(report.outside_vocabulary, 'entry', 'entries')} skipped (not in the vocabulary)")
    if report.not_found:
        click.echo(f"  {count_of(report.not_found, 'word')} of the vocabulary not found")
    step = f"map --embedding {embedding.name} --k {min(20, embedding.size)}"
    if source == STARTER and limit is None and vocab is None:
        step = f"inspect she --mapping {embedding.name} --eps 1"
    click.echo(f"Next: {again(db, step)}")
