"""A process killed at any moment loses nothing that was there, and leaves nothing half done."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from custext_sql import list_embeddings, list_mappings, load_mapping
from tests.vectors import stored_vectors, write_glove

LOAD = """
import sys, custext_sql, alembic.command, sqlalchemy
print("ready", flush=True)
custext_sql.load_embeddings(sys.argv[1], sys.argv[2], name=sys.argv[3])
"""
MAP = """
import sys, custext_sql
print("ready", flush=True)
custext_sql.build_mapping(sys.argv[1], embedding="big", k=int(sys.argv[2]))
"""
KILLS = 10
WORDS = 20_000


def run_and_kill(script: str, *arguments: str | Path, after: float) -> None:
    """Start a process, and kill it so many seconds after it set to work."""
    process = subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process, process.stdout:
        assert process.stdout.readline() == "ready\n"
        time.sleep(after)
        process.send_signal(signal.SIGKILL)


def time_taken(script: str, *arguments: str | Path) -> float:
    with subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        started = time.monotonic()
        assert process.wait() == 0
        return time.monotonic() - started


@pytest.fixture(scope="module")
def big_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words enough that loading takes a moment."""
    vectors = np.random.default_rng(0).normal(size=(WORDS, 50)).astype(np.float32)
    names = [f"w{index}" for index in range(len(vectors))]
    return write_glove(tmp_path_factory.mktemp("big") / "big.txt", names, vectors)


def test_killed_while_loading(mapped_db: Path, big_file: Path, tmp_path: Path) -> None:
    whole = time_taken(LOAD, tmp_path / "other.duckdb", big_file, "big")
    before, info = stored_vectors(mapped_db, "small"), load_mapping(mapped_db).info
    for number in range(KILLS):
        name = f"big{number}"
        run_and_kill(LOAD, mapped_db, big_file, name, after=random.Random(number).uniform(0, whole))
        tokens, vectors = stored_vectors(mapped_db, "small")
        assert tokens == before[0]
        assert vectors.tobytes() == before[1].tobytes()
        assert load_mapping(mapped_db).info == info
        done = name in {embedding.name for embedding in list_embeddings(mapped_db)}
        assert len(stored_vectors(mapped_db, name)[0]) == (WORDS if done else 0)
    time_taken(LOAD, mapped_db, big_file, "big")
    assert len(stored_vectors(mapped_db, "big")[0]) == WORDS


def test_killed_while_making_a_database(db_path: Path, big_file: Path, tmp_path: Path) -> None:
    whole = time_taken(LOAD, tmp_path / "other.duckdb", big_file, "big")
    for number in range(KILLS):
        run_and_kill(LOAD, db_path, big_file, "big", after=random.Random(number).uniform(0, whole))
        if db_path.exists():
            assert len(stored_vectors(db_path, "big")[0]) == WORDS
            db_path.unlink()


def test_killed_while_mapping(mapped_db: Path, big_file: Path) -> None:
    time_taken(LOAD, mapped_db, big_file, "big")
    whole = time_taken(MAP, mapped_db, "20")
    kept = load_mapping(mapped_db, "big-euclidean-k20").info
    for number in range(KILLS):
        run_and_kill(MAP, mapped_db, str(30 + number), after=random.Random(number).uniform(0.3, 1.2) * whole)
        infos, default = list_mappings(mapped_db)
        assert default == "small-euclidean-k4"
        for info in infos:
            assert load_mapping(mapped_db, info.name).info == info
        assert kept in infos
