"""Commands about what the database holds: load, map, inspect, audit, info, use, drop, stopwords, compact, upgrade."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

from custext_sql.cli import options
from custext_sql.cli.output import draw_bar, name_places, print_table, progress_bar
from custext_sql.parameters import count_of

_FORMATS = ("glove", "word2vec", "word2vec-binary", "fasttext", "npz", "parquet")
_choice = partial(options.choice, show_default=True)
_limit = partial(click.option, "--limit", metavar="N")
_BAR = 24  # the longest one, in characters


@click.command("load", short_help="Load word vectors into the database.")
@options.examples(
    "custext --db my.duckdb load glove.840B.300d.txt.gz",
    "custext --db my.duckdb load glove.6B.zip --member glove.6B.300d.txt --name glove --limit 100000",
)
@click.argument("source")
@click.option("--name", help="Name of the embedding.  [default: that of the file, without .txt, .gz and the like]")
@options.choice("--format", *_FORMATS, default=None, help="Format of the file.  [default: detected]")
@options.file("--member", help="The file to read in a zip archive that contains several.")
@_limit(type=click.IntRange(min=1), help="Keep only the first N words.")
@options.file("--vocab", "vocabulary", help="Keep only the words in this file (the first field of each line).")
@options.flag("--replace", help="Replace an existing embedding; mappings built from it stay.")
@options.prints_result
def load_command(db: str | None, source: str, name: str | None, replace: bool, **settings: Any) -> Iterator[Any]:
    """Load word vectors into the database.

    SOURCE is a GloVe, word2vec (text or binary) or fastText file, which may be compressed (.gz or .zip); a NumPy .npz
    file with words and a matrix; a Parquet file; spacy:PIPELINE for the vectors of an installed spaCy pipeline; or
    'starter' for the vectors that ship with custext, and their mappings.
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
    skipped = {
        "same word as an earlier one, ignoring case": report.folded,
        "not in the vocabulary": report.outside_vocabulary,
    }
    for why, count in skipped.items():
        if count:
            click.echo(f"  {count_of(count, 'entry', 'entries')} skipped ({why})")
    if report.not_found:
        click.echo(f"  {count_of(report.not_found, 'word')} of the vocabulary not found")
    step = f"map --embedding {embedding.name} --k {min(20, embedding.size)}"
    if whole_starter:
        step = f"inspect she --mapping {embedding.name} --eps 1"
    click.echo(name_places(f"Next: custext {step}"))


