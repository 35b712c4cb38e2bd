"""Databases of earlier versions, one per revision, keep all their data in an upgrade, and work."""

import lzma
import shutil
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from custext_sql.store.files import duckdb_files
from custext_sql.store.ledger.table import list_releases
from custext_sql.store.mappings import list_mappings, load_mapping
from custext_sql.store.schema.revisions import REVISIONS
from tests.cli.test_commands import run
from tests.processes import hold_open
from tests.store.test_migrations import fetch, macro, schema, view

DATABASES = Path(__file__).parents[1] / "databases"
STORED = sorted(path.name.partition(".")[0] for path in DATABASES.glob("*.duckdb.xz"))


def columns(path: Path, table: str) -> list[str]:
    query = f"SELECT column_name FROM duckdb_columns() WHERE table_name = '{table}' ORDER BY column_index"
    return [name for (name,) in fetch(path, query)]


def unpack(revision: str, folder: Path) -> Path:
    """A database written by the code of that revision."""
    path = folder / f"{revision}.duckdb"
    path.write_bytes(lzma.decompress((DATABASES / f"{revision}.duckdb.xz").read_bytes()))
    return path


@dataclass(frozen=True)
class Upgraded:
    """A stored database, before and after `custext upgrade`. Tests only read both files."""

    revision: str
    before: Path
    after: Path


@pytest.fixture(scope="module", params=STORED)
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Upgraded:
    folder = tmp_path_factory.mktemp("upgraded")
    before = unpack(request.param, folder)
    after = folder / "after.duckdb"
    shutil.copy(before, after)
    result = run("--db", after, "upgrade")
    assert result.exit_code == 0, result.output
    assert REVISIONS[-1] in result.output
    return Upgraded(request.param, before, after)


def test_every_earlier_revision_has_a_stored_database() -> None:
    missing = [revision for revision in REVISIONS[:-1] if revision not in STORED]
    assert not missing, f"no stored database of {', '.join(missing)}: make it as tests/databases/make.py says"


@pytest.mark.parametrize("revision", STORED)
def test_stored_databases_hold_what_an_upgrade_could_break(revision: str, tmp_path: Path) -> None:
    path = unpack(revision, tmp_path)
    assert fetch(path, "FROM alembic_version") == [(revision,)]
    assert fetch(path, "SELECT count(*) FROM vectors") == [(42,)]
    refined = [("refined",)] if revision >= "0007" else []
    assert fetch(path, "SELECT name FROM mappings ORDER BY name") == [("apart",), ("plain",), *refined]
    assert fetch(path, "SELECT DISTINCT language FROM stopwords ORDER BY language") == [("english",), ("german",)]
    if revision >= "0003":
        found = set(fetch(path, "SELECT state, draws, row_count IS NULL FROM releases"))
        assert found >= {("complete", "fresh", False), ("complete", "keyed", False), ("complete", "seeded", False)}
        assert found >= {("pending", "fresh", False), ("pending", "fresh", True)}
    if revision >= "0004":
        kinds = {kind for (kind,) in fetch(path, "SELECT kind FROM measurements WHERE digest IS NOT NULL")}
        assert kinds >= {"bayes", "mask", "utility"}


@pytest.mark.parametrize("revision", [revision for revision in STORED if revision in REVISIONS[:-1]])
def test_a_stored_database_is_refused_until_it_is_upgraded(revision: str, tmp_path: Path) -> None:
    path = unpack(revision, tmp_path)
    before = path.read_bytes()
    for command in (["info"], ["ledger"], ["sanitize", "the doctor"], ["sql", "SELECT 1"], ["use", "plain"]):
        result = run("--db", path, *command)
        assert result.exit_code == 1, command
        assert f"is at revision {revision} and this version needs {REVISIONS[-1]}" in result.output
        assert f"run: custext --db {path} upgrade" in result.output
    assert path.read_bytes() == before


@pytest.mark.slow
def test_an_upgraded_database_has_the_schema_of_a_new_one(upgraded: Upgraded, fresh_db: Path) -> None:
    assert fetch(upgraded.after, "FROM alembic_version") == [(REVISIONS[-1],)]
    assert schema(upgraded.after) == schema(fresh_db)
    assert macro(upgraded.after) == macro(fresh_db)
    assert view(upgraded.after) == view(fresh_db) != []


def test_an_upgraded_database_has_the_stopwords_of_a_new_one_and_those_added(
    upgraded: Upgraded, fresh_db: Path
) -> None:
    english = "SELECT language, word, source FROM stopwords WHERE language = 'english' ORDER BY ALL"
    assert fetch(upgraded.after, english) == fetch(fresh_db, english)
    others = "SELECT language, word, source FROM stopwords WHERE language <> 'english' ORDER BY ALL"
    assert fetch(upgraded.after, others) == fetch(upgraded.before, others) != []


@pytest.mark.slow
def test_an_upgrade_keeps_every_row(upgraded: Upgraded) -> None:
    names = ["embeddings", "tokens", "vectors", "mappings", "groups", "scores"]
    for table in [*names, "releases"] if upgraded.revision >= "0003" else names:
        kept = [name for name in columns(upgraded.before, table) if name in columns(upgraded.after, table)]
        listed = ", ".join("round(largest_row_eps, 9)::DOUBLE" if name == "largest_row_eps" else name for name in kept)
        query = f"SELECT {listed} FROM {table} ORDER BY ALL"
        assert fetch(upgraded.after, query) == fetch(upgraded.before, query) != [], table


