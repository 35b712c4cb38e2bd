"""Listed words are found in texts in any spelling."""

import pickle

import pytest

from custext_sql import SettingError, WordList


def test_listed_words_are_found_in_any_case_and_spelling() -> None:
    listed = WordList.read(["Alice", "o’brien", "ﬁne"])
    texts = ["mail ALICE@corp.com", "alicia", "O'Brien", "fine", "", "al\u00adice"]
    assert listed.find_in(texts).tolist() == [True, False, True, True, False, True]
    assert listed.find_in([]).tolist() == []
    assert WordList.read(["brien"]).find_in(["o'brien"]).tolist() == [True]  # a part of a word
    assert pickle.loads(pickle.dumps(listed)) == listed


@pytest.mark.parametrize("words", [["alice", "New York"], ["alice", ""], ["alice", "a@b"]])
def test_what_is_no_word_is_named_by_its_number(words: list[str]) -> None:
    with pytest.raises(SettingError, match="entry 2 is not"):
        WordList.read(words)
