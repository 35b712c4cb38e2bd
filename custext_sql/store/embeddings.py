"""Embeddings: load, list, drop."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

from custext_sql.errors import SettingError
from custext_sql.parameters import check_name, check_whole
from custext_sql.store.database import Database, locate, reading, writing
from custext_sql.store.embedding_loader import LoadReport, ShareDone, load_vectors
from custext_sql.store.rows.embeddings import Embedding, delete_embedding, find_embedding, read_embeddings
from custext_sql.vectors.intake import read_vocabulary
from custext_sql.vectors.opening import open_vectors
from custext_sql.vectors.source import VectorSource
from custext_sql.vectors.words_with_array import open_word_vectors

Source = str | os.PathLike[str] | tuple[Sequence[str], Any]


def load_embeddings(
    database: Database,
    source: Source,
    *,
    name: str,
    format: str | None = None,
    member: str | None = None,
    limit: int | None = None,
    vocabulary: str | os.PathLike[str] | Iterable[str] | None = None,
    replace: bool = False,
    progress: ShareDone | None = None,
) -> LoadReport:
    """Store word vectors under a name, in one transaction, and return a LoadReport.

    source: a vector file (GloVe, word2vec, fastText, .npz, Parquet; plain, .gz or in a .zip), `spacy:PIPELINE`,
    "starter", or words with an array that has a row of numbers for each: `(words, vectors)`. Words are lower-cased; of
    rows that fold to one word the first is kept. limit: keep at most so many words. vocabulary: keep only these words;
    a file has one per line, alone or with numbers behind it. format: recognized unless given. member: which file of a
    zip archive. replace: an embedding of that name. progress: called with the share of the source read so far.

    SourceError names the line or row that is wrong.
    """
    check_name(name, "an embedding")
    if limit is not None and check_whole(limit, "limit") < 1:
        raise SettingError(f"limit must be at least 1; found {limit}")
    wanted = None if vocabulary is None else read_vocabulary(vocabulary)
    with _open(source, format, member) as opened:
        return load_vectors(
            locate(database), opened, name=name, limit=limit, vocabulary=wanted, replace=replace, progress=progress
        )


def _open(source: Source, format: str | None, member: str | None) -> VectorSource:
    if isinstance(source, str | os.PathLike):
        return open_vectors(os.fspath(source), format, member)
    if not isinstance(source, tuple) or len(source) != 2:
        raise SettingError(f"source must be a file, or words with an array: (words, vectors); found {_tell(source)}")
    if format is not None or member is not None:
        raise SettingError("format and member are for files; words with an array have neither")
    return open_word_vectors(*source)


def _tell(source: object) -> str:
    return f"a tuple of {len(source)}" if isinstance(source, tuple) else type(source).__name__


def list_embeddings(database: Database = None) -> list[Embedding]:
    """Return all embeddings, oldest first."""
    with reading(database) as connection:
        return read_embeddings(connection)


def drop_embedding(database: Database = None, *, name: str) -> None:
    """Remove an embedding with its entries and vectors. Mappings built from it stay: they stand on their own."""
    with writing(database) as connection:
        find_embedding(connection, name)
        delete_embedding(connection, name)
