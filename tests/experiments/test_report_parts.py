"""What a report measures, and what its verdict is based on."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from custext_sql import (
    Dataset,
    DataTable,
    Policy,
    Sanitizer,
    build_mapping,
    drop_mapping,
    load_mapping,
    sanitize_file,
    sanitize_table,
)
from custext_sql.errors import CusTextError
from custext_sql.experiments import write_report
from custext_sql.experiments.bayes_attack import BayesResult, Prior, count_words, measure_bayes, measure_one_output
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.report import Attacked, collect_figures, count_let_through, find_earlier, list_alternatives
from custext_sql.experiments.verdict import Figures
from custext_sql.files.inputs.texts import Texts
from custext_sql.mapping.mapping import Mapping
from custext_sql.text.columns import open_column

TEXTS = ["the doctor was kind", None, "", "she paid 12345 dollars to zyzzyvaberg", "the car", "write to a.b@c.org"]


@pytest.fixture
def under_test(few_db: Path) -> MappingUnderTest:
    return MappingUnderTest(few_db, policy="strict")


def count(under_test: MappingUnderTest) -> Prior:
    return count_words([open_column(TEXTS)[0]], under_test, "texts")


def test_words_per_row_are_those_that_are_replaced(few_db: Path, under_test: MappingUnderTest) -> None:
    let_through = count_let_through(under_test, TEXTS, None, epsilon=1.0, plus=False)
    assert let_through is not None
    found = let_through["counts"]
    pieces = Sanitizer.load(few_db).compare(TEXTS, 1.0)
    replaced = [
        sum(piece.kind == 0 for piece in text) for text, given in zip(pieces, TEXTS, strict=True) if given is not None
    ]
    assert found["median_replaced"] == np.median(replaced)
    assert found["largest_replaced"] == max(replaced) > 3
    assert found["units"] == 1 and found["rows"] == 5


def test_public_words_and_numbers_that_stay_are_counted(few_db: Path) -> None:
    policy = Policy(numbers="keep", keep_words=["doctor"])
    found = count_let_through(MappingUnderTest(few_db, policy=policy), TEXTS, None, epsilon=1.0, plus=False)
    assert found is not None
    assert (found["counts"]["kept"], found["counts"]["numbers"], found["numbers"]) == (1, 1, "keep")
    assert found["policy"] == "strict, except numbers=keep, 1 kept word"


@pytest.mark.parametrize("eps, plus", [(0.0, False), (0.0, True), (2.0, False), (9.0, True)])
def test_certain_and_unchanged_words_match_the_distributions(
    few_db: Path, under_test: MappingUnderTest, eps: float, plus: bool
) -> None:
    """Summed up word by word, from the probabilities as any caller sees them."""
    attacked = Attacked(under_test, count(under_test), plus)
    words, chances = under_test.mapping.words, attacked.prior.chances
    sanitizer = Sanitizer.load(few_db)
    together: dict[str, dict[str, float]] = {}  # output -> input -> probability
    for word in np.flatnonzero(chances).tolist():
        if eps:
            outputs = sanitizer.distribution(words[word], eps)
        else:
            outputs = {words[int(under_test.vocabulary.representatives(plus)[word])]: 1.0}
        for output, chance in outputs.items():
            together.setdefault(output, {})[words[word]] = chances[word] * chance
    sure = sum(
        sum(inputs.values()) for inputs in together.values() if max(inputs.values()) >= 0.9 * sum(inputs.values())
    )
    unchanged = sum(inputs.get(output, 0.0) for output, inputs in together.items())
    found = measure_one_output(under_test, chances, eps, plus=plus)
    assert found["certain"] == pytest.approx(sure) and found["unchanged"] == pytest.approx(unchanged)


ONE_OUTPUT = {"certain": 0.1, "unchanged": 0.1, "floor_of_joined": 0.1}


def measure(attacked: Attacked) -> tuple[Figures, list[BayesResult]]:
    """Return the figures at eps = 1, and the best single guess at several eps."""
    curve = measure_bayes(attacked.under_test, [attacked.prior], [0.0, 1.0, 4.0], plus=attacked.plus)
    let_through = count_let_through(attacked.under_test, TEXTS, None, epsilon=1.0, plus=attacked.plus)
    return collect_figures(attacked, curve[1], None, None, ONE_OUTPUT, let_through, {}), curve


@pytest.mark.parametrize("name, unchanged", [("texts", 0.1), ("uniform", None)])
def test_frequencies_from_elsewhere_do_not_say_which_words_stay(
    under_test: MappingUnderTest, name: str, unchanged: float | None
) -> None:
    figures, _ = measure(Attacked(under_test, replace(count(under_test), name=name), plus=False))
    assert (figures.dataset, figures.prior, figures.unchanged) == ("texts", name, unchanged)


def test_alternatives_are_smaller_eps_no_stopwords_and_larger_groups(
    few_db: Path, under_test: MappingUnderTest
) -> None:
    attacked = Attacked(under_test, count(under_test), plus=True)
    figures, curve = measure(attacked)
    zero, stopwords, larger = list_alternatives(few_db, attacked, figures, curve, (), ONE_OUTPUT)
    assert (zero.eps, zero.guess) == (0.0, figures.guess_at_0)
    assert not stopwords.plus and stopwords.counts is not None
    assert stopwords.counts["replaced"] == round(attacked.every.drawn * stopwords.counts["words"])
    assert larger.estimated and larger.k == 40
    assert figures.guess is not None and figures.guess_at_0 is not None
    assert larger.guess == pytest.approx(figures.guess * 0.1 / figures.guess_at_0)


def test_a_stored_mapping_with_larger_groups_is_measured(few_db: Path, under_test: MappingUnderTest) -> None:
    for k in (60, 40):
        build_mapping(few_db, embedding="starter", k=k)
    attacked = Attacked(under_test, count(under_test), plus=False)
    figures, curve = measure(attacked)
    *_, larger = list_alternatives(few_db, attacked, figures, curve, (), ONE_OUTPUT)
    assert (larger.k, larger.estimated) == (40, False)
    other = MappingUnderTest(few_db, mapping=larger.mapping, policy="strict")
    [expected] = measure_bayes(other, [count(other)], [1.0])
    assert larger.guess == pytest.approx(expected.success) and larger.counts == figures.counts


def test_the_ledger_says_what_was_released_before(few_db: Path, under_test: MappingUnderTest, tmp_path: Path) -> None:
    def find(data: Texts | None, name: str | None = None) -> dict[str, Any]:
        return find_earlier(few_db, data, Dataset(name), under_test.mapping, plus=False)

    source, other = tmp_path / "texts.txt", tmp_path / "others.txt"
    for path in (source, other):
        path.write_text("the doctor was kind\nthe car\n")
    for number in range(2):
        sanitize_file(source, tmp_path / f"out{number}.txt", database=few_db, eps=2.0)
    assert find(str(source)) == {"releases": 2, "spent": 16.0}
    assert find(tmp_path / "[to]*.txt") == {"releases": 2, "spent": 16.0}  # the outputs too
    assert find(other) == {"releases": 0, "spent": 0.0}
    assert find(["the doctor"]) == find(None) == {}
    with duckdb.connect(tmp_path / "data.duckdb") as connection:
        connection.execute("CREATE TABLE texts AS SELECT 'the doctor was kind' AS body")
    sanitize_table(tmp_path / "data.duckdb", "main.texts", "new", columns="body", database=few_db)
    for name in ("texts", "main.texts"):
        assert find(DataTable(tmp_path / "data.duckdb", name)) == {"releases": 1, "spent": 4.0}
    sanitize_file(source, tmp_path / "named.txt", database=few_db, eps=1.0, dataset="Films")
    for data in (source, ["the doctor"], None):
        assert find(data, "films") == {"releases": 1, "spent": 4.0}
        assert find(data, "novels") == {"releases": 0, "spent": 0.0}


def test_a_mapping_in_memory_is_compared_like_a_stored_one(few_db: Path, under_test: MappingUnderTest) -> None:
    build_mapping(few_db, embedding="starter", k=7, name="seven")
    stored = load_mapping(few_db, "seven")
    Sanitizer.load(few_db).release(["the doctor"], eps=1.0, dataset="films")
    found = find_earlier(few_db, None, Dataset("films"), stored, plus=False)
    assert found["released_under"] == under_test.mapping.info.name
    pairs = Counter(
        zip(*(_list_groups(one, sorted(stored.words)) for one in (under_test.mapping, stored)), strict=True)
    )
    counts = sorted(count for count in pairs.values() for _ in range(count))
    assert (found["least_left"], found["median_left"]) == (counts[0], counts[(len(counts) - 1) // 2])
    drop_mapping(few_db, name="seven")
    assert find_earlier(few_db, None, Dataset("films"), stored, plus=False) == found


def _list_groups(mapping: Mapping, words: list[str]) -> list[int]:
    """Return the group of each word."""
    groups = np.repeat(np.arange(len(mapping.sizes)), mapping.sizes)
    return [int(groups[mapping.index[word]]) for word in words]


PUBLIC = ["the film was great and the story was dull", "a great story", "a dull film"]


@pytest.mark.slow
@pytest.mark.parametrize("plus", [False, True])
def test_a_report_at_eps_0(few_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plus: bool) -> None:
    monkeypatch.setattr("custext_sql.experiments.report.SAMPLE", 2)
    monkeypatch.setattr("custext_sql.experiments.report.SIMULATIONS", 100)
    page = tmp_path / "page.html"
    texts = ["the doctor said the car was fine", "she was happy"]
    report = write_report(few_db, html=page, eps=0.0, data=texts, public=PUBLIC, plus=plus)
    assert report.context is not None
    assert [one.eps for one in report.context.results] == [0.0, 1.0, 2.0, 3.0, 8.0]
    assert {one.eps for one in report.bayes} >= {0.0, 1.0} and {one.eps for one in report.queries} >= {0.0, 1.0}
    assert all(row.worst_log_ratio == 0.0 for row in report.certificate)
    written = page.read_text()
    assert "Whole texts: the context attack" in written and "eps = 0" in written
    assert all(text not in written for text in (*texts, *PUBLIC))
    assert ("may replace another word" in written) == plus


def test_a_report_needs_texts_to_attack(few_db: Path) -> None:
    with pytest.raises(CusTextError, match="the context attack needs your texts too: custext report INPUT"):
        write_report(few_db, public=PUBLIC)
