"""What a key has spent on each record equals a plain sum over its different texts, whoever released them, and when."""

import json
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, closing
from datetime import timedelta
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custext_sql import Dataset, Sanitizer, make_key, read_ledger
from custext_sql.errors import BudgetError
from custext_sql.ledger import records as records_module
from custext_sql.ledger.entries import now
from custext_sql.ledger.places import LedgerFile
from custext_sql.ledger.records import SpentRecords
from custext_sql.ledger.schema import read_keyed
from custext_sql.ledger.schema import records as records_table
from custext_sql.sanitizer.tally import DRAWN, RecordLog
from tests.conftest import WORDS
from tests.processes import start

EPS = Decimal("0.1")
SCOPE = ("key", "data")

Draw = tuple[int, int]  # a record and a text


def find_digest(number: int) -> int:
    """Return the digest of a record: the smallest and the largest one, and others anywhere between."""
    known = {0: 0, 1: 2**64 - 1, 2: 255, 3: 255 << 56}
    return known.get(number, int.from_bytes(blake2b(bytes([number]), digest_size=8).digest(), "little"))


def count_words(text: int) -> int:
    return text % 7 + 1


def make_log(draws: Sequence[Draw]) -> RecordLog:
    log = RecordLog()
    rows = [(find_digest(record), text, count_words(text)) for record, text in draws]
    for start_at in range(0, len(rows), 3):  # in blocks
        log.add(np.array(rows[start_at : start_at + 3], dtype=DRAWN))
    return log


class PlainSum:
    """Adds up the words of the different texts of each record."""

    def __init__(self) -> None:
        self._texts: defaultdict[object, dict[object, int]] = defaultdict(dict)

    def add(self, record: object, text: object, words: int) -> None:
        self._texts[record][text] = words

    @property
    def most(self) -> int:
        return max((sum(texts.values()) for texts in self._texts.values()), default=0)


def enter(place: LedgerFile, draws: Sequence[Draw], scope: tuple[str, str] = SCOPE) -> SpentRecords:
    """Count draws and make them count."""
    spent = SpentRecords(place, scope, make_log(draws), EPS)
    spent.measure()
    with place.writing() as connection:
        assert spent.enter(connection)
    return spent


def find_spent(place: LedgerFile) -> dict[tuple[str, str], Decimal]:
    with place.reading() as connection:
        return {} if connection is None else read_keyed(connection)


def fetch(place: LedgerFile, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(str(place))) as connection:
        return connection.execute(query).fetchall()


def list_parts(place: LedgerFile) -> list[str]:
    """Return the parts that count, of all keys."""
    return [part for (parts,) in fetch(place, "SELECT parts FROM custext_keyed") for part in json.loads(parts)]


def list_kept(place: LedgerFile) -> set[str]:
    """Return the parts whose digests are there."""
    return {part for (part,) in fetch(place, "SELECT part FROM custext_records")}


@pytest.fixture
def place(db_path: Path) -> LedgerFile:
    return LedgerFile.locate(None, db_path)