def test_an_upgrade_keeps_mappings_as_their_fingerprints_say(upgraded: Upgraded) -> None:
    infos, default = list_mappings(upgraded.after)
    assert [(default,)] == fetch(upgraded.before, "SELECT value FROM settings WHERE key = 'default_mapping'")
    assert default == "apart"
    for info in infos:
        assert load_mapping(upgraded.after, info.name).info == info


def test_words_get_their_place_in_the_vector_file_as_rank(upgraded: Upgraded) -> None:
    query = "SELECT token FROM tokens ORDER BY position"
    tokens = [token for (token,) in fetch(upgraded.before, query)]
    for name in ("plain", "apart"):
        mapping = load_mapping(upgraded.after, name)
        assert (mapping.info.grouping, mapping.info.word_limit) == ("greedy", None)
        assert [tokens[rank] for rank in mapping.ranks] == list(mapping.words)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM embeddings; DELETE FROM tokens",
        "UPDATE embeddings SET sha256 = 'f00'",
        "DELETE FROM tokens WHERE token = 'doctor'",
        "UPDATE tokens SET position = 0 WHERE token = 'doctor'",
        "UPDATE tokens SET position = -1 WHERE token = 'doctor'",
    ],
)
def test_words_of_an_embedding_that_is_gone_are_ranked_as_the_mapping_lists_them(tmp_path: Path, change: str) -> None:
    path = unpack("0006", tmp_path)
    with duckdb.connect(path) as connection:
        connection.execute(change)
    assert run("--db", path, "upgrade").exit_code == 0
    for name in ("plain", "apart"):
        mapping = load_mapping(path, name)
        assert mapping.ranks.tolist() == list(range(len(mapping.words)))


def test_the_macro_of_an_upgraded_database_answers(upgraded: Upgraded) -> None:
    outputs = load_mapping(upgraded.after).find_row("doctor")[0]
    rows = fetch(upgraded.after, "SELECT output, probability FROM custext_distribution('Doctor', 1.0)")
    assert {output for output, probability in rows} == set(outputs)
    assert sum(probability for output, probability in rows) == pytest.approx(1.0)


def test_measurements_keep_their_values_and_lose_their_plain_digests(upgraded: Upgraded) -> None:
    """The file contains no trace of a digest of private texts, not even in blocks that DuckDB freed."""
    if upgraded.revision < "0004":
        assert fetch(upgraded.after, "FROM measurements") == []
        return
    if upgraded.revision > "0004":  # later revisions have no plain digests
        everything = "FROM measurements ORDER BY ALL"
        assert fetch(upgraded.after, everything) == fetch(upgraded.before, everything) != []
        return
    values = "SELECT kind, metric, eps, seed, value FROM measurements ORDER BY ALL"
    assert fetch(upgraded.after, values) == fetch(upgraded.before, values)
    query = "SELECT DISTINCT digest, settings ->> 'tested' FROM measurements WHERE digest IS NOT NULL"
    before, after = fetch(upgraded.before, query), fetch(upgraded.after, query)
    assert len(before) == len(after) > 3  # equal digests are still equal
    tested = {tested for _, tested in after if tested}
    assert tested and tested <= {digest for digest, _ in after}
    content = upgraded.after.read_bytes()
    ids = fetch(upgraded.before, "SELECT measurement_id FROM measurements WHERE digest IS NOT NULL")
    for plain in {value for row in (*before, *ids) for value in row if value}:
        assert plain.encode() in upgraded.before.read_bytes()
        assert plain.encode() not in content


def test_an_upgrade_keeps_what_somebody_else_put_there(tmp_path: Path) -> None:
    path = unpack(STORED[0], tmp_path)
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE mine (a INTEGER PRIMARY KEY); INSERT INTO mine VALUES (1), (2)")
        connection.execute("CREATE VIEW seen AS SELECT a + 1 AS b FROM mine; CREATE MACRO twice(x) AS 2 * x")
    assert run("--db", path, "upgrade").exit_code == 0
    assert fetch(path, "SELECT twice(b) FROM seen ORDER BY 1") == [(4,), (6,)]
    assert [name.name for name in tmp_path.iterdir()] == [path.name]


def test_an_upgrade_replaces_the_file_not_a_link_to_it(tmp_path: Path) -> None:
    path = unpack(STORED[-1], tmp_path)
    link = tmp_path / "link.duckdb"
    link.symlink_to(path)
    assert run("--db", link, "upgrade").exit_code == 0
    assert link.is_symlink()
    assert fetch(path, "FROM alembic_version") == [(REVISIONS[-1],)]
    other = unpack(STORED[0], tmp_path)
    (tmp_path / "hard.duckdb").hardlink_to(other)
    refused = run("--db", other, "upgrade")
    assert refused.exit_code == 1 and "has several names" in refused.output


def test_an_upgrade_of_a_database_in_use_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_files, "PATIENCE", 0.2)
    path = unpack(STORED[-1], tmp_path)
    before = path.read_bytes()
    with hold_open(path):
        assert "is in use by another process" in run("--db", path, "upgrade").output
    assert path.read_bytes() == before


def test_an_upgraded_database_sanitizes_and_enters_it_in_the_ledger(upgraded: Upgraded, tmp_path: Path) -> None:
    path = Path(shutil.copy(upgraded.after, tmp_path))
    earlier = list_releases(path)
    result = run("--db", path, "sanitize", "The doctor was in Boston.", "--plus", "--dataset", "new")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("The ")
    assert result.stdout.endswith(".\n")
    releases = list_releases(path)
    assert releases[:-1] == earlier
    assert (releases[-1].dataset, releases[-1].mapping, releases[-1].stopwords) == ("new", "apart", 3)
    listed = run("--db", path, "ledger")
    assert listed.exit_code == 0, listed.output
    assert all(release.dataset in listed.output for release in releases)
