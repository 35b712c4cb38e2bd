"""Builds the user's default database from the shipped vectors."""

import logging
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path

from custext_sql.arrays import Numbers, Places, Vectors
from custext_sql.errors import DatabaseError, SettingError
from custext_sql.mapping.grouping import GroupingProgress, Partition, unpack_groups
from custext_sql.mapping.making import group_words
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import Similarity
from custext_sql.store.connections import new_database, reading_file
from custext_sql.store.embedding_loader import LoadReport, ShareDone, load_vectors
from custext_sql.store.mapping_builder import build_in_file
from custext_sql.store.rows.embeddings import read_embeddings
from custext_sql.store.rows.mappings import read_infos
from custext_sql.store.rows.stopwords import SHIPPED_LANGUAGE
from custext_sql.vectors.starter import FIRST_WORDS, GROUPS, STARTER, WORDS, open_starter

_log = logging.getLogger("custext_sql")


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
        group = partial(_find_groups, digest) if recipe.grouping == "refined" else group_words
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
    shipped = unpack_groups(packed, classes, digest, recipe.k)
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
