"""How often an attacker guesses words, compared with plain loops and with simulations; and that nothing is stored."""

import math
from pathlib import Path

import numpy as np
import pytest

from custext_sql import Sanitizer, load_mapping
from custext_sql.experiments import TextAttacker, attack_query, judge_text, one_text
from custext_sql.experiments.one_text import WordChances
from custext_sql.experiments.query_attack import count_draws
from custext_sql.mapping.mapping import Mapping
from custext_sql.sanitizer.settings import Settings
from tests.experiments.test_text_attacker import PUBLIC, STOPWORDS, TEXT, WORDS, list_group, make_mapping, weigh

CERTAIN = 0.9


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    return make_mapping()


def find_naively(sanitizer: Sanitizer, word: str, eps: float, plus: bool) -> WordChances:
    """Return the chances of a word, from the best guess for each of its outputs."""
    right = certain = unchanged = 0.0
    for one in sanitizer.inspect(word, eps, plus).group:
        if one.probability:
            weights = weigh(sanitizer, one.output, eps, plus)
            best = max(weights, key=weights.__getitem__)
            right += one.probability * (best == word)
            certain += one.probability * (weights[best] >= CERTAIN * sum(weights.values()))
            unchanged += one.probability * (one.output == word)
    return WordChances(right, certain, unchanged)


def list_values(chances: WordChances | None) -> list[float]:
    assert chances is not None
    return [chances.right, chances.certain, chances.unchanged]


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("eps", [0.0, 0.5, 3.0, 20.0])
def test_chances_are_those_of_the_best_guess_for_each_output(
    mapping: Mapping, eps: float, plus: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_text, "_CELLS", 40)  # some groups at a time
    sanitizer = Sanitizer(mapping, STOPWORDS, Settings(eps=eps, plus=plus))
    attacker = TextAttacker(sanitizer)
    naive = {word: find_naively(sanitizer, word, eps, plus) for word in WORDS if not (plus and word in STOPWORDS)}
    for word, expected in naive.items():
        assert list_values(attacker.find_chances(word.upper().replace("SS", "ß"))) == pytest.approx(
            list_values(expected)
        )
    assert {value for one in naive.values() for value in list_values(one)} - {0.0, 1.0} or not eps
    drawn = [*(word for word in WORDS if word not in STOPWORDS), "alice", "grace"]
    drawn += [] if plus else ["the", "and", "the"]
    expected = np.mean([list_values(naive[word]) for word in drawn], axis=0)
    assert list_values(attacker.expect(TEXT)) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore::custext_sql.errors.PrivacyWarning")
def test_chances_are_the_shares_of_a_simulation_which_would_notice_three_percent(mapping: Mapping) -> None:
    count, eps = 20_000, 6.0
    sanitizer = Sanitizer(mapping, STOPWORDS, Settings(eps=eps, plus=True), seed=11)
    attacker = TextAttacker(sanitizer)
    for word in ("alice", "carol"):
        text, expected = f"{word} " * count, attacker.find_chances(word)
        traced = sanitizer.trace(text)
        found = attacker.guess(text, traced.list_outputs())
        for flags, chance in (
            (found.right, expected.right),
            (np.array(found.certainties) >= CERTAIN, expected.certain),
            (traced.unchanged, expected.unchanged),
        ):
            share, error = float(np.mean(flags)), 5 * math.sqrt(max(chance * (1 - chance), 1e-4) / count)
            assert abs(share - chance) < error
            assert abs(share - (chance + 0.03)) > error


@pytest.mark.filterwarnings("ignore::custext_sql.errors.PrivacyWarning")
@pytest.mark.parametrize("eps", [0.0, 4.0])
def test_the_chances_with_context_are_the_shares_of_guesses_from_the_same_draws(mapping: Mapping, eps: float) -> None:
    sanitizer = Sanitizer(mapping, STOPWORDS, Settings(eps=eps, plus=True), seed=0)
    attacker = TextAttacker(sanitizer, public=PUBLIC)
    text = "alice saw bob and the carol met dave"
    expected = attacker.expect_context(text)
    assert expected is not None and expected.simulations == (500 if eps else 1)  # 4 words are replaced
    guesses = [attacker.guess(text, sanitizer.trace(text).list_outputs()) for _ in range(expected.simulations)]
    assert {len(one.right) for one in guesses} == {4}
    assert expected.right == pytest.approx(float(np.mean([one.right for one in guesses])))
    assert expected.all_right == pytest.approx(float(np.mean([all(one.right) for one in guesses])))
    assert 0.0 < expected.all_right < expected.right < 1.0 or not eps
    assert attacker.expect_context(text) == expected
    assert TextAttacker(sanitizer).expect_context(text) is None


def test_draws_are_counted_as_by_the_query_attack(mapped_db: Path) -> None:
    attack = attack_query(mapped_db, ["alice", "bob"], eps=[0.0, 2.0, 8.0], trials=1000, calibration="tight")
    mapping = load_mapping(mapped_db)
    attacker = TextAttacker(Sanitizer.load(mapped_db, calibration="tight"))
    assert {found.n_ml is None for found in attack.words} == {True, False}
    for found in attack.words:
        expected = found.n_mode, found.n_ml
        assert count_draws(mapping, found.word, found.eps, calibration="tight") == expected
        assert attacker.count_draws(found.word.upper(), found.eps) == expected


def test_at_eps_0_draws_are_those_of_the_representative_that_is_not_kept(mapping: Mapping) -> None:
    group = list_group(mapping, "alice")
    representative = Sanitizer(mapping).sanitize("alice", 0.0)
    sanitizer = Sanitizer(mapping, frozenset({representative}), Settings(eps=0.0, plus=True))
    other = sanitizer.sanitize(next(word for word in group if word != representative))
    assert other != representative
    attacker = TextAttacker(sanitizer)
    assert attacker.count_draws(other) == (1, None)
    assert TextAttacker(sanitizer, plus=False).count_draws(other) == (None, None)


def test_nothing_is_stored(mapped_db: Path, tmp_path: Path, own_home: Path) -> None:
    """Neither in the database nor elsewhere: all of this may be done with private texts."""
    text = "alice told bob about the zyzzyva of carol"
    before = mapped_db.read_bytes()
    sanitizer = Sanitizer.load(mapped_db)
    for public in (None, PUBLIC, [*PUBLIC, text]):
        attacker = TextAttacker(sanitizer, public=public)
        traced = sanitizer.trace(text, 2.0)
        attacker.guess(text, traced.list_outputs(), 2.0)
        attacker.guess_word(traced.list_outputs()[0], 2.0)
        attacker.find_chances("alice", 2.0)
        attacker.expect(text, 2.0)
        attacker.expect_context(text, 2.0)
        attacker.count_draws("alice", 2.0)
        sanitizer.inspect("alice", 2.0)
        judge_text(attacker, text, sanitizer.receipt(traced.tally, 2.0))
    assert mapped_db.read_bytes() == before
    assert [path for path in [*tmp_path.rglob("*"), *own_home.rglob("*")] if path.is_file()] == [mapped_db]
