"""The shipped vectors, and the default database that is built from them."""

import logging
from importlib.resources import files
from pathlib import Path

import duckdb
import numpy as np
import pytest

from custext_sql import build_mapping, drop_embedding, list_mappings, load_embeddings, load_mapping
from custext_sql.starter.make import neighbor_recall, read_whole
from custext_sql.store.database import default_path
from custext_sql.store.default_database import build_default, load_starter
from custext_sql.vectors.packed import STEP, pack, unpack
from custext_sql.vectors.starter import FILE

FINGERPRINT = "e8b82676e4c2bb84215115e93ce52451c71c75fa361105f29c147b861c617e3a"  # of starter-euclidean-k20
STARTER_FINGERPRINT = "758de895f7c351d321194318589a5e5d3da81a1ecc76d4df7b357a81ec4e8adb"


def shipped() -> bytes:
    return files("custext_sql.starter").joinpath(FILE).read_bytes()


def test_packing_keeps_words_and_multiples_of_the_step() -> None:
    words = ["the", "naïve", "at\xa0name"]
    vectors = (np.random.default_rng(0).integers(-127, 128, size=(3, 5)) * STEP).astype(np.float32)
    found, unpacked = unpack(pack(words, vectors))
    assert found == words
    assert unpacked.tobytes() == vectors.tobytes()
    with pytest.raises(ValueError, match="within"):
        pack(words, vectors + 128 * STEP)


def test_the_shipped_vectors_are_small_enough_to_ship() -> None:
    words, vectors = unpack(shipped())
    assert len(words) == 33860
    assert vectors.shape == (33860, 300)
    assert len(shipped()) <= 7_500_000


@pytest.mark.slow
def test_the_shipped_vectors_keep_the_neighbors_of_the_full_table(shared_data: Path) -> None:
    words, full = read_whole(str(shared_data / "glove.840B.300d.34k.txt.gz"))
    shipped_words, compact = unpack(shipped())
    assert shipped_words == words
    assert unpack(pack(words, full))[1].tobytes() == compact.tobytes()
    assert neighbor_recall(full, compact) >= 0.95


def test_the_starter_mappings_have_one_fingerprint_everywhere(starter_db: Path) -> None:
    infos, default = list_mappings(starter_db)
    assert default == "starter"
    assert {info.name: info.fingerprint for info in infos} == {
        "starter": STARTER_FINGERPRINT,
        "starter-euclidean-k20": FINGERPRINT,
    }
    for info in infos:
        assert (info.words, info.left_out, info.group_count) == (33849, 11, 1693)


@pytest.mark.slow
def test_a_database_that_has_a_default_keeps_it(db_path: Path) -> None:
    load_embeddings(db_path, "starter", name="starter")
    build_mapping(db_path, embedding="starter")
    load_starter(db_path)
    infos, default = list_mappings(db_path)
    assert default == "starter-euclidean-k20" and len(infos) == 2


@pytest.mark.slow
def test_building_the_starter_mapping_again_finds_it_there(starter_db: Path) -> None:
    assert build_mapping(starter_db, embedding="starter", k=20).already_there


@pytest.mark.slow
def test_the_default_database_is_built_on_first_use_with_a_line_that_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, logger="custext_sql"):
        assert load_mapping().info.fingerprint == STARTER_FINGERPRINT
        assert load_mapping(name="starter-euclidean-k20").info.fingerprint == FINGERPRINT
    assert caplog.messages == [f"Building the default database from the shipped vectors (once): {default_path()}"]
    caplog.clear()
    load_mapping()
    assert caplog.messages == []


@pytest.mark.slow
def test_the_starter_loads_into_an_empty_database_and_again_after_its_vectors_were_dropped(db_path: Path) -> None:
    duckdb.connect(db_path).close()
    assert load_starter(db_path) is not None
    drop_embedding(db_path, name="starter")
    assert load_starter(db_path) is not None
    assert load_starter(db_path) is None


@pytest.mark.slow
def test_a_default_database_that_fails_to_build_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("custext_sql.store.default_database.build_in_file", fail)
    with pytest.raises(KeyboardInterrupt):
        build_default(default_path())
    assert not default_path().parent.exists()


def test_the_tables_are_read_with_plain_sql(starter_db: Path) -> None:
    with duckdb.connect(starter_db, read_only=True) as connection:
        rows = connection.execute(
            "SELECT count(*), count(DISTINCT token), count(DISTINCT group_id) FROM groups"
        ).fetchall()
        [(size,)] = connection.execute("SELECT count(*) FROM scores WHERE input = 'she'").fetchall()
        tags = connection.execute("SELECT tags FROM duckdb_databases() WHERE NOT internal").fetchall()
    assert rows == [(2 * 33849, 33849, 1693)]
    assert size == 40
    assert "v1.0.0" in str(tags)
