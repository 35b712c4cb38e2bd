"""Commands about what the database holds: load, info, use, drop, stopwords, compact and upgrade."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from custext_sql.cli.options import prints_result
from custext_sql.cli.output import again, name_places, print_table, progress_bar
from custext_sql.parameters import count_of

_FORMATS = ("glove", "word2vec", "word2vec-binary", "fasttext", "npz", "parquet")


@click.command("load", short_help="Load word vectors into the database.")
@click.argument("source")
@click.option("--name", help="Name of the embedding.  [default: that of the file, without .txt, .gz and the like]")
@click.option("--format", type=click.Choice(_FORMATS), help="Format of the file.  [default: detected]")
@click.option("--member", metavar="FILE", help="The file to read in a zip archive that contains several.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Keep only the first N words.")
@click.option(
    "--vocab",
    "vocabulary",
    metavar="FILE",
    help="Keep only the words in this file (the first field of each line).",
)
@click.option("--replace", is_flag=True, help="Replace an existing embedding; mappings built from it stay.")
@prints_result
def load_command(db: str | None, source: str, name: str | None, replace: bool, **settings: Any) -> Iterator[Any]:
    """Load word vectors into the database.

    SOURCE is a GloVe, word2vec (text or binary) or fastText file, which may be compressed (.gz or .zip); a NumPy .npz
    file with words and a matrix; a Parquet file; spacy:PIPELINE for the vectors of an installed spaCy pipeline; or
    'starter' for the vectors that ship with custext, and their mappings.

    \b
    Examples:
      custext --db my.duckdb load glove.840B.300d.txt.gz
      custext --db my.duckdb load glove.6B.zip --member glove.6B.300d.txt --name glove --limit 100000
    """
    from custext_sql.store.building import load_starter
    from custext_sql.store.contents import load_embeddings
    from custext_sql.store.database import locate
    from custext_sql.vectors.starter import STARTER

    if source == STARTER and (settings["format"] or settings["member"]):
        raise click.UsageError("--format and --member apply to files only, not to the starter vectors")
    whole_starter = source == STARTER and settings["limit"] is None and settings["vocabulary"] is None
    path = locate(db)  # may build the default database; that must come before a progress bar
    with progress_bar(f"Loading {Path(source).name}") as progress:
        if whole_starter:
            report = load_starter(path, name=name or STARTER, replace=replace, progress=progress)
        else:
            report = load_embeddings(path, source, name=name, replace=replace, progress=progress, **settings)
    yield report
    if report is None:
        click.echo(f"{name or STARTER}: already loaded, with its mappings")
        return
    embedding = report.embedding
    click.echo(
        f"{embedding.name}: {embedding.size:,} words of {embedding.dimension} dimensions from {embedding.source} "
        f"({embedding.format}), in {report.seconds:.1f} s"
    )
    for count, why in (
        (report.folded, "same word as an earlier one, ignoring case"),
        (report.outside_vocabulary, "not in the vocabulary"),
    ):
        if count:
            click.echo(f"  {count_of(count, 'entry', 'entries')} skipped ({why})")
    if report.not_found:
        click.echo(f"  {count_of(report.not_found, 'word')} of the vocabulary not found")
    step = f"map --embedding {embedding.name} --k {min(20, embedding.size)}"
    if whole_starter:
        step = f"inspect she --mapping {embedding.name} --eps 1"
    click.echo(f"Next: {again(step)}")


@click.command("info", short_help="Show what the database contains.")
@prints_result
def info_command(db: str | None) -> Iterator[Any]:
    """Show what the database contains: embeddings, mappings and stopwords, with sizes and fingerprints.

    \b
    Examples:
      custext info
      custext --db my.duckdb info --json
    """
    from custext_sql import list_mappings
    from custext_sql.store.contents import list_embeddings, list_stopwords
    from custext_sql.store.database import locate
    from custext_sql.store.rewriting import measure_free, suggest_compacting

    path = locate(db)
    embeddings = list_embeddings(path)
    mappings, default = list_mappings(path)
    stopwords = list_stopwords(path)
    size = path.stat().st_size
    yield {
        "database": str(path),
        "bytes": size,
        "free_bytes": measure_free(path),
        "embeddings": embeddings,
        "mappings": mappings,
        "default_mapping": default,
        "stopwords": _name_fields(stopwords),
    }
    click.echo(f"{path}, {size / 1e6:.1f} MB")
    hint = suggest_compacting(path)
    click.echo("" if hint is None else f"{name_places(hint)}\n")
    if embeddings:
        rows = [(e.name, f"{e.size:,}", str(e.dimension), e.source, e.sha256[:12]) for e in embeddings]
        print_table(("embedding", "words", "dimension", "source", "sha256"), rows, right=(1, 2), spare=(4,))
    else:
        click.echo(f"no embeddings; load one with: {again('load FILE --name NAME')}")
    click.echo()
    if mappings:
        print_table(
            ("mapping", "words", "groups", "k", "grouping", "measure", "scores", "fingerprint"),
            [
                (
                    ("* " if m.name == default else "  ") + m.name,
                    f"{m.words:,}",
                    f"{m.group_count:,}",
                    str(m.k),
                    m.grouping + (", stopwords apart" if m.stopword_language else ""),
                    m.measure,
                    f"by {m.normalization}",
                    m.fingerprint[:12],
                )
                for m in mappings
            ],
            right=(1, 2, 3),
            spare=(6, 5),
        )
        click.echo("* default mapping" if default else f"no default mapping; choose one with: {again('use NAME')}")
    else:
        click.echo(f"no mappings; build one with: {again('map --embedding NAME --k 20')}")
    click.echo()
    _print_stopwords("stopwords", stopwords)


@click.command("use", short_help="Set the default mapping.")
@click.argument("name")
@prints_result
def use_command(db: str | None, name: str) -> Iterator[Any]:
    """Set the default mapping of the database, which other commands use unless --mapping is given.

    \b
    Example:
      custext use starter-euclidean-k20
    """
    from custext_sql import use_mapping

    use_mapping(db, name=name)
    yield {"default_mapping": name}
    click.echo(f"{name} is now the default mapping")


@click.group("drop", short_help="Remove an embedding or a mapping.")
def drop_command() -> None:
    """Remove an embedding or a mapping from the database.

    \b
    Example:
      custext drop mapping glove-cosine-k20
    """


@drop_command.command("embedding")
@click.argument("name")
@prints_result
def drop_embedding_command(db: str | None, name: str) -> Iterator[Any]:
    """Remove the vectors of an embedding. Mappings built from it stay and still work.

    \b
    Example:
      custext drop embedding glove
    """
    from custext_sql import drop_embedding

    drop_embedding(db, name=name)
    return _confirm_drop(db, "embedding", name)


@drop_command.command("mapping")
@click.argument("name")
@prints_result
def drop_mapping_command(db: str | None, name: str) -> Iterator[Any]:
    """Remove the groups and scores of a mapping.

    \b
    Example:
      custext drop mapping glove-cosine-k20
    """
    from custext_sql import drop_mapping

    drop_mapping(db, name=name)
    return _confirm_drop(db, "mapping", name)


def _confirm_drop(db: str | None, kind: str, name: str) -> Iterator[Any]:
    from custext_sql.store.database import locate
    from custext_sql.store.rewriting import suggest_compacting

    yield {"dropped": kind, "name": name}
    click.echo(f"dropped {kind} {name}")
    hint = suggest_compacting(locate(db))
    if hint is not None:
        click.echo(name_places(hint))


@click.command("stopwords", short_help="Show the stopword lists, or add one.")
@click.option("--language", help="Add the list of this language from NLTK's stopwords corpus.")
@click.option("--file", metavar="FILE", help="Add a list of your own: UTF-8, one word per line. Needs --name.")
@click.option("--name", help="Name of the list in --file; other commands take it as --language.")
@prints_result
def stopwords_command(db: str | None, language: str | None, file: str | None, name: str | None) -> Iterator[Any]:
    """Show the stored stopword lists, or add one.

    English ships with custext (NLTK's list of 179 words). Other languages need NLTK's corpus to be installed. A list of
    your own must not depend on private texts, because its words stay in the clear.

    \b
    Examples:
      custext stopwords
      custext stopwords --language german
      custext stopwords --file legal.txt --name legal
      custext sanitize notes.csv public.csv --column body --plus --language legal
    """
    from custext_sql.store.contents import add_stopwords, list_stopwords

    if (file is None) != (name is None):
        raise click.UsageError("--file and --name go together: custext stopwords --file legal.txt --name legal")
    if language is not None and name is not None:
        raise click.UsageError("Give either --language, for a list from NLTK's corpus, or --file and --name.")
    if language is not None or name is not None:
        add_stopwords(db, language=language or name or "", file=file)
    stored = list_stopwords(db)
    yield _name_fields(stored)
    _print_stopwords("language", stored)


def _name_fields(stopwords: list[tuple[str, int, str]]) -> list[dict[str, Any]]:
    return [dict(zip(("language", "words", "source"), row, strict=True)) for row in stopwords]


def _print_stopwords(title: str, stopwords: list[tuple[str, int, str]]) -> None:
    print_table(
        (title, "words", "source"), [(name, str(count), source) for name, count, source in stopwords], right=(1,)
    )


@click.command("compact", short_help="Shrink the database file.")
@prints_result
def compact_command(db: str | None) -> Iterator[Any]:
    """Rewrite the database file to its smallest size.

    DuckDB reuses the space of what was dropped, but does not give it back. The new file is written beside the old one,
    compared with it row by row, and then takes its place, so the disk needs room for both. Other programs that use the
    database wait or say that it is in use. What was dropped is no longer in the file afterwards.

    \b
    Examples:
      custext compact
      custext --db my.duckdb compact --json
    """
    from custext_sql.store.rewriting import compact_database

    done = compact_database(db)
    yield done
    click.echo(f"{done.database}: {done.bytes_before / 1e6:.1f} MB before, {done.bytes_after / 1e6:.1f} MB now")


@click.command("upgrade", short_help="Upgrade a database created by an older version.")
@prints_result
def upgrade_command(db: str | None) -> Iterator[Any]:
    """Upgrade a database created by an older version, and its ledger, to the current schema, each in one transaction.

    \b
    Example:
      custext --db my.duckdb upgrade
    """
    from custext_sql.ledger.places import LedgerFile
    from custext_sql.store.rewriting import upgrade_database

    revisions = {"database": upgrade_database(db), "ledger": LedgerFile.locate(None, db).upgrade()}
    yield {what: {"before": before, "after": after} for what, (before, after) in revisions.items()}
    for what, (before, after) in revisions.items():
        same = before == after
        click.echo(f"{what}: {f'already at revision {after}' if same else f'upgraded from {before} to {after}'}")
