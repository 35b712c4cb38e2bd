"""Generalization, eps = 0, as users call it: in Python, SQL, files, pipelines and commands."""

import json
import math
import os
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from custext_sql import Sanitizer, audit, connect, make_key, read_ledger, sanitize_file
from custext_sql.cli import main
from custext_sql.errors import SettingError
from custext_sql.kinds import Kind
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.sampler import Sampler, find_distribution
from custext_sql.sanitizer.words import Vocabulary
from tests.small_mapping import small_mapping

STOPWORDS = frozenset({"the", "she", "was", "not"})
WORDS = ["the", "alice", "she", "bob", "carol", "was", "dave", "erin", "not", "frank", "grace", "heidi", "ivan", "judy"]
TEXT = "The night was long, and doctor Müller saw 12 patients: my mother, Bob's wife (née Xyzzy) and me."
# words, unknown words, numbers, endings and what lies between them
PIECES = st.sampled_from([*WORDS, "Alice", "BOB", "the's", "bob's", "xyzzy", "12", "…", ",", "\n", "naïve", "s"])


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    return small_mapping(WORDS, k=5)


@pytest.fixture(scope="module")
def sanitizer(mapping: Mapping) -> Sanitizer:
    return Sanitizer(mapping, STOPWORDS)


def group_of(mapping: Mapping, word: str) -> int:
    return int(np.searchsorted(mapping.word_starts, mapping.find(word), side="right")) - 1


@given(pieces=st.lists(PIECES, max_size=12), plus=st.booleans())
def test_the_output_follows_from_the_groups_and_what_is_kept(
    mapping: Mapping, sanitizer: Sanitizer, pieces: list[str], plus: bool
) -> None:
    """Only group numbers of replaced words, and the other pieces as they came out, are used to compute the output."""
    text = " ".join(pieces)
    [compared] = sanitizer.compare([text], 0.0, plus)
    skeleton = [group_of(mapping, p.before) if p.kind == Kind.REPLACED else p.after for p in compared]
    computed = ""
    for piece in skeleton:
        if isinstance(piece, int):
            start, size = int(mapping.word_starts[piece]), int(mapping.sizes[piece])
            drawn = [n for n in range(start, start + size) if not (plus and mapping.words[n] in STOPWORDS)]
            piece = mapping.words[min(drawn, key=lambda number: int(mapping.ranks[number]))]
        computed += piece
    assert sanitizer.sanitize(text, 0.0, plus) == computed


