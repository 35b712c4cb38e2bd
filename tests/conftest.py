"""Fixtures for all tests. None of them touches the user's own database."""

import os
import shutil
import sys
import uuid
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pytest
from hypothesis import settings

from tests.postgres import make_database, serve_postgres
from tests.shared_builds import build_once
from tests.vector_samples import write_glove

if TYPE_CHECKING:
    from custext_sql.experiments.evaluations import Experiment
    from custext_sql.vectors.source import Batch

settings.register_profile("tests", deadline=None)  # the first example builds tables, and the machine may be busy
settings.load_profile("tests")

FEW_SHIPPED = 1000  # words, with the fixture of that name
WORDS = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy"]
WORDS += ["mallory", "niaj", "olivia", "peggy", "rupert", "sybil"]


def write_small_vectors(folder: Path) -> Path:
    vectors = np.random.default_rng(7).normal(size=(len(WORDS), 5)).astype(np.float32)
    return write_glove(folder / "small.txt", WORDS, vectors)


def copy_database(template: Path, path: Path) -> Path:
    """Return the path of a copy for one test; making a new database takes many times as long."""
    path.write_bytes(template.read_bytes())
    return path


def pytest_report_header() -> list[str]:
    return [f"duckdb {duckdb.__version__}, numpy {np.__version__}, data: {os.environ.get('CUSTEXT_DATA', 'none')}"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that run in steps of their own as such."""
    for item in items:
        if any(item.get_closest_marker(name) for name in ("cluster", "models", "journey", "browser", "load", "pages")):
            item.add_marker(pytest.mark.apart)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the workers of `-n auto`: one more than there are cores, since many tests wait for other processes."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True)
def own_home(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Give each test its own home folder, and so its own default database, until it ends."""
    home = tmp_path_factory.mktemp(f"home-{uuid.uuid4().hex}", numbered=False)  # a path that no cache knows
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CUSTEXT_DB", raising=False)
    monkeypatch.delenv("CUSTEXT_LEDGER", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)  # pytest's workers have it, and tables would fit it
    yield home
    if (running := sys.modules.get("custext_sql.ledger.release")) is not None:
        running.settle_all()  # while the databases of the test are still there
    shutil.rmtree(home, ignore_errors=True)  # databases of 60 MB and more: a run would fill small disks


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
def postgres() -> Iterator[str]:
    """Return the URL of a PostgreSQL server of this run, without a database; skip the test if there is none."""
    with serve_postgres() as url:
        yield url


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def each_ledger(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test enter its releases in a new ledger: in the default place, then on PostgreSQL."""
    if request.param == "PostgreSQL":
        monkeypatch.setenv("CUSTEXT_LEDGER", make_database(request.getfixturevalue("postgres")))


@pytest.fixture(scope="session")
def starter_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database with the starter vectors and their mapping, for tests that only read it."""
    from custext_sql.store.building import load_starter

    template = build_once(tmp_path_factory, "starter.duckdb", load_starter)
    return copy_database(template, tmp_path_factory.mktemp("starter") / "starter.duckdb")


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

    def build(path: Path) -> None:
        load_embeddings(path, "starter", name="starter", limit=3000)
        build_mapping(path, embedding="starter", k=20)

    return copy_database(
        build_once(tmp_path_factory, "few.duckdb", build), tmp_path_factory.mktemp("few") / "few.duckdb"
    )


@pytest.fixture
def few_db(few_template: Path, tmp_path: Path) -> Path:
    """Return a database with 3,000 English words and the mapping `starter-euclidean-k20`, to write to."""
    return copy_database(few_template, tmp_path / "few.duckdb")


@pytest.fixture(scope="session")
def common_words() -> "Batch":
    """Return the most frequent words of the shipped ones, with their vectors."""
    from custext_sql.vectors.source import Batch
    from custext_sql.vectors.starter import FILES, unpack

    first = unpack(files("custext_sql.starter").joinpath(FILES[0]).read_bytes())
    return Batch(first.words[:FEW_SHIPPED], first.vectors(0, FEW_SHIPPED), 1)


@pytest.fixture
def few_shipped(common_words: "Batch", monkeypatch: pytest.MonkeyPatch) -> None:
    """Ship a thousand words instead of 100,000, for tests that do not depend on their number."""
    from custext_sql.vectors.source import VectorSource

    def open_few() -> VectorSource:
        batches = (batch for batch in [common_words])
        return VectorSource("few", "starter", "row", batches, lambda: 1.0, lambda: "0" * 64)

    for module in ("vectors.opening", "store.building"):
        monkeypatch.setattr(f"custext_sql.{module}.open_starter", open_few)
    monkeypatch.setattr("custext_sql.store.building.WORDS", FEW_SHIPPED)
    monkeypatch.setattr("custext_sql.store.building.FIRST_WORDS", FEW_SHIPPED // 2)


@pytest.fixture
def own_db(starter_db: Path, tmp_path: Path) -> Path:
    """Return a copy of `starter_db`, to write to."""
    return copy_database(starter_db, tmp_path / "own.duckdb")


@pytest.fixture
def experiment() -> "Experiment":
    """Return an experiment on sentences about films, labeled by whether they praise the film."""
    from custext_sql.experiments.evaluations import Experiment
    from custext_sql.experiments.texts import LabeledTexts
    from tests.experiments.test_linear_models import make_sentences

    def make(name: str, count: int, seed: int) -> LabeledTexts:
        rows, labels = make_sentences(count, seed)
        return LabeledTexts(name, rows, list(map(str, labels)))

    return Experiment(make("train", 200, 0), make("test", 100, 1))