@click.command("map", short_help="Split an embedding into groups of similar words.")
@options.examples(
    "custext --db my.duckdb map --embedding glove --k 20 --measure cosine",
    "custext --db my.duckdb map --embedding glove --k 40 --grouping refined --separate-stopwords",
)
@click.option("--embedding", required=True, help="Name of the embedding to split into groups.")
@options.shown("--k", default=20, type=click.IntRange(min=2), help="Words per group.")
@_choice(
    *("--grouping", "greedy", "refined"),
    help="Algorithm 1 of the paper, or its groups, improved by swapping words between groups.",
)
@_choice("--measure", "euclidean", "cosine", help="How to measure the similarity of words.")
@_choice(
    *("--normalization", "group", "word"),
    help="Scale scores per group (as in the paper) or per input word (as in the published code).",
)
@click.option(
    "--name",
    help="Name of the mapping.  [default: EMBEDDING-MEASURE-kK, and what else is unusual, such as -refined-apart]",
)
@_limit(type=click.IntRange(min=2), help="Use only the first N entries of the embedding.  [default: all]")
@_choice("--order", "file", "random", help="The order of the pivot words: as in the vector file, or random.")
@click.option("--seed", type=int, metavar="N", help="Seed for --order random; recorded with the mapping.")
@options.flag("--separate-stopwords", help="Never put stopwords and other words in the same group.")
@click.option("--language", help="Language of the stopwords.  [default: english]")
@options.flag("--replace", help="Replace an existing mapping of that name.")
@options.prints_result
def map_command(db: str | None, embedding: str, language: str | None, **recipe: Any) -> Iterator[Any]:
    """Split the words of an embedding into groups of K, and score every pair of words within a group.

    The first mapping of a database is its default; 'custext use' changes it.
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
    click.echo(name_places(f"Next: custext inspect WORD --mapping {info.name} --eps 1"))


@click.command("inspect", short_help="Show the possible replacements of a word.")
@options.examples("custext inspect she --eps 1")
@click.argument("word")
@options.mapping
@options.eps
@options.calibration
@options.prints_result
def inspect_command(db: str | None, word: str, mapping: str | None, eps: float, calibration: str) -> Iterator[Any]:
    """Show the possible replacements of a word: its group, with scores and probabilities."""
    from custext_sql import load_mapping
    from custext_sql.mechanism.sampler import Sampler, find_distribution

    found = find_distribution(Sampler(load_mapping(db, mapping), calibration), word, eps)
    yield found
    click.echo(f"{found.word} in {found.mapping}, eps = {found.eps:g}\n")
    largest = found.group[0].probability
    rows = [
        (one.output, f"{one.score:.4f}", f"{one.probability:.4f}", draw_bar(one.probability / largest, _BAR))
        for one in found.group
    ]
    print_table(("output", "score", "probability", ""), rows, right=(1, 2))


@click.command("audit", short_help="Verify the privacy guarantee of a mapping.")
@options.examples("custext audit --eps 1 --plus")
@options.eps
@options.plus
@options.keep_words
@options.calibration
@options.mapping
@options.language
@options.prints_result
def audit_command(db: str | None, keep_words: str | None, **settings: Any) -> Iterator[Any]:
    """Verify a mapping: its fingerprint, its partition into groups, and the guarantee of eps in every group.

    The guarantee is checked in exact integer arithmetic, on the same integers that words are drawn from. With --plus
    or --keep-words, it covers the words that are replaced. The audit also shows how many words a replaced word hides
    among. If a check fails, the audit names the group and exits with status 1.
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
    facts = {
        "fingerprint": f"matches: {found.fingerprint}",
        "partition": f"holds: {found.words:,} words in {count_of(found.groups, 'group')} of {sizes}",
        "guarantee": f"holds {among}; no log-ratio exceeds eps = {found.eps:g}",
        "hiding": hiding if found.hides_among else "no word is replaced",
        "worst log-ratio": f"{found.worst_log_ratio:.6g}",
        "median log-ratio": f"{found.median_log_ratio:.6g}",
    }
    for label, fact in facts.items():
        click.echo(f"{label:<17} {fact}")


def _show_sizes(smallest: int, largest: int) -> str:
    """Return a range of sizes: "9 to 20", or "20" if they are equal."""
    return f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"


@click.command("info", short_help="Show what the database contains.")
@options.examples("custext info")
@options.prints_result
def info_command(db: str | None) -> Iterator[Any]:
    """Show what the database contains: embeddings, mappings and stopwords, with sizes and fingerprints."""
    from custext_sql import list_mappings
    from custext_sql.store.contents import list_embeddings
    from custext_sql.store.database import locate
    from custext_sql.store.rewriting import measure_free, suggest_compacting

    path = locate(db)
    embeddings = list_embeddings(path)
    mappings, default = list_mappings(path)
    stopwords = _list_stopwords(path)
    size = path.stat().st_size
    yield {
        "database": str(path),
        "bytes": size,
        "free_bytes": measure_free(path),
        "embeddings": embeddings,
        "mappings": mappings,
        "default_mapping": default,
        "stopwords": stopwords,
    }
    click.echo(f"{path}, {size / 1e6:.1f} MB")
    hint = suggest_compacting(path)
    click.echo("" if hint is None else f"{name_places(hint)}\n")
    if embeddings:
        rows = [(e.name, f"{e.size:,}", str(e.dimension), e.source, e.sha256[:12]) for e in embeddings]
        print_table(("embedding", "words", "dimension", "source", "sha256"), rows, right=(1, 2), spare=(4,))
    else:
        click.echo(name_places("no embeddings; load one with: custext load FILE --name NAME"))
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
        click.echo(
            name_places("* default mapping" if default else "no default mapping; choose one with: custext use NAME")
        )
    else:
        click.echo(name_places("no mappings; build one with: custext map --embedding NAME --k 20"))
    click.echo()
    _print_stopwords("stopwords", stopwords)


@click.command("use", short_help="Set the default mapping.")
@options.examples("custext use starter-euclidean-k20")
@click.argument("name")
@options.prints_result
def use_command(db: str | None, name: str) -> Iterator[Any]:
    """Set the default mapping of the database, which other commands use unless --mapping is given."""
    from custext_sql import use_mapping

    use_mapping(db, name=name)
    yield {"default_mapping": name}
    click.echo(f"{name} is now the default mapping")


@click.group("drop", short_help="Remove an embedding or a mapping.")
@options.examples("custext drop mapping glove-cosine-k20")
def drop_command() -> None:
    """Remove an embedding or a mapping from the database."""


