"""Releases of connections and pipelines are in the ledger before a text leaves, and correct at any end."""

import subprocess
import sys
import textwrap
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
import spacy
from spacy.tokens import Doc

from custext_sql import Dataset, Sanitizer, build_mapping, connect, load_mapping, make_key, register
from custext_sql.errors import BudgetError, DatabaseError, KeyFileError, SettingError
from custext_sql.ledger import places
from custext_sql.ledger.release import settle_all
from tests.conftest import WORDS
from tests.ledger_entries import list_releases, list_totals, peek_releases
from tests.processes import hold_ledger

QUERY = "SELECT custext_sanitize(text, 0.1, true) FROM (VALUES ('alice bob carol'), ('dave')) t(text)"


def states(db: Path) -> list[tuple[str, Decimal | None]]:
    """Return the releases as another process sees them."""
    return [(release.state, release.largest_row_eps) for release in peek_releases(db)]


def test_a_connection_enters_what_it_sanitizes(mapped_db: Path) -> None:
    with connect(mapped_db, dataset="d") as connection:
        assert list_releases(mapped_db) == []
        connection.execute(QUERY).fetchall()
        assert states(mapped_db) == [("pending", None)]
        [release] = list_releases(mapped_db)  # this process brings it up to date before it reads the ledger
        assert (release.state, release.largest_row_eps) == ("complete", Decimal("0.3"))
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
    [total] = list_totals(mapped_db)
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


def test_keyed_calls_and_releases_of_the_same_records_count_once(mapped_db: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "k", mapped_db)
    keyed = "SELECT custext_sanitize_keyed(text, text) FROM (VALUES ('alice bob'), ('dave')) t(text)"
    for _ in range(2):
        with connect(mapped_db, key_file=tmp_path / "k", dataset="d") as connection:
            connection.execute(keyed).fetchall()
    Sanitizer.load(mapped_db, key_file=tmp_path / "k").release(
        ["dave", "alice bob"], records=["dave", "alice bob"], dataset="d"
    )
    settle_all()
    assert [release.by_record for release in list_releases(mapped_db)] == [True] * 3
    [total] = list_totals(mapped_db)
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


def test_docs_cut_in_another_way_are_the_same_draws_and_chosen_in_another_way_others(
    mapped_db: Path, tmp_path: Path
) -> None:
    make_key(tmp_path / "k", mapped_db)
    group = load_mapping(mapped_db).find_row("bob")[0]  # within it, bob does not stand alone
    both = [next(word for word in WORDS if word not in group), "bob"]
    listed = {"@misc": "custext.words.v1", "words": list(group)}
    spent = []
    for words, choice in ((both, None), (both, None), ([" ".join(both)], None), (both, listed)):
        nlp = spacy.blank("en")
        config = {"database": str(mapped_db), "key_file": str(tmp_path / "k"), "dataset": "d", "sensitive": choice}
        nlp.add_pipe("custext", config=config)
        doc = Doc(nlp.vocab, words=words, spaces=[number < len(words) - 1 for number in range(len(words))])
        doc._.custext_record = "a"
        nlp(doc)
        spent += [total.total_eps for total in list_totals(mapped_db)]
    assert spent == [Decimal(2), Decimal(2), Decimal(2), Decimal(3)]
    assert len(list_releases(mapped_db)) == 4


SCRIPT = """
import os, sys, signal
import custext_sql
connection = custext_sql.connect(sys.argv[1], dataset="d")
connection.execute(sys.argv[2]).fetchall()
if sys.argv[3] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[3] == "raise":
    raise SystemExit(3)
if sys.argv[3] == "close":
    connection.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("return", ("complete", Decimal("0.3"))),
        ("raise", ("complete", Decimal("0.3"))),
        ("close", ("complete", Decimal("0.3"))),
        ("kill", ("pending", None)),
    ],
)
def test_a_process_that_ends_leaves_the_truth(mapped_db: Path, end: str, expected: tuple[str, Decimal | None]) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, mapped_db, QUERY, end], capture_output=True, check=False)
    assert states(mapped_db) == [expected]
    assert done.stderr == b""


ENDING = """
import sys, threading, time
from pathlib import Path
from custext_sql import Sanitizer
from custext_sql.ledger import places
from custext_sql.ledger.release import check_running
from tests.ledger.test_running_release import draw
from tests.processes import hold_ledger

