"""Words are found as by a plain reading of the definition; listed words in any spelling; and the scripts of words."""

import pickle
import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from custext_sql.errors import SettingError
from custext_sql.text.characters import APOSTROPHES, CHANGING, find_scripts, find_usual_scripts, traits
from custext_sql.text.encoded_text import EncodedText, find_rows
from custext_sql.text.word_boundaries import WordList, are_words, find_parts, fold_word

texts = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("aB9_'`\u00b4\u2018\u2019 \n.-\u0301é中ب😀\0")),
    max_size=20,
)


IGNORABLE = (0x2065, *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000))  # characters that are not shown


def is_word_character(character: str) -> bool:
    """Circled letters, Braille and characters that are not known yet may be read as letters."""
    category, code = unicodedata.category(character), ord(character)
    if category == "So":
        equivalent = unicodedata.normalize("NFKC", character).strip("()")
        on_black = 0x1F150 <= code < 0x1F16A or 0x1F170 <= code < 0x1F18A
        return (
            on_black or 0x2800 <= code < 0x2900 or (len(equivalent) == 1 and unicodedata.category(equivalent)[0] == "L")
        )
    is_new = category == "Cn" and code not in IGNORABLE and not 0x1F000 <= code < 0x1FB00
    return category[0] in "LMN" or character == "_" or (is_new and not 0x1FC00 <= code < 0x1FFFE)


def is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def read_words(text: str) -> list[list[str]]:
    """Return the words of a text as lists of their parts, read character by character."""
    shape = "".join(
        "m" if is_mark(c) else "w" if is_word_character(c) else "'" if c in APOSTROPHES else " " for c in text
    )
    words = []
    for match in re.finditer("w[wm]*(?:'w[wm]*)*", shape):
        words.append(re.split(f"[{APOSTROPHES}]", text[match.start() : match.end()]))
    return words


def found_words(rows: Sequence[str]) -> list[list[list[str]]]:
    """Return for each row its words as lists of their parts, as the package finds them."""
    encoded = [row.encode() for row in rows]
    buffer = b"".join(encoded)
    offsets = np.cumsum([0, *map(len, encoded)])
    parts = find_parts(EncodedText(np.frombuffer(buffer, dtype=np.uint8)), offsets)
    result: list[list[list[str]]] = [[] for _ in rows]
    going_on = False
    are_joined = np.isin(np.arange(len(parts.starts)), parts.joined)
    rows_of = find_rows(parts.starts, offsets)
    for start, end, row, joined in zip(parts.starts, parts.ends, rows_of, are_joined, strict=True):
        part = buffer[start:end].decode()
        if going_on:
            result[row][-1].append(part)
        else:
            result[row].append([part])
        going_on = bool(joined)
    return result


def test_words_and_other_tokens() -> None:
    words = [
        "she",
        "don't",
        "don’t",
        "o'brien's",
        "snake_case",
        "_",
        "2nd",
        "½",
        "naïve",
        "e\u0301t\u0301",
        "किताब",
        "北京",
    ]
    assert are_words(words).all()
    others = ["", " ", "a b", "at\xa0name", "she\n", "'", "'s", "s'", "a''b", "a'’b", "a-b", "a.b", "...", "$5", "😀"]
    assert not are_words([*others, "\u0301", "\u0301a", "a'\u0301b"]).any()


@given(st.lists(texts, max_size=8))
def test_tokens_are_words_if_they_read_as_one(tokens: list[str]) -> None:
    expected = [len(read_words(token)) == 1 and len("'".join(read_words(token)[0])) == len(token) for token in tokens]
    assert are_words(tokens).tolist() == expected


@settings(max_examples=300)
@given(rows=st.lists(texts, max_size=8))
@example(rows=["don", "'t", "it's", "", "s"])
@example(rows=["a", "b"])
@example(rows=["a'", "b"])
@example(rows=["", "", "a’b’c", ""])
@example(rows=["a", "\u0301b", "a\u0301\u0308", "\u0301", ".\u0301a_\u0301"])
@example(rows=["a", "\u0301b", "❤\ufe0fa", "a'\u0301b"])
def test_words_are_found_as_they_read(rows: list[str]) -> None:
    assert found_words(rows) == [read_words(row) for row in rows]


@pytest.mark.slow
def test_every_character_follows_its_unicode_category() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    assert are_words(characters).tolist() == [is_word_character(one) and not is_mark(one) for one in characters]
    marked = [f"a{character}" for character in characters]
    assert are_words(marked).tolist() == [is_word_character(character) for character in characters]


@pytest.mark.slow
def test_every_character_that_nfkc_may_change_is_looked_at() -> None:
    """NFKC may change a character, move it, or join it with the one before it."""
    for code in range(0x110000):
        found = int(traits.find(np.array([code]))[0]) & CHANGING
        decomposed = unicodedata.normalize("NFKD", chr(code))
        canonical = unicodedata.decomposition(chr(code)).split()
        if unicodedata.normalize("NFKC", chr(code)) != chr(code) or unicodedata.combining(chr(code)):
            assert found, hex(code)
        if len(canonical) == 2 and not canonical[0].startswith("<"):
            assert int(traits.find(np.array([int(canonical[1], 16)]))[0]) & CHANGING, canonical
        if 0xAC00 <= code < 0xD7A4:  # Hangul is composed by a formula
            assert all(int(traits.find(np.array([ord(one)]))[0]) & CHANGING for one in decomposed[1:])


def test_folding() -> None:
    assert fold_word("Don’t") == "don't"
    assert fold_word("ΟΔΟΣ") == "οδος"


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


def test_a_word_has_the_scripts_of_its_letters() -> None:
    words = {"word": "LATIN", "ärzte": "LATIN", "мария": "CYRILLIC", "東京": "CJK", "ひらがな": "HIRAGANA"}
    assert {word: " ".join(find_scripts(word)) for word in words} == words
    assert find_scripts("ｗｉｄｅ") == {"LATIN"}  # full width
    assert find_scripts("iphone用") == {"LATIN", "CJK"}
    assert find_scripts("12_") == find_scripts("\u02bc") == find_scripts("") == set()  # a modifier letter has none


def test_rare_scripts_are_not_usual() -> None:
    assert find_usual_scripts(["word"] * 990 + ["слово"] * 9 + ["東京"]) == {"LATIN"}
    assert find_usual_scripts(["слово"] * 98 + ["word"] * 2) == {"LATIN", "CYRILLIC"}
    assert find_usual_scripts(["word"] * 50_000 + ["слово"] * 50_000) == {"LATIN", "CYRILLIC"}
    assert find_usual_scripts([]) == set()