@drop_command.command("embedding")
@options.examples("custext drop embedding glove")
@click.argument("name")
@options.prints_result
def drop_embedding_command(db: str | None, name: str) -> Iterator[Any]:
    """Remove the vectors of an embedding. Mappings built from it stay and still work."""
    from custext_sql import drop_embedding

    drop_embedding(db, name=name)
    return _confirm_drop(db, "embedding", name)


@drop_command.command("mapping")
@options.examples("custext drop mapping glove-cosine-k20")
@click.argument("name")
@options.prints_result
def drop_mapping_command(db: str | None, name: str) -> Iterator[Any]:
    """Remove the groups and scores of a mapping."""
    from custext_sql import drop_mapping

    drop_mapping(db, name=name)
    return _confirm_drop(db, "mapping", name)


def _confirm_drop(db: str | None, kind: str, name: str) -> Iterator[Any]:
    from custext_sql.store.database import locate
    from custext_sql.store.rewriting import suggest_compacting

    yield {"dropped": kind, "name": name}
    click.echo(f"dropped {kind} {name}")
    if hint := suggest_compacting(locate(db)):
        click.echo(name_places(hint))


@click.command("stopwords", short_help="Show the stopword lists, or add one.")
@options.examples(
    "custext stopwords --file legal.txt --name legal",
    "custext sanitize notes.csv public.csv --column body --plus --language legal",
)
@click.option("--language", help="Add the list of this language from NLTK's stopwords corpus.")
@options.file("--file", help="Add a list of your own: UTF-8, one word per line. Needs --name.")
@click.option("--name", help="Name of the list in --file; other commands take it as --language.")
@options.prints_result
def stopwords_command(db: str | None, language: str | None, file: str | None, name: str | None) -> Iterator[Any]:
    """Show the stored stopword lists, or add one.

    English ships with custext (NLTK's list of 179 words). Other languages need NLTK's corpus to be installed. A list of
    your own must not depend on private texts, because its words stay in the clear.
    """
    from custext_sql.store.contents import add_stopwords

    if (file is None) != (name is None):
        raise click.UsageError("--file and --name go together: custext stopwords --file legal.txt --name legal")
    if language is not None and name is not None:
        raise click.UsageError("Give either --language, for a list from NLTK's corpus, or --file and --name.")
    if language is not None or name is not None:
        add_stopwords(db, language=language or name or "", file=file)
    stored = _list_stopwords(db)
    yield stored
    _print_stopwords("language", stored)


def _list_stopwords(db: Path | str | None) -> list[dict[str, Any]]:
    from custext_sql.store.contents import list_stopwords

    return [dict(zip(("language", "words", "source"), row, strict=True)) for row in list_stopwords(db)]


def _print_stopwords(title: str, stopwords: list[dict[str, Any]]) -> None:
    print_table((title, "words", "source"), [list(map(str, one.values())) for one in stopwords], right=(1,))


@click.command("compact", short_help="Shrink the database file.")
@options.examples("custext compact")
@options.prints_result
def compact_command(db: str | None) -> Iterator[Any]:
    """Rewrite the database file to its smallest size.

    DuckDB reuses the space of what was dropped, but does not give it back. The new file is written beside the old one,
    compared with it row by row, and then takes its place, so the disk needs room for both. Other programs that use the
    database wait or say that it is in use. What was dropped is no longer in the file afterwards.
    """
    from custext_sql.store.rewriting import compact_database

    done = compact_database(db)
    yield done
    click.echo(f"{done.database}: {done.bytes_before / 1e6:.1f} MB before, {done.bytes_after / 1e6:.1f} MB now")


@click.command("upgrade", short_help="Upgrade a database created by an older version.")
@options.examples("custext --db my.duckdb upgrade")
@options.prints_result
def upgrade_command(db: str | None) -> Iterator[Any]:
    """Upgrade a database created by an older version, and its ledger, to the current schema, each in one
    transaction.
    """
    from custext_sql.ledger.places import LedgerFile
    from custext_sql.store.rewriting import upgrade_database

    revisions = {"database": upgrade_database(db), "ledger": LedgerFile.locate(None, db).upgrade()}
    yield {what: {"before": before, "after": after} for what, (before, after) in revisions.items()}
    for what, (before, after) in revisions.items():
        same = before == after
        click.echo(f"{what}: {f'already at revision {after}' if same else f'upgraded from {before} to {after}'}")
