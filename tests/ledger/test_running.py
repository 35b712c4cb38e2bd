"""Releases of connections and pipelines are in the ledger before a text leaves, and correct at any end."""

import subprocess
import sys
import textwrap
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path

import duckdb
import pytest
import spacy
from spacy.tokens import Doc

from custext_sql import Dataset, Sanitizer, build_mapping, connect, make_key, register
from custext_sql.errors import BudgetError, CusTextError, KeyFileError, SettingError
from custext_sql.store.ledger import running_entry
from custext_sql.ledger.running import settle_all
from custext_sql.ledger.spending import add_up
from tests.ledger_entries import list_releases
from tests.processes import hold_open, wait_for

QUERY = "SELECT custext_sanitize(text, 0.1, true) FROM (VALUES ('alice bob carol'), ('dave')) t(text)"


NEVER = 3600.0
Pace = Callable[[float], None]


@pytest.fixture
def pace(monkeypatch: pytest.MonkeyPatch) -> Pace:
    """Return a function that sets after how many seconds without a text counts are entered; until then, never."""
    assert running_entry._REST == 1.0
    monkeypatch.setattr(running_entry, "_REST", NEVER)
    return partial(monkeypatch.setattr, running_entry, "_REST")


def states(db: Path) -> list[tuple[str, Decimal | None]]:
    return [(release.state, release.largest_row_eps) for release in list_releases(db)]


@pytest.mark.slow
def test_a_connection_enters_what_it_sanitizes(mapped_db: Path, pace: Pace) -> None:
    with connect(mapped_db, dataset="d") as connection:
        assert list_releases(mapped_db) == []
        connection.execute(QUERY).fetchall()
        assert states(mapped_db) == [("pending", None)]
        pace(0.1)
        wait_for(lambda: states(mapped_db) == [("complete", Decimal("0.3"))])
        pace(NEVER)
        connection.execute(QUERY.replace("dave", "dave erin frank grace")).fetchall()
        assert states(mapped_db) == [("pending", None)]
        settle_all()
        assert states(mapped_db) == [("complete", Decimal("0.4"))]
    [release] = list_releases(mapped_db)
    assert (release.dataset, release.row_count, release.at_least, release.eps) == ("d", 4, True, 0.1)
    with connect(mapped_db, dataset="d") as connection:
        assert connection.execute("SELECT count(*) FROM groups").fetchall() == [(16,)]
        connection.execute(QUERY).fetchall()
    settle_all()
    [total] = add_up(list_releases(mapped_db))
    assert (total.total_eps, total.at_least, total.releases) == (Decimal("0.7"), True, 2)


def test_registered_functions_enter_what_they_do_until_they_are_registered_again(mapped_db: Path) -> None:
    with duckdb.connect() as connection:
        register(connection, mapped_db, dataset="d")
        connection.execute(QUERY).fetchall()
        register(connection, mapped_db)
        connection.execute(QUERY).fetchall()
        register(connection, mapped_db, dataset=Dataset("other"))
        connection.execute(QUERY).fetchall()
    settle_all()
    assert [(release.dataset, release.row_count) for release in list_releases(mapped_db)] == [("d", 2), ("other", 2)]


def test_keyed_calls_are_known_by_their_sum(mapped_db: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "k", mapped_db)
    keyed = "SELECT custext_sanitize_keyed(text, text) FROM (VALUES ('alice bob'), ('dave')) t(text)"
    for _ in range(2):
        with connect(mapped_db, key_file=tmp_path / "k", dataset="d") as connection:
            connection.execute(keyed).fetchall()
    Sanitizer.load(mapped_db, key_file=tmp_path / "k").release(
        ["dave", "alice bob"], records=["dave", "alice bob"], dataset="d"
    )
    settle_all()
    assert len({release.keyed_sum for release in list_releases(mapped_db)}) == 1
    [total] = add_up(list_releases(mapped_db))
    assert (total.releases, total.total_eps) == (3, Decimal(2))