@pytest.fixture
def few_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let three parts be joined, and two draws fill a row of the table."""
    monkeypatch.setattr(records_module, "MOST_PARTS", 3)
    monkeypatch.setattr(records_module, "ROW_SIZE", 2)


some_draws = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12)
some_releases = st.lists(st.tuples(st.sampled_from(["one", "two"]), some_draws), min_size=3, max_size=6)


@pytest.mark.usefixtures("few_parts")
@settings(max_examples=6)
@given(some_releases, st.randoms(use_true_random=False))
def test_records_add_up_as_in_a_plain_sum(releases: list[tuple[str, list[Draw]]], chooser: random.Random) -> None:
    """By two keys, in whichever order, while parts are joined again and again."""
    totals = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            place = LedgerFile.locate(Path(folder) / "a.sqlite")
            plain = {"one": PlainSum(), "two": PlainSum()}
            for key, draws in releases:
                for record, text in draws:
                    plain[key].add(record, text, count_words(text))
                spent = enter(place, draws, (key, "data"))
                assert spent.largest == EPS * plain[key].most
                assert find_spent(place).get((key, "data")) == spent.largest
            totals.append(find_spent(place))
            found = {
                (key, find_digest(record), text, count_words(text)) for key, draws in releases for record, text in draws
            }
            assert list_draws(place) == sorted(draw for _, *draw in found), "a draw was lost, or kept twice"
            assert list_kept(place) <= set(list_parts(place))
        chooser.shuffle(releases)
    assert totals[0] == totals[1]


def list_draws(place: LedgerFile) -> list[list[int]]:
    """Return the draws that are kept, of all keys: the digest of the record, that of the text, and its words."""
    rows = fetch(place, "SELECT drawn FROM custext_records")
    return sorted(list(map(int, draw)) for (drawn,) in rows for draw in np.frombuffer(drawn, dtype=DRAWN))


@pytest.mark.usefixtures("few_parts")
def test_the_fourth_release_joins_the_others(place: LedgerFile) -> None:
    """So that a release every night costs no more after years than after a month."""
    plain = PlainSum()
    for night in range(9):
        plain.add(4, night, count_words(night))
        plain.add(night, 7, count_words(7))
        assert enter(place, [(4, night), (night, 7)]).largest == EPS * plain.most
        assert len(list_parts(place)) == night % 3 + 1
        assert list_kept(place) == set(list_parts(place))
    assert enter(place, [(4, night) for night in range(9)]).largest == EPS * plain.most


@pytest.mark.usefixtures("few_parts")
@pytest.mark.parametrize("earlier", [0, 2, 3])
def test_a_release_that_another_overtook_is_counted_again(place: LedgerFile, earlier: int) -> None:
    """Whether or not one of the two joins all parts."""
    plain = PlainSum()
    for number in range(earlier):
        enter(place, [(4, number)])
        plain.add(4, number, count_words(number))
    slow = SpentRecords(place, SCOPE, make_log([(4, 20), (5, 20)]), EPS)
    slow.measure()
    enter(place, [(4, 21)])
    with place.writing() as connection:
        assert not slow.enter(connection)
    assert find_spent(place)[SCOPE] == EPS * (plain.most + count_words(21))
    slow.measure()
    with place.writing() as connection:
        assert slow.enter(connection)
    for text in (20, 21):
        plain.add(4, text, count_words(text))
    assert slow.largest == find_spent(place)[SCOPE] == EPS * plain.most
    assert enter(place, [(5, 21)]).largest == slow.largest
    assert len(list_draws(place)) == earlier + 4


def test_digests_that_were_taken_for_abandoned_ones_are_written_again(place: LedgerFile) -> None:
    """By a process whose clock is days ahead, for example."""
    spent = SpentRecords(place, SCOPE, make_log([(1, 4)]), EPS)
    spent.measure()
    with place.writing() as connection:
        connection.execute(records_table.delete())
    with place.writing() as connection:
        assert not spent.enter(connection)
    spent.measure()
    with place.writing() as connection:
        assert spent.enter(connection)
    assert enter(place, [(1, 5)]).largest == EPS * (count_words(4) + count_words(5))


def test_releases_by_other_keys_or_of_other_data_do_not_overtake(place: LedgerFile) -> None:
    slow = SpentRecords(place, SCOPE, make_log([(4, 20)]), EPS)
    slow.measure()
    enter(place, [(4, 21)], ("other key", "data"))
    enter(place, [(4, 22)], ("key", "other data"))
    with place.writing() as connection:
        assert slow.enter(connection)
    assert find_spent(place) == {
        SCOPE: EPS * count_words(20),
        ("other key", "data"): EPS * count_words(21),
        ("key", "other data"): EPS * count_words(22),
    }


def test_what_a_killed_process_left_is_deleted_after_a_day(place: LedgerFile) -> None:
    old, killed, running = (SpentRecords(place, SCOPE, make_log([(4, text)]), EPS) for text in (1, 2, 3))
    old.measure()
    with place.writing() as connection:
        assert old.enter(connection)
    killed.measure()
    with place.writing() as connection:
        connection.execute(records_table.update().values(written_at=now() - timedelta(days=1, seconds=1)))
    running.measure()
    enter(place, [(5, 5)], ("other key", "data"))
    assert sorted(text for _, text, _ in list_draws(place)) == [1, 3, 5]
    with place.writing() as connection:
        assert running.enter(connection)
    assert find_spent(place)[SCOPE] == EPS * (count_words(1) + count_words(3))


TEXTS = ["", "zzz 12", "alice", "bob carol", "alice bob", "Alice bob", "dave erin frank", "the alice"]
rows_of_a_release = st.lists(
    st.tuples(st.sampled_from(["title", "body"]), st.integers(0, 3), st.sampled_from(TEXTS)), max_size=8
)


@pytest.fixture(scope="module")
def by_keys(mapped_template: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Sanitizer]:
    folder = tmp_path_factory.mktemp("keys")
    sanitizers = []
    for name, eps in (("one", 0.1), ("two", 2.5)):
        make_key(folder / name, mapped_template, eps=eps)
        sanitizers.append(Sanitizer.load(mapped_template, key_file=folder / name))
    return sanitizers


@settings(max_examples=5)
@given(st.lists(st.tuples(st.integers(0, 1), rows_of_a_release), min_size=1, max_size=6))
def test_releases_add_up_as_in_a_plain_sum(
    by_keys: list[Sanitizer], releases: list[tuple[int, list[tuple[str, int, str]]]]
) -> None:
    """Of several columns, with repeated records, edited texts, texts without words, and no rows at all."""
    plain = [PlainSum(), PlainSum()]
    with tempfile.TemporaryDirectory() as folder:
        for number, (key, rows) in enumerate(releases, start=1):
            sanitizer = by_keys[key]
            sanitizer.ledger = place = LedgerFile.locate(Path(folder) / "a.sqlite")
            for column, identifier, text in rows:
                words = sum(word.lower() in WORDS for word in text.split())
                plain[key].add(identifier, (column, text), words)
            records = [f"{column}:{identifier}" for column, identifier, _ in rows]
            sanitizer.release([text for _, _, text in rows], records=records, dataset="d")
            ledger = read_ledger(ledger=str(place))
            [total] = ledger.totals
            expected = sum(
                (Decimal(repr(one.settings.eps)) * spent.most for one, spent in zip(by_keys, plain, strict=True)),
                Decimal(),
            )
            assert (total.total_eps, total.releases, total.raw) == (expected, number, False)
            assert ledger.releases[-1].row_count == len(rows)


@pytest.fixture
def keyed(mapped_db: Path, tmp_path: Path) -> Sanitizer:
    make_key(tmp_path / "k", mapped_db, eps=0.5)
    return Sanitizer.load(mapped_db, key_file=tmp_path / "k")


def test_a_release_that_the_budget_forbids_leaves_no_digests(keyed: Sanitizer) -> None:
    assert keyed.ledger is not None
    dataset = Dataset("d", budget_total=1.5)
    keyed.release(["alice bob"], records=["body:1"], dataset=dataset)
    with pytest.raises(BudgetError, match=r"total eps of 2, more than --budget-total 1.5 "):
        keyed.release(["carol dave"], records=["title:1"], dataset=dataset)
    assert list_kept(keyed.ledger) == set(list_parts(keyed.ledger))
    assert len(list_parts(keyed.ledger)) == 1
    keyed.release(["alice bob", "erin"], records=["body:1", "body:1"], dataset=dataset)  # one more word for the record
    assert read_ledger(keyed.database).totals[0].total_eps == Decimal("1.5")
    keyed.release(["alice bob", "erin", "ivan judy frank"], records=["body:1", "body:1", "body:2"], dataset=dataset)
    assert read_ledger(keyed.database).totals[0].total_eps == Decimal("1.5")


WRITER = """
import sys
from custext_sql import Sanitizer
sanitizer = Sanitizer.load(sys.argv[1], key_file=sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for number in range(30):
    texts = [f"alice {sys.argv[3]} {number}", "bob carol", f"dave {number}"]
    sanitizer.release(texts, records=["body:1", "body:1", "title:1"], dataset="d")
"""


@pytest.mark.slow
@pytest.mark.usefixtures("each_ledger")
def test_two_processes_release_by_the_same_key_at_once(mapped_db: Path, tmp_path: Path) -> None:
    """Neither overwrites what the other has spent, even when one of them joins all parts."""
    make_key(tmp_path / "k", mapped_db, eps=0.5)
    plain = PlainSum()
    with ExitStack() as stack:
        writers = []
        for name in ("one", "two"):
            command = [sys.executable, "-c", WRITER, str(mapped_db), str(tmp_path / "k"), name]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            writers.append(stack.enter_context(start(command, **pipes)))
            for number in range(30):
                plain.add(1, ("body", f"alice {name} {number}"), 1)
                plain.add(1, ("body", "bob carol"), 2)
                plain.add(1, ("title", f"dave {number}"), 1)
        for writer in writers:
            assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        assert [writer.wait() for writer in writers] == [0, 0]
    ledger = read_ledger(mapped_db)
    assert len(ledger.releases) == 60 and {entry.state for entry in ledger.releases} == {"complete"}
    assert plain.most == 30 + 30 + 2 + 30
    assert ledger.totals[0].total_eps == Decimal("0.5") * plain.most
