"""Builds mappings from stored embeddings, and the default database from the shipped vectors."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path

import duckdb

from custext_sql.arrays import Numbers, Places, Vectors
from custext_sql.errors import DatabaseError, MappingError, SettingError
from custext_sql.mapping.grouping import GroupingProgress, Partition, unpack_groups
from custext_sql.mapping.making import WordsToGroup, choose_words, group_words, make_mapping
from custext_sql.mapping.mapping import Mapping, MappingInfo
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import Similarity
from custext_sql.store.database_files import new_database, reading_file, writing_file
from custext_sql.store.embeddings import (
    Embedding,
    LoadReport,
    ShareDone,
    find_embedding,
    load_vectors,
    read_embeddings,
    read_entries,
    read_vectors,
)
from custext_sql.store.mappings import delete_mapping, find_mapping, read_infos, read_mapping, save_mapping
from custext_sql.store.stopwords import SHIPPED_LANGUAGE, read_stopwords
from custext_sql.vectors.starter import FIRST_WORDS, GROUPS, STARTER, WORDS, open_starter

_log = logging.getLogger("custext_sql")


@dataclass(frozen=True)
class MappingReport:
    """The result of `build_mapping`.

    info: how the mapping was made, how many words and groups it has, and its fingerprint.
    already_there: whether an identical mapping of that name was stored before, so that nothing was written.
    merged: with separate_stopwords, the only stopword, or the only other word, of the embedding: since a group has at
        least two words, all words were then grouped together. None otherwise.
    smallest_group, largest_group: numbers of words.
    seconds: how long it took.
    """

    info: MappingInfo
    already_there: bool
    merged: str | None
    smallest_group: int
    largest_group: int
    seconds: float


def build_in_file(
    path: Path,
    recipe: Recipe,
    similarity: Similarity | None = None,
    *,
    name: str | None = None,
    replace: bool = False,
    progress: GroupingProgress | None = None,
    group: Callable[..., Partition] | None = None,
) -> MappingReport:
    """Build a mapping in the database at `path`; see `build_mapping`. similarity, group: as for `make_mapping`."""
    started = time.perf_counter()
    given = recipe.name_mapping(name) if name or replace else None
    with reading_file(path) as connection:
        source, words = read_words(connection, recipe)
        recipe, infos = words.settle(recipe), read_infos(connection)
        name = given or name_new(recipe, infos)
        if not replace:
            _refuse_other(name, recipe, source, infos)
        vectors = read_vectors(connection, source, words.positions)
    mapping = make_mapping(words, vectors, recipe, name, similarity, progress=progress, group=group)
    already_there = _store(path, mapping, source, replace)
    sizes, seconds = mapping.sizes, time.perf_counter() - started
    return MappingReport(mapping.info, already_there, words.merged, int(sizes.min()), int(sizes.max()), seconds)


def read_words(connection: duckdb.DuckDBPyConnection, recipe: Recipe) -> tuple[Embedding, WordsToGroup]:
    """Return the embedding of a recipe and its words to group.

    CusTextError if the embedding does not exist, or the database has no stopwords of the language.
    """
    source = find_embedding(connection, recipe.embedding)
    entries, language = read_entries(connection, source), recipe.stopword_language
    stopwords = read_stopwords(connection, language) if language else frozenset()
    return source, choose_words(source.sha256, entries, recipe, stopwords)


def name_new(recipe: Recipe, infos: Sequence[MappingInfo]) -> str:
    """Return the default name of a mapping in a database that has these mappings.

    It is the usual one, unless a mapping with other settings has that name.
    """
    usual, recipes = recipe.name_mapping(None), {info.name: info.recipe for info in infos}
    return usual if recipes.get(usual, recipe) == recipe else recipe.name_beside(recipes[usual])


def _store(path: Path, mapping: Mapping, source: Embedding, replace: bool) -> bool:
    """Save the mapping, and return whether it was already there."""
    info = mapping.info
    with writing_file(path) as connection:
        if find_embedding(connection, source.name) != source:
            raise MappingError(f"embedding {source.name} was replaced in the meantime; try again")
        if not replace:
            infos = read_infos(connection)
            _refuse_other(info.name, info.recipe, source, infos, info.fingerprint)
            with suppress(MappingError):  # there is none, or it was changed
                read_mapping(connection, find_mapping(connection, info.name))
                return True
        delete_mapping(connection, info.name)
        save_mapping(connection, mapping)
    return False


def _refuse_other(
    name: str, recipe: Recipe, source: Embedding, infos: Sequence[MappingInfo], fingerprint: str | None = None
) -> None:
    """Raise SettingError if a mapping of that name exists with other settings or another fingerprint."""
    for info in infos:
        if info.name == name and not (
            info.recipe == recipe and info.embedding_sha256 == source.sha256 and fingerprint in (None, info.fingerprint)
        ):
            raise SettingError(
                f"mapping {name!r} already exists with different settings; to replace it, use --replace (in Python: "
                "replace=True), or choose another name"
            )


def build_default(path: Path) -> None:
    """Create the user's default database from the shipped vectors, all or nothing; DatabaseError if that fails."""
    _log.warning("Building the default database from the shipped vectors (once): %s", path)
    try:
        with new_database(path) as unfinished:
            load_starter(unfinished)
    except DatabaseError:
        if not path.exists():  # otherwise another process built it in the meantime
            raise


