"""The public functions on mappings: build, list, load, choose the default, drop."""

from custext_sql.mapping.grouping import GroupingProgress
from custext_sql.mapping.mapping import Mapping, MappingInfo
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import Compare, choose_similarity
from custext_sql.parameters import check_name
from custext_sql.store.database import Database, locate, reading, writing
from custext_sql.store.mapping_builder import MappingReport, build_in_file
from custext_sql.store.rows.mappings import (
    default_name,
    delete_mapping,
    find_mapping,
    forget_default,
    read_infos,
    read_mapping,
    set_default,
)
from custext_sql.store.rows.stopwords import SHIPPED_LANGUAGE


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
