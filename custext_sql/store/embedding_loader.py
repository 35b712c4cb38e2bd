"""Loads a vector source into the database as an embedding."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from custext_sql.errors import SettingError, SourceError
from custext_sql.store.connections import writing_file
from custext_sql.store.rows.columns import insert_row
from custext_sql.store.rows.embeddings import Embedding, delete_embedding, insert_entries, read_embeddings
from custext_sql.vectors.intake import Intake
from custext_sql.vectors.source import VectorSource

ShareDone = Callable[[float], None]


@dataclass(frozen=True)
class LoadReport:
    """The result of `load_embeddings`.

    embedding: what was stored.
    rows_read: rows of the source that were read, including those that were skipped.
    folded: rows skipped because an earlier row has the same entry in lower case.
    outside_vocabulary: rows skipped because their entry is not in the given vocabulary.
    not_found: words of the vocabulary that are missing from the source; None without a vocabulary, or if a limit ended
        the reading before the end of the source.
    seconds: how long it took.
    """

    embedding: Embedding
    rows_read: int
    folded: int
    outside_vocabulary: int
    not_found: int | None
    seconds: float


def load_vectors(
    path: Path,
    source: VectorSource,
    *,
    name: str,
    limit: int | None = None,
    vocabulary: frozenset[str] | None = None,
    replace: bool = False,
    progress: ShareDone | None = None,
) -> LoadReport:
    """Load an opened source into the database at `path`, in one transaction; see `load_embeddings`."""
    started = time.perf_counter()
    with ThreadPoolExecutor(1) as hashing, writing_file(path) as connection:
        _make_room(connection, name, replace)
        digest = hashing.submit(source.digest)
        intake = Intake(source, vocabulary, limit)
        for batch in source.batches:
            if kept := intake.accept(batch):
                insert_entries(connection, name, *kept)
            if progress is not None:
                progress(source.share_read())
            if intake.is_full:
                break
        if not intake.kept:
            raise SourceError(f"{source.label}: no word was kept; expected at least one" + intake.why_empty())
        embedding = Embedding(
            name,
            source.label,
            source.format,
            intake.dimension,
            intake.kept,
            digest.result(),
            datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        )
        insert_row(connection, "embeddings", embedding)
    not_found = None if vocabulary is None or intake.is_full else len(vocabulary) - intake.kept
    return LoadReport(embedding, intake.rows, intake.folded, intake.outside, not_found, time.perf_counter() - started)


def _make_room(connection: duckdb.DuckDBPyConnection, name: str, replace: bool) -> None:
    if all(embedding.name != name for embedding in read_embeddings(connection)):
        return
    if not replace:
        raise SettingError(
            f"embedding {name!r} already exists; to replace it, use --replace (in Python: replace=True), or choose "
            "another name"
        )
    delete_embedding(connection, name)