def load_starter(
    path: Path, *, name: str = STARTER, replace: bool = False, progress: ShareDone | None = None
) -> LoadReport | None:
    """Load the shipped vectors and build their two mappings.

    Return a report, or None if the vectors were loaded before. The first mapping has the name of the embedding: refined
    groups of 40 words, with stopwords grouped separately, so that with `plus` a drawn word hides among a whole group.
    The second is as in the paper: K = 20, the common words of the first file, all together. Without `replace`, raise
    SettingError and change nothing if the database has other vectors or mappings of these names.
    """
    recipes = {
        name: Recipe(name, k=40, grouping="refined", stopword_language=SHIPPED_LANGUAGE),
        Recipe(name).name_mapping(None): Recipe(name, word_limit=FIRST_WORDS),
    }
    report = None
    with open_starter() as source:
        digest = source.digest()
        if replace or not _is_loaded(path, name, digest, recipes):
            report = load_vectors(path, source, name=name, replace=replace, progress=progress)
    for mapping, recipe in recipes.items():
        group = partial(_find_groups, digest) if recipe.grouping == "refined" else None
        build_in_file(path, recipe, name=mapping, replace=replace, group=group)
    return report


def _find_groups(
    digest: str,
    vectors: Vectors,
    similarity: Similarity,
    recipe: Recipe,
    classes: Sequence[Places],
    progress: GroupingProgress | None = None,
    *,
    ranks: Numbers | None = None,
) -> Partition:
    """Return the shipped groups of the shipped vectors; if the list of stopwords is another one, group the words."""
    packed = files("custext_sql.starter").joinpath(GROUPS).read_bytes()
    shipped = unpack_groups(packed, classes, digest)
    return shipped or group_words(vectors, similarity, recipe, classes, progress, ranks=ranks)


def _is_loaded(path: Path, name: str, digest: str, recipes: dict[str, Recipe]) -> bool:
    """Return whether the database has the vectors; SettingError if it has other vectors or mappings of these names."""
    try:
        with reading_file(path) as connection:
            embeddings = {embedding.name: embedding for embedding in read_embeddings(connection)}
            infos = read_infos(connection)
    except DatabaseError:  # missing or empty; loading reports any other problem
        return False
    stored = embeddings.get(name)
    others = [
        f"mapping {info.name!r}"
        for info in infos
        if info.name in recipes and (info.recipe, info.embedding_sha256) != (recipes[info.name], digest)
    ]
    if stored is not None and (stored.sha256, stored.size) != (digest, WORDS):
        others.insert(0, f"embedding {name!r}")
    if others:
        raise SettingError(
            f"the database already has {', '.join(others)}, unlike what custext-sql ships; nothing was changed. To "
            "load the shipped vectors beside that, choose another name: --name NAME (in Python: name='NAME'). To "
            "overwrite it, use --replace (in Python: replace=True); keys made for a replaced mapping stop working"
        )
    return stored is not None