def test_no_random_number_is_used(sanitizer: Sanitizer, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(count: int) -> bytes:
        raise AssertionError(f"{count} random bytes were asked for")

    monkeypatch.setattr(os, "urandom", refuse)
    assert sanitizer.sanitize_batch(["alice bob the xyzzy 12", ""], 0, False)
    assert sanitizer.sanitize_batch(["alice bob the xyzzy 12", "bob"], [0, 0.0], [True, False])
    with pytest.raises(AssertionError, match="random bytes"):
        sanitizer.sanitize("alice", 1.0)


def test_a_receipt_has_spent_nothing(sanitizer: Sanitizer) -> None:
    _, receipt = sanitizer.release(["alice bob the xyzzy"] * 50, 0, True)
    assert (receipt.replaced, receipt.eps, receipt.budgets) == (100, 0.0, (0.0,))
    assert receipt.largest_row_eps == receipt.mean_row_eps == 0.0
    assert receipt.worst_log_ratio == receipt.union_log_ratio == 0.0
    assert receipt.hides_among == sanitizer.guarantee({1.0}, {True}).hides_among


def test_rows_may_mix_eps(sanitizer: Sanitizer) -> None:
    texts, eps = ["alice bob"] * 400, [0.0, 1.0] * 200
    replaced = sanitizer.sanitize_batch(texts, eps, False)
    assert set(replaced[::2]) == {sanitizer.sanitize("alice bob", 0, False)}
    assert len(set(replaced[1::2])) > 4
    mixed = sanitizer.guarantee({0.0, 1.0}, {False})
    assert mixed.worst_log_ratio == sanitizer.guarantee({1.0}, {False}).worst_log_ratio
    assert mixed.union_log_ratio == math.inf  # at eps = 0, no output but the representative is possible


def test_rows_may_mix_plus(sanitizer: Sanitizer) -> None:
    texts, plus = ["the bob alice grace"] * 2, [True, False]
    each = [sanitizer.sanitize(texts[0], 0, keep) for keep in plus]
    assert sanitizer.sanitize_batch(texts, 0, plus) == each
    assert each[0] != each[1]  # stopwords of a mixed group are the representatives of one, but not of the other
    assert sanitizer.guarantee({0.0}, {True, False}).union_log_ratio == math.inf
    assert sanitizer.guarantee({0.0}, {True}).union_log_ratio == 0.0


def test_groups_of_stopwords_alone_have_the_same_representatives_with_and_without_plus(mapping: Mapping) -> None:
    apart = Sanitizer(mapping, frozenset(mapping.words[: int(mapping.sizes[0])]))
    assert apart.guarantee({0.0}, {True, False}).union_log_ratio == 0.0


def test_keyed_fresh_and_repeated_runs_give_the_same_bytes(starter_db: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "key", starter_db, eps=0, plus=True)
    keyed = Sanitizer.load(starter_db, key_file=tmp_path / "key")
    fresh = [Sanitizer.load(starter_db).sanitize(TEXT, 0, True) for _ in range(2)]
    assert {*fresh, keyed.sanitize(TEXT, record="1"), keyed.sanitize(TEXT, record="2")} == {fresh[0]}
    with connect(starter_db, key_file=tmp_path / "key") as connection:
        query = "SELECT custext_sanitize($t, 0, true), custext_sanitize_keyed($t, 'x'), custext_epsilon($t, 0, true)"
        assert connection.execute(query, {"t": TEXT}).fetchall() == [(fresh[0], fresh[0], 0.0)]


def test_files_and_the_ledger(mapped_db: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("alice and bob\n" * 3)
    for name in ("first.txt", "second.txt"):
        report = sanitize_file(
            tmp_path / "in.txt", tmp_path / name, eps=0, budget_total=0, max_row_eps=0, database=mapped_db
        )
        receipt = report.receipt
        assert (receipt.eps, receipt.largest_row_eps, receipt.worst_log_ratio) == (0.0, 0.0, 0.0)
    assert (tmp_path / "first.txt").read_bytes() == (tmp_path / "second.txt").read_bytes()
    overview = read_ledger(mapped_db)
    assert [(entry.eps, entry.largest_row_eps) for entry in overview.releases] == [(0.0, Decimal(0))] * 2
    assert [total.total_eps for total in overview.totals] == [Decimal(0)]


@pytest.mark.parametrize("plus", [False, True])
def test_an_audit_certifies_every_group(starter_db: Path, plus: bool) -> None:
    found = audit(starter_db, eps=0, plus=plus)
    assert (found.eps, found.worst_log_ratio, found.median_log_ratio, found.shrunk) == (0.0, 0.0, 0.0, 0)
    assert found.hides_among == audit(starter_db, eps=1, plus=plus).hides_among


def test_a_word_has_one_possible_replacement(mapping: Mapping, mapped_db: Path) -> None:
    found = find_distribution(Sampler(mapping, "paper"), "Carol", 0)
    representative = mapping.words[Vocabulary(mapping, ()).representatives(False)[mapping.find("carol")]]
    assert (found.group[0].output, found.group[0].probability) == (representative, 1.0)
    assert {replacement.probability for replacement in found.group[1:]} == {0.0}
    with connect(mapped_db) as connection:
        rows = connection.execute("FROM custext_distribution('alice', 0)").fetchall()
    exact = Sanitizer.load(mapped_db).distribution("alice", 0)
    assert {output: chance for output, _, chance in rows} == exact


def test_commands_take_zero(mapped_db: Path) -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(main, ["--db", str(mapped_db), *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    assert "log-ratio   0\n" in run("audit", "--eps", "0")
    assert "1.0000" in run("inspect", "alice", "--eps", "0")
    assert "eps 0: each replaced word became the representative of its group" in run("sanitize", "alice", "--eps", "0")
    assert "0.0" in run("attack", "bayes", "--eps", "0", "--json")
    results = json.loads(run("attack", "query", "alice", "bob", "--eps", "0", "--json"))
    assert all(found["n_ml"] is None for found in results)  # all words of a group have the same output


def test_sql_queries_that_mix_eps_say_so(mapped_db: Path, tmp_path: Path) -> None:
    query = "SELECT custext_sanitize('alice', CASE WHEN i % 2 = 0 THEN 0 ELSE 1 END, false) AS t FROM range(10) r(i)"
    output = tmp_path / "out.csv"
    result = CliRunner().invoke(main, ["--db", str(mapped_db), "sql", query, "--output", str(output), "--json"])
    assert result.exit_code == 0, result.output
    receipt = json.loads(result.stdout)["receipt"]
    assert (receipt["budgets"], receipt["union_log_ratio"]) == ([0.0, 1.0], None)
    shown = CliRunner().invoke(main, ["--db", str(mapped_db), "sql", query]).output
    assert "(no bound between words with different eps or plus)" in shown


def test_flags_are_no_eps(sanitizer: Sanitizer) -> None:
    for eps in (False, [False, True], np.array([False, True])):
        with pytest.raises(SettingError, match="eps must be a number"):
            sanitizer.sanitize_batch(["alice", "bob"], eps, False)
