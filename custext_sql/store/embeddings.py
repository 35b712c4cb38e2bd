"""The public functions on embeddings: load, list, drop."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

from custext_sql.errors import SettingError
from custext_sql.parameters import check_name, check_whole, count_of
from custext_sql.store.database import Database, locate, reading, writing
from custext_sql.store.embedding_loader import LoadReport, ShareDone, load_vectors
from custext_sql.store.rows.embeddings import Embedding, delete_embedding, find_embedding, read_embeddings
from custext_sql.vectors.intake import read_vocabulary
from custext_sql.vectors.names import name_source
from custext_sql.vectors.opening import open_vectors
from custext_sql.vectors.source import VectorSource
from custext_sql.vectors.words_with_array import open_word_vectors

Source = str | os.PathLike[str] | tuple[Sequence[str], Any]


def load_embeddings(
    database: Database,
    source: Source,
    *,
    name: str | None = None,
    format: str | None = None,
    member: str | None = None,
    limit: int | None = None,
    vocabulary: str | os.PathLike[str] | Iterable[str] | None = None,
    replace: bool = False,
    progress: ShareDone | None = None,
) -> LoadReport:
    """Store word vectors under a name, all or nothing, and return a LoadReport.

    database: the path of a custext database, which is created if it does not exist; None for the one that CUSTEXT_DB
    names, else the user's default database.
    source: a vector file (GloVe, word2vec, fastText, .npz, Parquet; plain, .gz or in a .zip), `spacy:PIPELINE`,
    "starter", or words with an array of numbers that has one row per word: `(words, vectors)`. Words are converted to
    lower case; if several rows give the same word, the first is kept.
    name: letters, digits and . + - _, up to 100 characters; by default that of the file without its suffixes, such as
    "glove.6B.300d" for glove.6B.300d.txt.gz. format: recognized unless given. member: the file to read from a zip
    archive. limit: the largest number of words to keep, at least 1. vocabulary: the words to keep, or a file
    with one word per line, optionally followed by numbers. replace: overwrite an embedding of that name. progress:
    called with the share of the source that was read, 0 to 1.

    SourceError if the source cannot be read (it names the line or row), or no word was kept; SettingError if a setting
    is invalid, or the name is taken; DatabaseError if the database cannot be written.
    """
    name = check_name(_name(source, member) if name is None else name, "an embedding")
    if limit is not None and check_whole(limit, "limit") < 1:
        raise SettingError(f"limit must be at least 1; found {limit}")
    wanted = None if vocabulary is None else read_vocabulary(vocabulary)
    with _open(source, format, member) as opened:
        return load_vectors(
            locate(database), opened, name=name, limit=limit, vocabulary=wanted, replace=replace, progress=progress
        )


def _name(source: Source, member: str | None) -> str:
    if isinstance(source, str | os.PathLike):
        return name_source(os.fspath(source), member)
    raise SettingError("words with an array have no name; give the embedding one: name=...")


def _open(source: Source, format: str | None, member: str | None) -> VectorSource:
    if isinstance(source, str | os.PathLike):
        return open_vectors(os.fspath(source), format, member)
    if not isinstance(source, tuple) or len(source) != 2:
        raise SettingError(f"source must be a file or words with an array: (words, vectors); found {_describe(source)}")
    if format is not None or member is not None:
        raise SettingError("format and member apply to files only, not to words with an array")
    return open_word_vectors(*source)


def _describe(source: object) -> str:
    return f"a tuple of {count_of(len(source), 'item')}" if isinstance(source, tuple) else type(source).__name__


def list_embeddings(database: Database = None) -> list[Embedding]:
    """Return all embeddings of a database in the order in which they were loaded.

    DatabaseError if the database cannot be read.
    """
    with reading(database) as connection:
        return read_embeddings(connection)


def drop_embedding(database: Database = None, *, name: str) -> None:
    """Delete an embedding with its entries and vectors. Mappings that were built from it remain usable.

    CusTextError if the embedding does not exist; DatabaseError if the database cannot be written.
    """
    with writing(database) as connection:
        find_embedding(connection, name)
        delete_embedding(connection, name)