def test_what_the_ledger_refuses_is_refused_at_once(mapped_db: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "k", mapped_db)
    with connect(mapped_db, key_file=tmp_path / "k", dataset="d") as connection:
        connection.execute("SELECT custext_sanitize_keyed('alice', 'a')").fetchall()
    settle_all()
    build_mapping(mapped_db, embedding="small", k=2)
    with pytest.raises(BudgetError, match="--second-mapping"):
        connect(mapped_db, mapping="small-euclidean-k2", dataset="d")
    with pytest.raises(KeyFileError, match="--reuse-key"):
        connect(mapped_db, key_file=tmp_path / "k", dataset="other")
    connect(mapped_db, mapping="small-euclidean-k2", dataset=Dataset("d", second_mapping=True)).close()
    with pytest.raises(SettingError, match="cannot keep budget_total"):
        connect(mapped_db, dataset=Dataset("d", budget_total=5.0))
    with pytest.raises(SettingError, match="must be a name"):
        connect(mapped_db, dataset=Dataset())


def test_a_call_that_fails_is_no_release_and_stops_no_other(mapped_db: Path) -> None:
    with connect(mapped_db, dataset="one") as one, connect(mapped_db, dataset="two") as two:
        two.execute(QUERY).fetchall()
        for _ in range(2):
            with pytest.raises(duckdb.Error, match="eps must"):
                one.execute(QUERY.replace("0.1", "1000")).fetchall()
            settle_all()
            assert [release.dataset for release in list_releases(mapped_db)] == ["two"]
        one.execute(QUERY).fetchall()
        with pytest.raises(duckdb.Error, match="eps must"):
            one.execute(QUERY.replace("0.1", "1000")).fetchall()
        settle_all()
    assert states(mapped_db) == [("complete", Decimal("0.3"))] * 2
    assert [release.eps for release in list_releases(mapped_db)] == [0.1, 0.1]


@pytest.mark.slow
def test_docs_cut_in_another_way_are_the_same_draws_and_chosen_in_another_way_others(
    mapped_db: Path, tmp_path: Path
) -> None:
    make_key(tmp_path / "k", mapped_db)
    listed = {"@misc": "custext.words.v1", "words": ["alice", "bob"]}
    both = ["alice", "bob"]
    for words, choice in ((both, None), (both, None), (["alice bob"], None), (both, {**listed, "words": ["bob"]})):
        nlp = spacy.blank("en")
        config = {"database": str(mapped_db), "key_file": str(tmp_path / "k"), "dataset": "d", "sensitive": choice}
        nlp.add_pipe("custext", config=config)
        doc = Doc(nlp.vocab, words=words, spaces=[number < len(words) - 1 for number in range(len(words))])
        doc._.custext_record = "a"
        nlp(doc)
    settle_all()
    sums = [release.keyed_sum for release in list_releases(mapped_db)]
    assert sums[0] == sums[1] == sums[2] != sums[3]


