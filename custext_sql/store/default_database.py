"""Builds the user's default database from the shipped vectors."""

import logging
from pathlib import Path

from custext_sql.errors import DatabaseError
from custext_sql.mapping.recipe import Recipe
from custext_sql.store.connections import new_database, reading_file
from custext_sql.store.embedding_loader import LoadReport, ShareDone, load_vectors
from custext_sql.store.mapping_builder import build_in_file
from custext_sql.store.rows.embeddings import read_embeddings
from custext_sql.store.rows.stopwords import SHIPPED_LANGUAGE
from custext_sql.vectors.starter import STARTER, WORDS, open_starter

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
    """Load the shipped vectors and build their two mappings, both with K = 20.

    Return a report, or None if the vectors were loaded before. The first mapping has the name of the embedding and
    groups stopwords separately, so that with `plus` a drawn word hides among a whole group. The second groups all words
    together, as in the paper; keys of earlier versions were made for it.
    """
    report = None
    with open_starter() as source:
        if replace or not _is_loaded(path, name, source.digest()):
            report = load_vectors(path, source, name=name, replace=replace, progress=progress)
    build_in_file(path, Recipe(name, stopword_language=SHIPPED_LANGUAGE), name=name, replace=replace)
    build_in_file(path, Recipe(name), replace=replace)
    return report


def _is_loaded(path: Path, name: str, digest: str) -> bool:
    try:
        with reading_file(path) as connection:
            loaded = {embedding.name: embedding for embedding in read_embeddings(connection)}
    except DatabaseError:  # missing or empty; loading reports any other problem
        return False
    return name in loaded and (loaded[name].sha256, loaded[name].size) == (digest, WORDS)
