"""The command `custext info`."""

from pathlib import Path

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import again, name_database, print_json, print_table


@click.command("info", short_help="Show what the database contains.")
@json_option
@click.pass_obj
def info_command(db: str | None, as_json: bool) -> None:
    """Show what the database contains: embeddings, mappings and stopwords, with sizes and fingerprints.

    \b
    Examples:
      custext info
      custext --db my.duckdb info --json
    """
    from custext_sql import list_embeddings, list_mappings
    from custext_sql.store.database import locate
    from custext_sql.store.rewritten_files import measure_free, suggest_compacting
    from custext_sql.store.stopwords import list_stopwords

    path: Path = locate(db)
    embeddings = list_embeddings(path)
    mappings, default = list_mappings(path)
    stopwords = list_stopwords(path)
    size = path.stat().st_size
    if as_json:
        print_json(
            {
                "database": str(path),
                "bytes": size,
                "free_bytes": measure_free(path),
                "embeddings": embeddings,
                "mappings": mappings,
                "default_mapping": default,
                "stopwords": [dict(zip(("language", "words", "source"), row, strict=True)) for row in stopwords],
            }
        )
        return
    click.echo(f"{path}, {size / 1e6:.1f} MB")
    hint = suggest_compacting(path)
    click.echo("" if hint is None else f"{name_database(hint, db)}\n")
    if embeddings:
        rows = [(e.name, f"{e.size:,}", str(e.dimension), e.source, e.sha256[:12]) for e in embeddings]
        print_table(("embedding", "words", "dimension", "source", "sha256"), rows, right=(1, 2), spare=(4,))
    else:
        click.echo(f"no embeddings; load one with: {again(db, 'load FILE --name NAME')}")
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
        click.echo("* default mapping" if default else f"no default mapping; choose one with: {again(db, 'use NAME')}")
    else:
        click.echo(f"no mappings; build one with: {again(db, 'map --embedding NAME --k 20')}")
    click.echo()
    print_table(("stopwords", "words", "source"), [(n, str(count), s) for n, count, s in stopwords], right=(1,))