@pytest.mark.slow
def test_no_text_leaves_if_the_ledger_cannot_be_written(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custext_sql.store.ledger.table._PATIENCE", 0.3)
    sanitizer = Sanitizer.load(mapped_db)
    with connect(mapped_db, dataset="d") as connection, hold_open(mapped_db, read_only=True):
        with pytest.raises(duckdb.Error, match="in use by another process"):
            connection.execute(QUERY).fetchall()
        with pytest.raises(CusTextError, match="in use by another process"):
            sanitizer.release(["alice"], dataset="d")
    assert list_releases(mapped_db) == []


SCRIPT = """
import os, sys, signal, time
import custext_sql
from custext_sql.store.ledger import running_entry
running_entry._REST = 3600.0
connection = custext_sql.connect(sys.argv[1], dataset="d")
connection.execute(sys.argv[2]).fetchall()
if sys.argv[3] == "attach":
    other = custext_sql.connect(sys.argv[1])
    time.sleep(2.0)
if sys.argv[3] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[3] == "raise":
    raise SystemExit(3)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("return", ("complete", Decimal("0.3"))),
        ("raise", ("complete", Decimal("0.3"))),
        (
            "attach",
            ("complete", Decimal("0.3")),
        ),  # on a connection that nobody closes
        ("kill", ("pending", None)),
    ],
)
def test_a_process_that_ends_leaves_the_truth(mapped_db: Path, end: str, expected: tuple[str, Decimal | None]) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, mapped_db, QUERY, end], capture_output=True, check=False)
    assert states(mapped_db) == [expected]
    assert done.stderr == b""


@pytest.mark.slow
def test_a_release_waits_until_the_ledger_can_be_written(mapped_db: Path, pace: Pace) -> None:
    with connect(mapped_db, dataset="d") as connection:
        connection.execute(QUERY).fetchall()
        with connect(mapped_db):
            settle_all()
            assert states(mapped_db) == [("pending", None)]
        pace(0.1)
        wait_for(lambda: states(mapped_db) == [("complete", Decimal("0.3"))])


@pytest.mark.usefixtures("pace")
def test_a_pipeline_enters_its_docs(mapped_db: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("custext", config={"database": str(mapped_db), "eps": 0.5, "dataset": "notes"})
    list(nlp.pipe(["alice bob carol", "dave"]))
    assert states(mapped_db) == [("pending", None)]
    nlp("alice zzz 12")
    settle_all()
    [release] = list_releases(mapped_db)
    assert (release.dataset, release.row_count, release.sampled, release.at_least) == ("notes", 3, 5, True)
    assert (release.largest_row_eps, release.unknown_masked, release.numbers) == (Decimal("1.5"), 1, 1)
    copied = spacy.blank("en").from_config(nlp.config)
    copied("alice")
    settle_all()
    [total] = add_up(list_releases(mapped_db))
    assert (total.releases, total.total_eps) == (2, Decimal(2))


def test_a_config_may_say_more_of_a_dataset(mapped_db: Path) -> None:
    build_mapping(mapped_db, embedding="small", k=2)
    Sanitizer.load(mapped_db).release(["alice"], dataset="notes")
    config = {"database": str(mapped_db), "mapping": "small-euclidean-k2"}
    with pytest.raises(BudgetError, match="--second-mapping"):
        spacy.blank("en").add_pipe("custext", config={**config, "dataset": "notes"})
    spacy.blank("en").add_pipe("custext", config={**config, "dataset": {"name": "notes", "second_mapping": True}})
    for wrong in ({"nam": "notes"}, {"name": "notes", "budget_total": 3.0}, {}):
        with pytest.raises(SettingError, match="dataset"):
            spacy.blank("en").add_pipe("custext", config={**config, "dataset": wrong})


PIPELINE = """
import multiprocessing, sys
import spacy

def main():
    multiprocessing.set_start_method(sys.argv[1])
    nlp = spacy.blank("en")
    nlp.add_pipe("custext", config={"database": sys.argv[2], "dataset": "notes"})
    texts = ["alice bob carol dave"] * 30 + ["alice"] * 30
    if sys.argv[3] == "also here":
        nlp("alice bob")
    assert len(list(nlp.pipe(texts, n_process=2, batch_size=5))) == 60

if __name__ == "__main__":
    main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("method", "here"), [("fork", "also here"), ("spawn", "workers only")])
def test_each_process_of_a_pipeline_enters_its_part(mapped_db: Path, tmp_path: Path, method: str, here: str) -> None:
    """Each part has other rows, so together they have spent as much as the largest part."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(PIPELINE))
    done = subprocess.run(
        [sys.executable, script, method, mapped_db, here], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    parts = list_releases(mapped_db)
    assert {part.state for part in parts} == {"complete"}
    assert len(parts) == (3 if here == "also here" else 2)
    assert len({part.run_id for part in parts}) == 1 and len({part.release_id for part in parts}) == len(parts)
    assert sum(part.row_count or 0 for part in parts) == (61 if here == "also here" else 60)
    [total] = add_up(parts)
    assert (total.total_eps, total.at_least) == (Decimal(4), True)
