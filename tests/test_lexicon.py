"""Words are found if and only if a dictionary of folded words finds them."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from custext_sql.encoded_text import EncodedText
from custext_sql.lexicon import Lexicon, fold_text
from custext_sql.starter import open_starter
from custext_sql.tokenizer import fold_word

LISTED = ["the", "don't", "a", "naïve", "οδος", "οδοσ", "i̇stanbul", "straße", "ångström", "привет", "ⱥ", "k", "中文"]
LISTED += ["𐐨", "abcdefgh", "abcdefghi", "abcdefghijklmnop", "abcdefghijklmnopq", "x" * 24, "x" * 25, "y" * 60]

words = st.one_of(
    st.sampled_from(LISTED),
    st.sampled_from(LISTED).map(str.upper),
    st.sampled_from(LISTED).map(str.title),
    st.sampled_from(["K", "Å", "don’t", "ΟΔΟΣ", "İstanbul", "Ⱥ", "ẞ", "x" * 26, "STRASSE", "𐐀"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
)


def look_up(lexicon: Lexicon, rows: list[str]) -> list[int]:
    encoded = [row.encode() for row in rows]
    ends = np.cumsum([len(row) for row in encoded], dtype=np.int64)
    text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    starts = np.concatenate([[0], ends])[:-1].astype(np.int64)
    return list(map(int, lexicon.find(fold_text(EncodedText(text)), starts, ends)))


@pytest.fixture(scope="module")
def listed() -> Lexicon:
    return Lexicon(LISTED)


@settings(max_examples=400)
@given(rows=st.lists(words, min_size=1, max_size=30))
@example(rows=["THE", "The", "thé", "th", "thee"])
def test_words_are_found_as_a_dictionary_finds_them(listed: Lexicon, rows: list[str]) -> None:
    expected = [LISTED.index(fold_word(row)) if fold_word(row) in LISTED else -1 for row in rows]
    assert look_up(listed, rows) == expected


def test_every_word_of_a_real_vocabulary_is_found_and_no_other() -> None:
    vocabulary = [word for batch in open_starter().batches for word in batch.words]
    folded = list(dict.fromkeys(map(fold_word, vocabulary)))
    lexicon = Lexicon(folded)
    assert len(lexicon) == len(folded)
    numbers = {word: number for number, word in enumerate(folded)}
    shouted = [word.upper() for word in folded]
    assert look_up(lexicon, shouted) == [numbers.get(fold_word(word), -1) for word in shouted]
    assert look_up(lexicon, folded) == list(range(len(folded)))
    assert set(look_up(lexicon, [f"{word}zq" for word in folded])) == {-1}


def test_every_character_is_folded_as_python_does() -> None:
    characters = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    changed = [character for character in characters if character.lower() != character]
    lower = list(dict.fromkeys(character.lower() for character in changed))
    lexicon = Lexicon(lower)
    assert look_up(lexicon, changed) == [lower.index(character.lower()) for character in changed]


def test_an_empty_list_holds_nothing() -> None:
    assert look_up(Lexicon([]), ["a", "b"]) == [-1, -1]
