"""Mappings: build, list, load, choose the default, drop."""

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
    measure: str | Compare = "euclidean",
    larger_is_closer: bool | None = None,
    normalization: str = "group",
    name: str | None = None,
    order: str = "file",
    seed: int | None = None,
    separate_stopwords: bool = False,
    language: str = SHIPPED_LANGUAGE,
    replace: bool = False,
    progress: GroupingProgress | None = None,
) -> MappingReport:
    """Group an embedding's words by Algorithm 1 of the paper, score every pair within a group, store both, and return a
    MappingReport.

    k: words per group, 2 to the number of words. normalization: "group" (the paper) or "word" (the published code).
    name: EMBEDDING-MEASURE-kK unless given. replace: a mapping of that name with other settings.
    measure: "euclidean", "cosine", or a function (rows, rows) -> matrix together with larger_is_closer. order: pivots
    in the order of the embedding's source, or "random" by a seed; never by the frequencies of a private text.
    separate_stopwords: group the stopwords of `language` and the other words each on their own, so that CusText+ never
    turns a content word into a stopword. progress: called with words grouped and words in all.
    """
    similarity = choose_similarity(measure, larger_is_closer)
    recipe = Recipe(
        embedding=embedding,
        k=k,
        measure=similarity.name,
        larger_is_closer=similarity.larger_is_closer,
        normalization=normalization,
        pivot_order=order,
        seed=seed,
        stopword_language=language if separate_stopwords else None,
    )
    return build_in_file(locate(database), recipe, similarity, name=name, replace=replace, progress=progress)


def list_mappings(database: Database = None) -> tuple[list[MappingInfo], str | None]:
    """Return all mappings, oldest first, and the name of the default one."""
    with reading(database) as connection:
        return read_infos(connection), default_name(connection)


def load_mapping(database: Database = None, name: str | None = None) -> Mapping:
    """Return a stored mapping, the default one if no name is given; refused unless its tables match its fingerprint."""
    with reading(database) as connection:
        return read_mapping(connection, find_mapping(connection, name))


def use_mapping(database: Database = None, *, name: str) -> None:
    """Make a mapping the database's default."""
    check_name(name, "a mapping")
    with writing(database) as connection:
        find_mapping(connection, name)
        set_default(connection, name)


def drop_mapping(database: Database = None, *, name: str) -> None:
    """Remove a mapping. If it was the default, there is none until `use_mapping`, or the next one is built."""
    check_name(name, "a mapping")
    with writing(database) as connection:
        find_mapping(connection, name)
        delete_mapping(connection, name)
        forget_default(connection, name)
