"""What a word can become, what was verified of it, and sanitizers that differ in their policy only."""

import pickle
from pathlib import Path

import pytest

from custext_sql import Policy, Sanitizer, make_key
from custext_sql.errors import KeyFileError, MappingError
from custext_sql.mapping.mapping import Mapping
from custext_sql.sanitizer.settings import Settings
from tests.small_mapping import small_mapping

WORDS = ["alice", "bob", "carol", "dave", "erin", "frank", "naïve", "heidi"]


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    return small_mapping(WORDS, k=4)


def test_probabilities_are_those_of_the_distribution(mapping: Mapping) -> None:
    for calibration in ("paper", "tight"):
        sanitizer = Sanitizer(mapping, frozenset({"alice"}), Settings(eps=3.0, calibration=calibration))
        found = sanitizer.inspect("Carol")
        assert (found.word, found.mapping, found.eps) == ("carol", "small", 3.0)
        assert {one.output: one.probability for one in found.group} == sanitizer.distribution("carol", 3.0)
        assert [one.probability for one in found.group] == sorted(
            (one.probability for one in found.group), reverse=True
        )
        assert sanitizer.inspect("carol", plus=True) == found  # plus changes nothing but at eps = 0


def test_at_eps_0_a_kept_word_represents_no_group(mapping: Mapping) -> None:
    """The first word of each group is a stopword or a word to keep, so that another one represents the group."""
    firsts = {
        mapping.words[start : start + size] for start, size in zip(mapping.word_starts, mapping.sizes, strict=True)
    }
    plain = Sanitizer(mapping)
    usual = {group: plain.inspect(group[0], 0.0).group[0].output for group in firsts}
    [stopword, public] = usual.values()
    sanitizer = Sanitizer(
        mapping, frozenset({stopword}), Settings(eps=0.0, plus=True, policy=Policy(keep_words=[public]))
    )
    for group in firsts:
        for word in set(group) - {stopword, public}:
            for plus in (False, True):
                found = sanitizer.inspect(word, plus=plus).group
                assert [one.probability for one in found] == [1.0, 0.0, 0.0, 0.0]
                assert found[0].output == sanitizer.sanitize(word, plus=plus)
            assert sanitizer.distribution(word)[sanitizer.sanitize(word)] == 1.0
            assert sanitizer.sanitize(word) != usual[group]


@pytest.mark.filterwarnings("ignore::custext_sql.errors.PrivacyWarning")
def test_another_policy_changes_nothing_else(mapping: Mapping) -> None:
    stopwords, text = frozenset({"bob"}), "Alice and Bob 12 zyzzyva " * 20
    given = {"eps": 3.0, "plus": True, "calibration": "tight"}
    strict, paper = (
        Sanitizer(mapping, stopwords, Settings.settle(policy=name, **given), seed=1)  # type: ignore[arg-type]
        for name in ("strict", "paper")
    )
    changed = strict.with_policy("paper")
    assert (changed.settings, changed.draws) == (paper.settings, "seeded")
    assert changed.sanitize(text) == paper.sanitize(text)
    assert strict.sanitize("zyzzyva", 0.0) == "<unk>" and changed.sanitize("zyzzyva", 0.0) == "zyzzyva"


def test_words_to_keep_come_and_go_with_the_policy(mapping: Mapping) -> None:
    base = Sanitizer(mapping)
    word = next(word for word in WORDS if base.sanitize(word, 0.0) != word)
    kept = base.with_policy(Policy(keep_words=[word]))
    assert kept.sanitize(word, 0.0) == word
    assert pickle.loads(pickle.dumps(kept)).sanitize(word, 0.0) == word
    assert kept.with_policy("strict").sanitize(word, 0.0) == base.sanitize(word, 0.0)


def test_a_key_works_with_its_policy_only(mapped_db: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "key", mapped_db, policy="strict")
    keyed = Sanitizer.load(mapped_db, key_file=tmp_path / "key")
    assert keyed.with_policy("strict").sanitize("alice", record="1") == keyed.sanitize("alice", record="1")
    with pytest.raises(KeyFileError, match="this key is for policy = "):
        keyed.with_policy("paper")
    assert keyed.with_fresh_draws().with_policy("paper").policy.unknown == "keep"


@pytest.mark.parametrize("spelling", ["naïve", "NAÏVE", "nai\u0308ve", "ｎａïｖｅ", "na\u00adïve"])
def test_a_word_is_inspected_in_any_spelling_that_is_replaced_in_texts(mapping: Mapping, spelling: str) -> None:
    sanitizer = Sanitizer(mapping)
    assert sanitizer.trace(spelling, 1.0).after in WORDS
    assert sanitizer.inspect(spelling, 1.0) == sanitizer.inspect("naïve", 1.0)
    for lacking in ("", f" {spelling}", f"{spelling} bob", "zyzzyva", "12", f"{spelling}'s", "\ud800"):
        with pytest.raises(MappingError, match="the word is not in mapping 'small'"):
            sanitizer.inspect(lacking)
