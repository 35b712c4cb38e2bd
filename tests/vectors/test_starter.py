"""The shipped vectors, and the default database that is built from them."""

import hashlib
import logging
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import duckdb
import numpy as np
import pytest

from custext_sql import Sanitizer, build_mapping, drop_embedding, list_mappings, load_embeddings, load_mapping
from custext_sql.errors import SettingError
from custext_sql.mapping.recipe import Recipe
from custext_sql.store.building import build_default, load_starter
from custext_sql.store.contents import list_embeddings
from custext_sql.store.database import default_path
from custext_sql.vectors.source import Batch
from custext_sql.vectors.starter import FILES, FIRST_WORDS, GROUPS, STEP, WORDS, open_starter, pack, unpack
from tests.conftest import FEW_SHIPPED
from tests.vector_samples import Matrix
from tools.starter.make import neighbor_recall, read_whole
from tools.starter.make_groups import make_groups

FINGERPRINT = "e8b82676e4c2bb84215115e93ce52451c71c75fa361105f29c147b861c617e3a"  # of starter-euclidean-k20
STARTER_FINGERPRINT = "4493d442a000a0311d039186af2ac9db6fd54e217566ce3f2b0d6fa45344bb06"


# of words and vectors; the first file is as in version 0.1, so that mappings of it keep their fingerprints
FIRST_DIGEST = "d5bd3ea9461f66dfcb7de18bf84c64f682be68ff28d62237c52c8ea1aa7b3876"
DIGEST = "0fc06d9f6f41a562e34da7546708552522641ba243c983969f04109286ca0fe8"


def shipped(file: str) -> bytes:
    return files("custext_sql.starter").joinpath(file).read_bytes()


def read_starter() -> tuple[list[str], Matrix]:
    with open_starter() as source:
        batches = list(source.batches)
        assert source.share_read() == 1.0
    assert [batch.first for batch in batches] == [1, *(1 + np.cumsum([len(b.words) for b in batches[:-1]]))]
    return [word for batch in batches for word in batch.words], np.concatenate([batch.vectors for batch in batches])


def digest(words: Sequence[str], vectors: Matrix) -> str:
    return hashlib.sha256("\n".join(words).encode() + vectors.astype("<f4").tobytes()).hexdigest()


@pytest.mark.parametrize("multiple", [1, 4])
def test_packing_keeps_words_and_multiples_of_the_step(multiple: int) -> None:
    words, step = ["the", "naïve", "at\xa0name"], multiple * STEP
    vectors = (np.random.default_rng(0).integers(-127, 128, size=(3, 5)) * step).astype(np.float32)
    found = unpack(pack(words, vectors, multiple))
    assert found.words == words
    assert found.vectors().tobytes() == vectors.tobytes()
    assert found.vectors(1, 2).tobytes() == vectors[1:2].tobytes()
    with pytest.raises(ValueError, match="within"):
        pack(words, vectors + 128 * step, multiple)


@pytest.mark.slow  # the fingerprints of mappings cover them too
def test_the_shipped_vectors_are_the_same_on_every_machine() -> None:
    words, vectors = read_starter()
    assert (len(words), len(set(words)), vectors.shape) == (WORDS, WORDS, (WORDS, 300))
    assert vectors.dtype == np.float32
    assert digest(words[:FIRST_WORDS], vectors[:FIRST_WORDS]) == FIRST_DIGEST
    assert digest(words, vectors) == DIGEST


def test_the_digest_of_the_source_covers_all_files() -> None:
    with open_starter() as source:
        assert source.digest() == hashlib.sha256(b"".join(map(shipped, FILES))).hexdigest()
    assert sum(len(shipped(file)) for file in FILES) <= 16_000_000


@pytest.mark.slow
def test_the_first_file_keeps_the_neighbors_of_the_full_table(shared_data: Path) -> None:
    words, full = read_whole(str(shared_data / "glove.840B.300d.34k.txt.gz"))
    first = unpack(shipped(FILES[0]))
    assert first.words == words
    assert pack(words, full) == shipped(FILES[0])
    assert neighbor_recall(full, first.vectors()) >= 0.95


