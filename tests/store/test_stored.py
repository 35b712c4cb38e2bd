"""A stored database, key and ledger work in this version as they did when they were made: see tests/stored/make.py."""

import csv
import lzma
import shutil
from pathlib import Path

import duckdb
import pytest

from custext_sql import Sanitizer, list_mappings, load_mapping, read_ledger, register
from custext_sql.ledger.ledger import find_releases
from custext_sql.ledger.places import LedgerFile
from custext_sql.store.contents import list_embeddings
from custext_sql.store.key_files import read_key_file
from custext_sql.store.rewriting import upgrade_database
from custext_sql.store.schema import REVISIONS
from tests.store.test_migrations import EVERYTHING, fetch
from tests.stored import make

FINGERPRINTS = {
    "plain": "2b533a5e2fb46c66e37d90e025f15d1ff26b359b4275ab0069e7b486f3afb5ef",
    "small-cosine-k6-refined-apart": "b7f68d009c926b32c38e6a52190a97cd68d4eb59699452b7402f2fdddc79dba4",
}


@pytest.fixture
def stored_db(tmp_path: Path) -> Path:
    path = tmp_path / "first.duckdb"
    path.write_bytes(lzma.decompress(make.DATABASE.read_bytes()))
    path.chmod(0o600)
    upgrade_database(path)
    return path


@pytest.fixture
def stored_ledger(stored_db: Path) -> LedgerFile:
    """The ledger beside the stored database."""
    path = stored_db.with_name("first.ledger.sqlite")
    path.write_bytes(lzma.decompress(make.LEDGER.read_bytes()))
    path.chmod(0o600)
    place = LedgerFile.locate(None, stored_db)
    assert place.path == path
    place.upgrade()
    return place


@pytest.fixture
def stored_key(tmp_path: Path) -> Path:
    """Git does not keep the mode of a file."""
    path = Path(shutil.copy(make.KEY, tmp_path))
    path.chmod(0o600)
    return path


def test_the_stored_database_has_its_vectors_mappings_and_stopwords(stored_db: Path) -> None:
    assert [(one.name, one.size, one.dimension) for one in list_embeddings(stored_db)] == [
        ("small", len(make.WORDS), 5)
    ]
    infos, default = list_mappings(stored_db)
    assert default == "plain"
    assert {info.name: info.fingerprint for info in infos} == FINGERPRINTS
    for info in infos:
        assert load_mapping(stored_db, info.name).info == info  # words, groups and scores have that fingerprint
    german = fetch(stored_db, "SELECT word FROM stopwords WHERE language = 'german' ORDER BY word")
    assert german == sorted((word,) for word in make.GERMAN.split())


def test_the_stored_database_has_what_a_new_one_has(stored_db: Path, fresh_db: Path) -> None:
    for part, query in EVERYTHING.items():
        where = " WHERE language = 'english'" if part == "stopwords" else ""
        found = f"FROM ({query}){where} ORDER BY ALL"
        assert fetch(stored_db, found) == fetch(fresh_db, found), part
    assert fetch(stored_db, "FROM alembic_version") == [(REVISIONS[-1],)]


def test_the_stored_key_gives_the_recorded_bytes(stored_db: Path, stored_key: Path, tmp_path: Path) -> None:
    assert read_key_file(stored_key).settings.fingerprint == FINGERPRINTS["plain"]
    make.sanitize(stored_db, stored_key, tmp_path / "keyed.csv")
    assert (tmp_path / "keyed.csv").read_bytes() == make.KEYED.read_bytes()


def test_the_stored_key_gives_the_recorded_texts_in_sql(stored_db: Path, stored_key: Path) -> None:
    with duckdb.connect() as connection:
        register(connection, stored_db, key_file=stored_key)
        found = connection.execute(
            f"SELECT custext_sanitize_keyed(body, 'body:' || id) FROM read_csv('{make.TEXTS}', header = true)"
        ).fetchall()
    with make.KEYED.open(newline="", encoding="utf-8") as file:
        recorded = [(row["body"],) for row in csv.DictReader(file)]
    assert found == recorded
    with make.TEXTS.open(newline="", encoding="utf-8") as file:
        assert sum(row["body"] != text for row, (text,) in zip(csv.DictReader(file), recorded, strict=True)) >= 8


def test_the_stored_ledger_has_its_release_and_knows_its_records(
    stored_db: Path, stored_key: Path, stored_ledger: LedgerFile, tmp_path: Path
) -> None:
    found = read_ledger(stored_db)
    [release], [total] = found.releases, found.totals
    assert (release.state, release.dataset, release.struck_reason) == ("complete", "texts", make.REASON)
    assert (release.mapping, release.fingerprint, release.eps) == ("plain", FINGERPRINTS["plain"], 2.0)
    assert release.by_record and total.total_eps is not None and total.total_eps == release.largest_row_eps
    assert find_releases(make.KEYED, stored_db) == [release]
    with make.TEXTS.open(newline="", encoding="utf-8") as file:
        records = [f"other:{row['id']}" for row in csv.DictReader(file)]
    sanitizer = Sanitizer.load(stored_db, key_file=stored_key)
    sanitizer.release(["cat dog"] * len(records), records=records, dataset="texts")
    more = total.total_eps + 4  # two words more for each of them
    assert read_ledger(stored_db).totals[0].total_eps == more
    make.sanitize(stored_db, stored_key, tmp_path / "keyed.csv")
    again = read_ledger(stored_db)
    assert len(again.releases) == 3 and again.totals[0].total_eps == more  # the same records cost nothing