places.PATIENCE = 0.3
release = Sanitizer.load(sys.argv[1]).open_release(check_running("d"), runs=True)
draw(release, ["alice bob"])
if sys.argv[2] == "locked":
    held = hold_ledger(Path(sys.argv[1]))
    held.__enter__()
else:
    inside = threading.Event()

    def draw_on():
        with release.drawing():
            inside.set()
            time.sleep(600)

    threading.Thread(target=draw_on, daemon=True).start()
    inside.wait()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "reason"), [("locked", "another process is"), ("drawing", "something was still drawing when the process")]
)
def test_a_process_that_cannot_settle_says_so(mapped_db: Path, end: str, reason: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING, mapped_db, end], capture_output=True, text=True, check=False, timeout=300
    )
    assert "PrivacyWarning: a release stays pending in the ledger: " in done.stderr and reason in done.stderr
    assert "Traceback" not in done.stderr
    assert states(mapped_db) == [("pending", None)]


FORKING = """
import os, sys
from custext_sql import Sanitizer
from custext_sql.ledger.release import check_running
from tests.ledger.test_running_release import draw

release = Sanitizer.load(sys.argv[1]).open_release(check_running("d"), runs=True, at_least=True)
draw(release, ["alice bob"])
child = os.fork()
if not child:
    if sys.argv[2] != "idle":
        draw(release, ["alice", "carol dave erin"])
    if sys.argv[2] == "killed":
        os._exit(0)
    sys.exit()
os.waitpid(child, 0)
draw(release, ["frank"])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "of_child"),
    [("returns", [("complete", Decimal(3), 2)]), ("killed", [("pending", None, None)]), ("idle", [])],
)
def test_a_fork_has_an_entry_of_its_own(
    mapped_db: Path, end: str, of_child: list[tuple[str, Decimal | None, int | None]]
) -> None:
    """What the parent drew counts once, and the parent does not wait for the child's end."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING, mapped_db, end], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = [(entry.state, entry.largest_row_eps, entry.row_count) for entry in peek_releases(mapped_db)]
    assert found == [("complete", Decimal(2), 2), *of_child]
    assert len({entry.run_id for entry in peek_releases(mapped_db)}) == len(found)


def test_a_pipeline_enters_its_docs(mapped_db: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("custext", config={"database": str(mapped_db), "eps": 0.5, "dataset": "notes"})
    list(nlp.pipe(["alice bob carol", "dave"]))
    assert states(mapped_db) == [("pending", None)]
    nlp("alice zzz 12")
    settle_all()
    [release] = list_releases(mapped_db)
    assert (release.dataset, release.row_count, release.replaced, release.at_least) == ("notes", 3, 5, True)
    assert (release.largest_row_eps, release.unknown_masked, release.numbers) == (Decimal("1.5"), 1, 1)
    copied = spacy.blank("en").from_config(nlp.config)
    copied("alice")
    settle_all()
    [total] = list_totals(mapped_db)
    assert (total.releases, total.total_eps) == (2, Decimal(2))


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
    [total] = list_totals(mapped_db)
    assert (total.total_eps, total.at_least) == (Decimal(4), True)


def test_what_cannot_be_entered_does_not_leave_and_what_left_is_settled_later(
    mapped_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "PATIENCE", 0.1)
    sanitizer, nlp = Sanitizer.load(mapped_db), spacy.blank("en")
    nlp.add_pipe("custext", config={"database": str(mapped_db), "dataset": "d"})
    with connect(mapped_db, dataset="d") as connection, connect(mapped_db, dataset="d") as other:
        connection.execute(QUERY).fetchall()
        calls: list[Callable[[], object]] = [settle_all, lambda: list_releases(mapped_db), lambda: nlp("alice")]
        calls.append(lambda: sanitizer.release(["alice"], dataset="d"))
        with hold_ledger(mapped_db):
            with pytest.raises(duckdb.Error, match="cannot write the ledger .*: another process"):
                other.execute(QUERY).fetchall()
            for call in calls:
                with pytest.raises(DatabaseError, match="cannot write the ledger .*: another process"):
                    call()
            assert states(mapped_db) == [("pending", None)]
        settle_all()
        assert states(mapped_db) == [("complete", Decimal("0.3"))]
