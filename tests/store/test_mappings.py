"""Stored mappings are read exactly as they were built, or refused."""

from pathlib import Path

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

from custext_sql import (
    CusTextError,
    build_mapping,
    drop_embedding,
    drop_mapping,
    list_mappings,
    load_embeddings,
    load_mapping,
    use_mapping,
)
from custext_sql.cli import main
from custext_sql.mapping.mapping import fingerprint
from custext_sql.mapping.similarity import STEPS
from custext_sql.store import mappings
from custext_sql.store.contents import list_embeddings

HIS = "(group_id, position) = (SELECT (group_id, position) FROM groups WHERE token = 'bob')"  # the row of bob's scores
CHANGES = {
    "the least change of a score": f"UPDATE score_rows SET units = [units[1] - 1] || units[2:] WHERE {HIS}",
    "a score out of range": f"UPDATE score_rows SET units = [-{STEPS} - 1] || units[2:] WHERE {HIS}",
    "a score that is missing": f"UPDATE score_rows SET units = [NULL] || units[2:] WHERE {HIS}",
    "a score removed": f"UPDATE score_rows SET units = units[2:] WHERE {HIS}",
    "a score moved to another word": "UPDATE score_rows SET units = CASE position WHEN 0 THEN units[2:] "
    "ELSE [units[1]] || units END WHERE group_id = 0 AND position < 2",
    "scores exchanged": f"UPDATE score_rows SET units = list_reverse(units) WHERE {HIS}",
    "a row removed": f"DELETE FROM score_rows WHERE {HIS}",
    "a row twice": f"INSERT INTO score_rows FROM score_rows WHERE {HIS}",
    "a row twice in place of another": "UPDATE score_rows SET position = 1 WHERE position = 0",
    "rows exchanged": "UPDATE score_rows SET position = 1 - position WHERE position < 2 AND group_id = 0",
    "two words exchanged": "UPDATE groups SET token = CASE token WHEN 'bob' THEN 'judy' ELSE 'bob' END "
    "WHERE token IN ('bob', 'judy')",
    "two groups exchanged": "UPDATE groups SET group_id = 1 - group_id WHERE group_id < 2; "
    "UPDATE score_rows SET group_id = 1 - group_id WHERE group_id < 2",
    "a word removed": "DELETE FROM groups WHERE token = 'bob'",
    "a word twice": "INSERT INTO groups SELECT mapping, token, 0, 4, 99 FROM groups WHERE token = 'bob'",
    "a word in another group": "UPDATE groups SET group_id = (group_id + 1) % 4 WHERE token = 'bob'",
    "a negative group": "UPDATE groups SET group_id = -1 WHERE group_id = 0",
    "a negative rank": "UPDATE groups SET rank = -1 WHERE token = 'bob'",
    "two words of the same rank": "UPDATE groups SET rank = 0 WHERE token = 'bob'",
    "two ranks exchanged": "UPDATE groups SET rank = 1 - rank WHERE rank < 2",
    "a rank that is missing": "ALTER TABLE groups ALTER rank DROP NOT NULL; "
    "UPDATE groups SET rank = NULL WHERE rank = 0",
    "a word that is missing": "ALTER TABLE groups ALTER token DROP NOT NULL; "
    "UPDATE groups SET token = NULL WHERE token = 'bob'",
    "ranks of another type": "ALTER TABLE groups ALTER rank TYPE BIGINT",
    "scores of another type": "ALTER TABLE score_rows ALTER units TYPE DOUBLE[]",
    "no groups promised": "UPDATE mappings SET group_count = 0",
    "another fingerprint": "UPDATE mappings SET fingerprint = 'f00'",
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_database_is_refused(mapped_db: Path, change: str) -> None:
    before = load_mapping(mapped_db)
    with duckdb.connect(mapped_db) as connection:
        connection.execute(CHANGES[change])
    with pytest.raises(CusTextError, match="mapping small-euclidean-k4: .* cannot be used"):
        load_mapping(mapped_db)
    if "another type" not in change:
        build_mapping(mapped_db, embedding="small", k=4, replace=True)
        assert load_mapping(mapped_db).info.fingerprint == before.info.fingerprint


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("a score that is missing", "a score is NULL"),
        ("a score moved to another word", "more or fewer scores than its group has words"),
        ("a row twice in place of another", "rows of scores do not match"),
        ("a score out of range", "a score is not between -1 and 1"),
        ("scores exchanged", "fingerprint mismatch"),
        ("two ranks exchanged", "the ranks of words differ"),
        ("a rank that is missing", "a column has NULLs, or another type"),
        ("ranks of another type", "a column has NULLs, or another type"),
        ("scores of another type", "a column has NULLs, or another type"),
    ],
)
def test_what_was_changed_is_named(mapped_db: Path, change: str, reason: str) -> None:
    with duckdb.connect(mapped_db) as connection:
        connection.execute(CHANGES[change])
    with pytest.raises(CusTextError, match=reason):
        load_mapping(mapped_db)


def test_building_a_changed_mapping_again_repairs_it(mapped_db: Path) -> None:
    with duckdb.connect(mapped_db) as connection:
        connection.execute(CHANGES["a row removed"])
    assert not build_mapping(mapped_db, embedding="small", k=4).already_there
    assert load_mapping(mapped_db).info.k == 4


