"""Fixtures for all tests. None of them touches the user's own database."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pytest
from hypothesis import settings

from tests.vector_samples import write_glove

if TYPE_CHECKING:
    from custext_sql.experiments.evaluation.experiment import Experiment

settings.register_profile("tests", deadline=None)  # the first example builds tables, and the machine may be busy
settings.load_profile("tests")

WORDS = [
    "alice",
    "bob",
    "carol",
    "dave",
    "erin",
    "frank",
    "grace",
    "heidi",
    "ivan",
    "judy",
    "mallory",
    "niaj",
    "olivia",
    "peggy",
    "rupert",
    "sybil",
]


def write_small_vectors(folder: Path) -> Path:
    vectors = np.random.default_rng(7).normal(size=(len(WORDS), 5)).astype(np.float32)
    return write_glove(folder / "small.txt", WORDS, vectors)


def copy_database(template: Path, path: Path) -> Path:
    """Return the path of a copy for one test; making a new database takes many times as long."""
    path.write_bytes(template.read_bytes())
    return path


def pytest_report_header() -> list[str]:
    return [f"duckdb {duckdb.__version__}, numpy {np.__version__}, data: {os.environ.get('CUSTEXT_DATA', 'none')}"]


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test its own home folder, and so its own default database."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CUSTEXT_DB", raising=False)
    return home


@pytest.fixture
def db_path(tmp_path: Path) -> Path:
    """Return a path for a database that does not exist yet."""
    return tmp_path / "custext.duckdb"


@pytest.fixture
def words() -> Sequence[str]:
    return WORDS


@pytest.fixture
def glove_file(tmp_path: Path) -> Path:
    """Return a GloVe file of 16 words with vectors of 5 numbers."""
    return write_small_vectors(tmp_path)


@pytest.fixture(scope="session")
def loaded_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from custext_sql import load_embeddings

    folder = tmp_path_factory.mktemp("loaded")
    load_embeddings(folder / "loaded.duckdb", write_small_vectors(folder), name="small")
    return folder / "loaded.duckdb"


@pytest.fixture(scope="session")
def mapped_template(loaded_template: Path) -> Path:
    from custext_sql import build_mapping

    path = copy_database(loaded_template, loaded_template.with_name("mapped.duckdb"))
    build_mapping(path, embedding="small", k=4)
    return path


@pytest.fixture
def loaded_db(loaded_template: Path, db_path: Path) -> Path:
    """Return a database with the embedding `small`, to write to."""
    return copy_database(loaded_template, db_path)


@pytest.fixture
def mapped_db(mapped_template: Path, db_path: Path) -> Path:
    """Return a database with the embedding `small` and the mapping `small-euclidean-k4`, to write to."""
    return copy_database(mapped_template, db_path)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real vectors and corpora; skip the test if there is none."""
    folder = os.environ.get("CUSTEXT_DATA")
    if not folder:
        pytest.skip("CUSTEXT_DATA does not name a folder with the real data")
    return Path(folder)


@pytest.fixture(scope="session")
def starter_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database with the starter vectors and their mapping, for tests that only read it."""
    from custext_sql.store.default_database import load_starter

    path = tmp_path_factory.mktemp("starter") / "starter.duckdb"
    load_starter(path)
    return path


@pytest.fixture(scope="session")
def fresh_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a new database with nothing loaded, for tests that only read it."""
    from custext_sql.store.database import writing

    path = tmp_path_factory.mktemp("fresh") / "fresh.duckdb"
    with writing(path):
        pass
    return path


@pytest.fixture(scope="session")
def few_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from custext_sql import build_mapping, load_embeddings

    path = tmp_path_factory.mktemp("few") / "few.duckdb"
    load_embeddings(path, "starter", name="starter", limit=3000)
    build_mapping(path, embedding="starter", k=20)
    return path


@pytest.fixture
def few_db(few_template: Path, tmp_path: Path) -> Path:
    """Return a database with 3,000 English words and the mapping `starter-euclidean-k20`, to write to."""
    return copy_database(few_template, tmp_path / "few.duckdb")


@pytest.fixture
def own_db(starter_db: Path, tmp_path: Path) -> Path:
    """Return a copy of `starter_db`, to write to."""
    return copy_database(starter_db, tmp_path / "own.duckdb")


@pytest.fixture
def experiment() -> "Experiment":
    """Return an experiment on sentences about films, labeled by whether they praise the film."""
    from custext_sql.experiments.evaluation.datasets import LabeledTexts
    from custext_sql.experiments.evaluation.experiment import Experiment
    from tests.experiments.test_linear_models import make_sentences

    def make(name: str, count: int, seed: int) -> LabeledTexts:
        rows, labels = make_sentences(count, seed)
        return LabeledTexts(name, rows, list(map(str, labels)))

    return Experiment(make("train", 200, 0), make("test", 100, 1))
