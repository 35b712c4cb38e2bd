"""What counts as one word."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.tokenizer import fold_word, is_word


@pytest.mark.parametrize(
    "token",
    [
        "she",
        "don't",
        "don’t",
        "o'brien's",
        "snake_case",
        "_",
        "1",
        "2nd",
        "½",
        "naïve",
        "किताब",
        "北京",
        "e\u0301t\u0301",
    ],
)
def test_words(token: str) -> None:
    assert is_word(token)


@pytest.mark.parametrize(
    "token",
    [
        "",
        " ",
        "'",
        "'s",
        "s'",
        "a''b",
        "a'’b",
        "a b",
        "at\xa0name",
        "a-b",
        "a.b",
        "...",
        "$5",
        "a\nb",
        "she\n",
        "😀",
        "a\u200db",
    ],
)
def test_other_tokens(token: str) -> None:
    assert not is_word(token)


@given(st.characters(exclude_categories=["Cs"]))
def test_single_characters_follow_their_unicode_category(character: str) -> None:
    assert is_word(character) == (unicodedata.category(character)[0] in "LMN" or character == "_")


def test_folding() -> None:
    assert fold_word("Don’t") == "don't"
    assert fold_word("ΟΔΟΣ") == "οδος"
