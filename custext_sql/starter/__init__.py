"""The vectors that ship with the package, and the default database built from them."""

import hashlib
import logging
from collections.abc import Generator, Iterable
from importlib.resources import files
from pathlib import Path

from custext_sql.database import Database, new_database
from custext_sql.embeddings import LoadReport, load_embeddings
from custext_sql.errors import DatabaseError
from custext_sql.mapping_builder import build_mapping
from custext_sql.starter.format import unpack
from custext_sql.vector_files import Batch, VectorSource

NAME = "starter"
VECTORS = "glove-840b-34k.xz"
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
    database: Database = None,
    *,
    name: str = NAME,
    limit: int | None = None,
    vocabulary: str | Iterable[str] | None = None,
    replace: bool = False,
) -> LoadReport:
    """Load the shipped vectors and build their mapping of K = 20."""
    report = load_embeddings(database, NAME, name=name, limit=limit, vocabulary=vocabulary, replace=replace)
    build_mapping(database, embedding=name, replace=replace)
    return report


def build_default(path: Path) -> None:
    """Create the user's default database from the shipped vectors, all or nothing."""
    _log.info("Building the default database from the shipped vectors, once: %s", path)
    try:
        with new_database(path) as draft:
            load_starter(draft)
    except DatabaseError:
        if not path.exists():  # otherwise another process built it meanwhile
            raise