def test_the_starter_mappings_have_one_fingerprint_everywhere(starter_db: Path) -> None:
    infos, default = list_mappings(starter_db)
    assert default == "starter"
    assert {info.name: info.fingerprint for info in infos} == {
        "starter": STARTER_FINGERPRINT,
        "starter-euclidean-k20": FINGERPRINT,
    }
    assert {info.name: (info.words, info.left_out, info.group_count) for info in infos} == {
        "starter": (99989, 11, 2500),
        "starter-euclidean-k20": (33849, 11, 1693),
    }
    assert infos[0].recipe == Recipe("starter", k=40, grouping="refined", stopword_language="english")
    assert infos[1].recipe == Recipe("starter", k=20, word_limit=FIRST_WORDS)


@pytest.mark.slow
def test_the_shipped_groups_are_those_of_the_recipe() -> None:
    assert make_groups() == shipped(GROUPS), "run: python -m tools.starter.make_groups"


@pytest.mark.usefixtures("few_shipped")
def test_the_starter_mapping_is_that_of_the_recipe_with_another_list_of_stopwords(db_path: Path) -> None:
    """The shipped groups do not fit other classes of words; tests/mapping/test_grouping.py checks that."""
    duckdb.connect(db_path).close()
    load_embeddings(db_path, "starter", name="starter")
    with duckdb.connect(db_path) as connection:
        connection.execute("DELETE FROM stopwords WHERE word = 'she'")
    load_starter(db_path)
    mapping = load_mapping(db_path, "starter")
    words, _ = mapping.find_row("she")
    assert not {"her", "him", "they"} & set(words)  # stopwords, which are grouped apart


@pytest.mark.usefixtures("few_shipped")
def test_vectors_and_mappings_of_the_user_with_the_shipped_names_are_not_changed(
    db_path: Path, common_words: Batch, tmp_path: Path
) -> None:
    load_starter(tmp_path / "new.duckdb")
    new = [info.fingerprint for info in list_mappings(tmp_path / "new.duckdb")[0]]
    load_embeddings(
        db_path, (common_words.words[: FEW_SHIPPED // 2], common_words.vectors[: FEW_SHIPPED // 2]), name="starter"
    )
    build_mapping(db_path, embedding="starter", separate_stopwords=True, name="starter")
    build_mapping(db_path, embedding="starter")
    before = list_mappings(db_path)
    with pytest.raises(SettingError, match="nothing was changed.*--name NAME.*--replace.*keys") as error:
        load_starter(db_path)
    assert "embedding 'starter', mapping 'starter', mapping 'starter-euclidean-k20'" in str(error.value)
    drop_embedding(db_path, name="starter")
    with pytest.raises(SettingError, match="already has mapping 'starter', mapping"):  # before any vectors are loaded
        load_starter(db_path)
    assert list_mappings(db_path) == before and not list_embeddings(db_path)
    load_starter(db_path, name="shipped")
    infos, default = list_mappings(db_path)
    assert default == "starter"
    assert [info.fingerprint for info in infos[2:]] == new
    load_starter(db_path, replace=True)
    assert {info.fingerprint for info in list_mappings(db_path)[0]} == set(new)


@pytest.mark.usefixtures("few_shipped")
def test_a_database_that_has_a_default_keeps_it(db_path: Path) -> None:
    load_embeddings(db_path, "starter", name="starter")
    build_mapping(db_path, embedding="starter", limit=FEW_SHIPPED // 2, name="starter-euclidean-k20")
    load_starter(db_path)
    infos, default = list_mappings(db_path)
    assert default == "starter-euclidean-k20" and len(infos) == 2


@pytest.mark.usefixtures("few_shipped")
def test_the_default_database_is_built_on_first_use_with_a_line_that_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert not default_path().parent.exists()
    with caplog.at_level(logging.INFO, logger="custext_sql"):
        assert Sanitizer.load().sanitize("the") != ""
        assert [info.name for info in list_mappings()[0]] == ["starter", "starter-euclidean-k20"]
    assert caplog.messages == [f"Building the default database from the shipped vectors (once): {default_path()}"]
    assert [path.name for path in default_path().parent.iterdir()] == [default_path().name]


@pytest.mark.usefixtures("few_shipped")
def test_the_starter_loads_into_an_empty_database_and_again_after_its_vectors_were_dropped(db_path: Path) -> None:
    duckdb.connect(db_path).close()
    assert load_starter(db_path) is not None
    drop_embedding(db_path, name="starter")
    assert load_starter(db_path) is not None
    assert load_starter(db_path) is None


@pytest.mark.usefixtures("few_shipped")
def test_a_default_database_that_fails_to_build_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("custext_sql.store.building.build_in_file", fail)
    with pytest.raises(KeyboardInterrupt):
        build_default(default_path())
    assert not default_path().parent.exists()
