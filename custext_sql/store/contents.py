"""What people do with a database: load, build, list, choose and drop embeddings, mappings and stopwords."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from custext_sql.errors import SettingError
from custext_sql.mapping.grouping import GroupingProgress
from custext_sql.mapping.mapping import Mapping, MappingInfo
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import Compare, choose_similarity
from custext_sql.parameters import check_name, check_whole, count_of
from custext_sql.store.building import MappingReport, build_in_file
from custext_sql.store.database import Database, locate, reading, writing
from custext_sql.store.embeddings import (
    Embedding,
    LoadReport,
    ShareDone,
    delete_embedding,
    find_embedding,
    load_vectors,
    read_embeddings,
)
from custext_sql.store.mappings import (
    default_name,
    delete_mapping,
    find_mapping,
    forget_default,
    read_infos,
    read_mapping,
    set_default,
)
from custext_sql.store.stopwords import SHIPPED_LANGUAGE, read_corpus, write_stopwords
from custext_sql.text.word_boundaries import fold_word, read_word_file
from custext_sql.vectors.array_files import open_word_vectors
from custext_sql.vectors.opening import name_source, open_vectors
from custext_sql.vectors.source import VectorSource
from custext_sql.vectors.text_files import read_vocabulary

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
    if name is None:
        if not isinstance(source, str | os.PathLike):
            raise SettingError("words with an array have no name; give the embedding one: name=...")
        name = name_source(os.fspath(source), member)
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
        found = f"a tuple of {count_of(len(source), 'item')}" if isinstance(source, tuple) else type(source).__name__
        raise SettingError(f"source must be a file or words with an array: (words, vectors); found {found}")
    if format is not None or member is not None:
        raise SettingError("format and member apply to files only, not to words with an array")
    return open_word_vectors(*source)


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


def build_mapping(
    database: Database = None,
    *,
    embedding: str,
    k: int = 20,
    grouping: str = "greedy",
    measure: str | Compare = "euclidean",
    larger_is_closer: bool | None = None,
    normalization: str = "group",
    name: str | None = None,
    order: str = "file",
    seed: int | None = None,
    separate_stopwords: bool = False,
    language: str = SHIPPED_LANGUAGE,
    limit: int | None = None,
    replace: bool = False,
    progress: GroupingProgress | None = None,
) -> MappingReport:
    """Group the words of an embedding, score every pair of words within a group, and store both.

    Return a MappingReport. The first mapping of a database becomes its default.

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database. embedding: its name.
    k: words per group, from 2 to the number of words. grouping: "greedy" (Algorithm 1 of the paper) or "refined" (its
    groups, improved by swapping words between groups). measure: "euclidean", "cosine", or a function that takes two
    arrays of vectors and returns the matrix of all pairs; it needs larger_is_closer. normalization: of scores, "group"
    (as in the paper) or "word" (as in its published code). name: by default EMBEDDING-MEASURE-kK, followed by every
    other setting that is not the usual one, as in glove-cosine-k20-refined-by-word-seed7-apart-first5000. order: take
    pivots in the order of the embedding ("file") or in "random" order by a seed, 0 to 2**63 - 1; never order them by
    the frequencies of a private text. separate_stopwords: group the stopwords of `language` separately from other
    words, so that CusText+ never replaces a content word by a stopword. limit: use only the first entries of the
    embedding, at least 2. replace: overwrite a mapping of that name that has other settings. progress: called with the
    number of words grouped so far and the number of all words.

    SettingError if a setting is invalid, or the name is taken by a mapping with other settings; CusTextError if the
    embedding does not exist; MappingError if its words cannot be grouped; DatabaseError if the database cannot be
    written.
    """
    similarity = choose_similarity(measure, larger_is_closer)
    recipe = Recipe(
        embedding=embedding,
        k=k,
        grouping=grouping,
        measure=similarity.name,
        larger_is_closer=similarity.larger_is_closer,
        normalization=normalization,
        pivot_order=order,
        seed=seed,
        stopword_language=language if separate_stopwords else None,
        word_limit=limit,
    )
    return build_in_file(locate(database), recipe, similarity, name=name, replace=replace, progress=progress)


def list_mappings(database: Database = None) -> tuple[list[MappingInfo], str | None]:
    """Return all mappings of a database, in the order in which they were built, and the name of the default one.

    The name is None if no mapping is the default. DatabaseError if the database cannot be read.
    """
    with reading(database) as connection:
        return read_infos(connection), default_name(connection)


def load_mapping(database: Database = None, name: str | None = None) -> Mapping:
    """Return a stored mapping; by default the database's default one.

    MappingError if it does not exist, or its tables do not match its fingerprint; DatabaseError if the database cannot
    be read.
    """
    with reading(database) as connection:
        return read_mapping(connection, find_mapping(connection, name))


def use_mapping(database: Database = None, *, name: str) -> None:
    """Make a mapping the default one of its database.

    MappingError if it does not exist; DatabaseError if the database cannot be written.
    """
    check_name(name, "a mapping")
    with writing(database) as connection:
        find_mapping(connection, name)
        set_default(connection, name)


def drop_mapping(database: Database = None, *, name: str) -> None:
    """Delete a mapping.

    If it was the default, the database has no default until `use_mapping` chooses one or another mapping is built.
    MappingError if the mapping does not exist; DatabaseError if the database cannot be written.
    """
    check_name(name, "a mapping")
    with writing(database) as connection:
        find_mapping(connection, name)
        delete_mapping(connection, name)
        forget_default(connection, name)


def add_stopwords(database: Database = None, *, language: str, file: str | os.PathLike[str] | None = None) -> int:
    """Store the stopwords of a language from NLTK's installed corpus, or from a file; return how many there are.

    They replace those of the same language in the database. language: as in NLTK, such as "german"; with a file, any
    name, which is then given wherever a language is. file: UTF-8, one word per line. The list is public, like the
    mapping: it must not depend on private texts. SourceError if the corpus is not installed, or it or the file cannot
    be read; SettingError if the corpus does not have the language; DatabaseError if the database cannot be written.
    """
    if file is None:
        found, source = read_corpus(language), "NLTK stopwords corpus, as installed"
    else:
        check_name(language, "a stopword list")
        found, source = read_word_file(file), f"file {Path(file).name}"
    words = list(dict.fromkeys(map(fold_word, found)))
    with writing(database) as connection:
        write_stopwords(connection, language, words, source)
    return len(words)


def list_stopwords(database: Database = None) -> list[tuple[str, int, str]]:
    """Return the language, number of words and source of each stored list, by language."""
    with reading(database) as connection:
        rows = connection.execute(
            "SELECT language, count(*), any_value(source) FROM stopwords GROUP BY language ORDER BY language"
        ).fetchall()
    return [(str(language), int(count), str(source)) for language, count, source in rows]
