"""The vectors that ship with the package, and the default database built from them."""

import hashlib
import logging
from collections.abc import Generator
from importlib.resources import files
from pathlib import Path

from custext_sql.errors import DatabaseError
from custext_sql.store.database import Database, new_database
from custext_sql.store.embeddings import LoadReport, ShareDone, list_embeddings, load_embeddings
from custext_sql.store.mapping_builder import build_mapping
from custext_sql.vectors import Batch, VectorSource
from custext_sql.vectors.packed import unpack

NAME = "starter"
VECTORS = "glove-840b-34k.xz"
WORDS = 33_860
_ROWS = 8192

_log = logging.getLogger("custext_sql")


def open_starter() -> VectorSource:
    """The shipped vectors as a source to load."""
    packed = files(__name__).joinpath(VECTORS).read_bytes()
    share = [0.0]

    def batches() -> Generator[Batch, None, None]:
        words, vectors = unpack(packed)
        for start in range(0, len(words), _ROWS):
            yield Batch(words[start : start + _ROWS], vectors[start : start + _ROWS], start + 1)
            share[0] = min(1.0, (start + _ROWS) / len(words))

    return VectorSource(
        VECTORS, "starter", "row", batches(), lambda: share[0], lambda: hashlib.sha256(packed).hexdigest()
    )


def load_starter(
    database: Database = None, *, name: str = NAME, replace: bool = False, progress: ShareDone | None = None
) -> LoadReport | None:
    """Load the shipped vectors, unless they are there, and build their mappings; None if none were loaded."""
    report = None
    if replace or not _is_loaded(database, name):
        report = load_embeddings(database, NAME, name=name, replace=replace, progress=progress)
    build_mappings(database, name, replace=replace)
    return report


def build_mappings(database: Database, name: str = NAME, *, replace: bool = False) -> None:
    """Build the two mappings of the shipped vectors, both of K = 20.

    The first groups stopwords apart, so that with `plus` a drawn word hides among a whole group; it is named like its
    embedding. The second takes all words alike, as the paper does; keys of earlier versions were made for it.
    """
    build_mapping(database, embedding=name, name=name, separate_stopwords=True, replace=replace)
    build_mapping(database, embedding=name, replace=replace)


def _is_loaded(database: Database, name: str) -> bool:
    try:
        loaded = {embedding.name: embedding for embedding in list_embeddings(database)}
    except DatabaseError:  # not there or empty yet; if it is worse, loading will say so
        return False
    with open_starter() as source:
        digest = source.digest()
    return name in loaded and (loaded[name].sha256, loaded[name].size) == (digest, WORDS)


def build_default(path: Path) -> None:
    """Create the user's default database from the shipped vectors, all or nothing."""
    _log.warning("Building the default database from the shipped vectors, once: %s", path)
    try:
        with new_database(path) as draft:
            load_embeddings(draft, NAME, name=NAME)
            build_mappings(draft)
    except DatabaseError:
        if not path.exists():  # otherwise another process built it meanwhile
            raise
