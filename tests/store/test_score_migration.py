"""Scores of earlier versions become lists; an upgrade never turns a mapping that was changed into a valid one."""

from pathlib import Path

import duckdb
import pytest

from custext_sql import CusTextError, load_mapping
from tests.cli.test_commands import run
from tests.store.test_migrations import fetch
from tests.store.test_stored_databases import unpack

DOCTOR = "mapping = 'plain' AND input = 'doctor'"
CHANGES = {
    "the least change of a score": f"UPDATE scores SET score = score - {2**-20} WHERE {DOCTOR} AND output = 'doctor'",
    "a score that is no multiple": f"UPDATE scores SET score = score + {2**-22} WHERE {DOCTOR}",
    "a score out of range": f"UPDATE scores SET score = -1.5 WHERE {DOCTOR}",
    "a score far out of range": f"UPDATE scores SET score = -1e300 WHERE {DOCTOR}",
    "a score that is no number": f"UPDATE scores SET score = 'nan' WHERE {DOCTOR}",
    "a score removed": f"DELETE FROM scores WHERE {DOCTOR} AND output = 'doctor'",
    "all scores of a word removed": f"DELETE FROM scores WHERE {DOCTOR}",
    "a score twice": f"INSERT INTO scores FROM scores WHERE {DOCTOR} AND output = 'doctor'",
    "one score in place of another": f"UPDATE scores SET output = 'doctor' WHERE {DOCTOR}",
    "scores of a stranger": f"UPDATE scores SET input = 'zoe' WHERE {DOCTOR}",
    "scores of a stranger added": f"INSERT INTO scores SELECT * REPLACE ('zoe' AS input) FROM scores WHERE {DOCTOR}",
    "a stranger as output": f"UPDATE scores SET output = 'zoe' WHERE {DOCTOR} AND output = 'doctor'",
    "a stranger as output added": f"INSERT INTO scores SELECT * REPLACE ('zoe' AS output) FROM scores WHERE {DOCTOR}",
    "scores in another group": f"UPDATE scores SET group_id = group_id + 1 WHERE {DOCTOR}",
    "a word renamed in groups": "UPDATE groups SET token = 'zoe' WHERE mapping = 'plain' AND token = 'doctor'",
    "a word removed": "DELETE FROM groups WHERE mapping = 'plain' AND token = 'doctor'",
    "a word twice": "INSERT INTO groups FROM groups WHERE mapping = 'plain' AND token = 'doctor'",
    "positions exchanged": "UPDATE groups SET position = 1 - position WHERE mapping = 'plain' AND position < 2",
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_mapping_that_was_changed_is_still_refused_after_an_upgrade(tmp_path: Path, change: str) -> None:
    path = unpack("0006", tmp_path)
    with duckdb.connect(path) as connection:
        connection.execute(CHANGES[change])
    assert run("--db", path, "upgrade").exit_code == 0
    with pytest.raises(CusTextError, match=r"mapping plain: .* cannot be used"):
        load_mapping(path, "plain")
    assert load_mapping(path, "apart").info.name == "apart"  # the other one is as good as before


def test_the_view_has_every_score_of_the_table_that_it_replaces(tmp_path: Path) -> None:
    path = unpack("0006", tmp_path)
    query = "SELECT mapping, group_id, input, output, score FROM scores ORDER BY ALL"
    before = fetch(path, query)
    assert run("--db", path, "upgrade").exit_code == 0
    assert fetch(path, query) == before != []


def test_scores_may_have_lain_in_any_order(tmp_path: Path) -> None:
    path = unpack("0006", tmp_path)
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TEMP TABLE shuffled AS FROM scores ORDER BY random()")
        connection.execute("DELETE FROM scores; INSERT INTO scores FROM shuffled")
    assert run("--db", path, "upgrade").exit_code == 0
    assert load_mapping(path, "plain").info.name == "plain"


@pytest.mark.parametrize("name", ["scores", "groups", "mappings"])
def test_an_index_of_the_user_does_not_stop_an_upgrade(tmp_path: Path, name: str) -> None:
    path = unpack("0006", tmp_path)
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE INDEX mine ON {name} ({'embedding' if name == 'mappings' else 'mapping'})")
    result = run("--db", path, "upgrade")
    assert result.exit_code == 0, result.output
    assert load_mapping(path, "plain").info.name == "plain"


def test_a_table_in_the_way_is_an_error_and_nothing_is_lost(tmp_path: Path) -> None:
    path = unpack("0006", tmp_path)
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE score_rows (mine VARCHAR)")
    before = path.read_bytes()
    result = run("--db", path, "upgrade")
    assert result.exit_code == 1
    assert "cannot upgrade" in result.output and "nothing was changed" in result.output
    assert path.read_bytes() == before


def test_ranks_come_from_the_vector_file_and_are_protected(tmp_path: Path) -> None:
    path = unpack("0006", tmp_path)
    assert run("--db", path, "upgrade").exit_code == 0
    mapping = load_mapping(path, "plain")
    entries = [token for (token,) in fetch(path, "SELECT token FROM tokens ORDER BY position")]
    assert [entries[rank] for rank in mapping.ranks.tolist()] == list(mapping.words)
    with duckdb.connect(path) as connection:
        connection.execute("UPDATE groups SET rank = 1000 - rank")
    with pytest.raises(CusTextError, match="the ranks of words differ"):
        load_mapping(path, "plain")