def test_a_changed_mapping_names_the_command_that_makes_the_same_one_again(loaded_db: Path) -> None:
    options = {"k": 3, "measure": "cosine", "normalization": "word", "order": "random", "seed": 9, "name": "mine"}
    options |= {"limit": 14, "grouping": "refined"}
    before = build_mapping(loaded_db, embedding="small", **options).info  # type: ignore[arg-type]
    with duckdb.connect(loaded_db) as connection:
        connection.execute(CHANGES["a row removed"])
    with pytest.raises(CusTextError, match="rebuild it with: custext (.*)$") as caught:
        load_mapping(loaded_db)
    command = str(caught.value).partition("rebuild it with: custext ")[2]
    assert CliRunner().invoke(main, ["--db", str(loaded_db), *command.split()]).exit_code == 0
    assert load_mapping(loaded_db, "mine").info.fingerprint == before.fingerprint


def test_rows_may_lie_in_any_order(mapped_db: Path) -> None:
    before = load_mapping(mapped_db)
    with duckdb.connect(mapped_db) as connection:
        for table in ("groups", "score_rows"):
            connection.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {table} ORDER BY random()")
    after = load_mapping(mapped_db)
    assert after.words == before.words
    assert after.scores.tolist() == before.scores.tolist()


def test_scores_are_stored_in_many_batches_alike(loaded_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = build_mapping(loaded_db, embedding="small", k=5, name="one").info.fingerprint
    monkeypatch.setattr(mappings, "_CELLS", 7)
    assert build_mapping(loaded_db, embedding="small", k=5, name="many").info.fingerprint == one
    assert load_mapping(loaded_db, "many").scores.tolist() == load_mapping(loaded_db, "one").scores.tolist()


def test_the_first_mapping_is_the_default_until_another_is_used_or_it_is_dropped(mapped_db: Path) -> None:
    build_mapping(mapped_db, embedding="small", k=8)
    assert load_mapping(mapped_db).info.k == 4
    use_mapping(mapped_db, name="small-euclidean-k8")
    assert load_mapping(mapped_db).info.k == 8 and load_mapping(mapped_db, "small-euclidean-k4").info.k == 4
    use_mapping(mapped_db, name="small-euclidean-k4")
    drop_mapping(mapped_db, name="small-euclidean-k4")
    with pytest.raises(CusTextError, match=r"choose one with: custext use NAME \(mappings: small-euclidean-k8\)"):
        load_mapping(mapped_db)
    build_mapping(mapped_db, embedding="small", k=2)
    assert load_mapping(mapped_db).info.k == 2
    with duckdb.connect(mapped_db) as connection:
        for table in ("groups", "score_rows"):
            rows = connection.execute(f"SELECT DISTINCT mapping FROM {table} ORDER BY mapping").fetchall()
            assert rows == [("small-euclidean-k2",), ("small-euclidean-k8",)]


def test_a_database_without_mappings_names_the_command(loaded_db: Path) -> None:
    with pytest.raises(CusTextError, match="the database has no mapping yet; build one with: custext map"):
        load_mapping(loaded_db)


def test_a_mapping_or_word_that_is_not_there_suggests_the_nearest(mapped_db: Path) -> None:
    for action in (use_mapping, drop_mapping):
        with pytest.raises(CusTextError, match="'small-euclidean-k' does not exist; did you mean 'small-euclidean-k4'"):
            action(mapped_db, name="small-euclidean-k")
    with pytest.raises(CusTextError, match="^the word is not in mapping 'small-euclidean-k4'; did you mean 'alice'"):
        load_mapping(mapped_db).find_row("Alyce")


def test_a_mapping_outlives_its_embedding(mapped_db: Path) -> None:
    before = load_mapping(mapped_db)
    drop_embedding(mapped_db, name="small")
    assert load_mapping(mapped_db).info == before.info
    assert list_mappings(mapped_db)[1] == before.info.name


def test_mappings_and_embeddings_are_listed_in_the_order_they_were_made(mapped_db: Path) -> None:
    """This holds even if their times, which are stored in whole seconds, are equal."""
    for name in ("c", "a", "b"):
        build_mapping(mapped_db, embedding="small", k=4, name=name)
        load_embeddings(mapped_db, (["bob", "eve"], np.eye(2)), name=name)
    with duckdb.connect(mapped_db) as connection:
        connection.execute("UPDATE mappings SET created_at = TIMESTAMP '2024-01-01'")
        connection.execute("UPDATE embeddings SET created_at = TIMESTAMP '2024-01-01'")
    assert [info.name for info in list_mappings(mapped_db)[0]] == ["small-euclidean-k4", "c", "a", "b"]
    assert [embedding.name for embedding in list_embeddings(mapped_db)] == ["small", "c", "a", "b"]


def test_the_fingerprint_tells_every_part_apart() -> None:
    words, sizes, scores = ("a", "b", "c", "d"), np.array([2, 2]), np.zeros(8, dtype=np.int32)
    other = scores.copy()
    other[7] = 1
    prints = {
        fingerprint(words, sizes, scores),
        fingerprint(("a", "b", "c", "e"), sizes, scores),
        fingerprint(("b", "a", "c", "d"), sizes, scores),
        fingerprint(words, np.array([4]), scores),
        fingerprint(words, sizes, other),
    }
    assert len(prints) == 5
