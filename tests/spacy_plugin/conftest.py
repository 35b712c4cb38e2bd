"""A database of English words that loads quickly."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from tests.shared_builds import build_once
from tests.vector_samples import write_glove

NAMES = ["alice", "bob", "boston", "nurse", "mr", "dr", "ill", "vs", "co", "miss", "mass", "wed", "hell"]


@pytest.fixture(scope="session")
def english_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database with 2,000 frequent words and some names, for tests that only read it."""
    from custext_sql import build_mapping, load_embeddings
    from custext_sql.vectors.starter import FILES, unpack

    def build(path: Path) -> None:
        shipped = unpack(files("custext_sql.starter").joinpath(FILES[0]).read_bytes())
        places = sorted({*range(2000), *map(shipped.words.index, NAMES)})
        vectors = shipped.vectors(0, places[-1] + 1)[places].astype(np.float32)
        source = write_glove(path.with_suffix(".txt"), [shipped.words[place] for place in places], vectors)
        load_embeddings(path, source, name="english")
        build_mapping(path, embedding="english", k=20)

    return build_once(tmp_path_factory, "english.duckdb", build)
