"""Words are found if and only if a dictionary of folded words finds them, however the keys of a hash table collide."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from custext_sql.text.encoded_text import EncodedText, join_texts
from custext_sql.text.lexicon import DIGITS, Lexicon, find_aliases, fold_text
from custext_sql.text.word_boundaries import are_words, fold_word, normalize_words
from custext_sql.vectors.starter import open_starter

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
    text, offsets = join_texts(rows)
    return list(map(int, lexicon.find(fold_text(EncodedText(text)), offsets[:-1], offsets[1:])))


@pytest.fixture(scope="module")
def listed() -> Lexicon:
    return Lexicon(LISTED, {})


@settings(max_examples=400)
@given(rows=st.lists(words, min_size=1, max_size=30))
@example(rows=["THE", "The", "thé", "th", "thee"])
def test_words_are_found_as_a_dictionary_finds_them(listed: Lexicon, rows: list[str]) -> None:
    expected = [LISTED.index(fold_word(row)) if fold_word(row) in LISTED else -1 for row in rows]
    assert look_up(listed, rows) == expected
    assert set(look_up(Lexicon([], {}), rows)) == {-1}


def test_every_word_of_a_real_vocabulary_is_found_and_no_other() -> None:
    vocabulary = [word for batch in open_starter().batches for word in batch.words]
    folded = list(dict.fromkeys(map(fold_word, vocabulary)))
    lexicon = Lexicon(folded, {})
    numbers = {word: number for number, word in enumerate(folded)}
    shouted = [word.upper() for word in folded]
    assert look_up(lexicon, shouted) == [numbers.get(fold_word(word), -1) for word in shouted]
    assert look_up(lexicon, folded) == list(range(len(folded)))
    assert set(look_up(lexicon, [f"{word}zq" for word in folded])) == {-1}


def test_every_character_is_folded_as_python_does() -> None:
    characters = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    changed = [character for character in characters if character.lower() != character]
    lower = list(dict.fromkeys(character.lower() for character in changed))
    lexicon = Lexicon(lower, {})
    assert look_up(lexicon, changed) == [lower.index(character.lower()) for character in changed]


def normalized(lexicon: Lexicon, rows: list[str]) -> list[int]:
    """Words that are not found in their own spelling are found in NFKC."""
    text, offsets = join_texts(rows)
    encoded = EncodedText(text)
    numbers = lexicon.find(fold_text(encoded), offsets[:-1], offsets[1:])
    lexicon.find_normalized(encoded, offsets[:-1], offsets[1:], numbers)
    return list(map(int, numbers))


def test_what_nfkc_takes_apart_is_not_looked_up_and_what_it_writes_as_digits_is_a_number() -> None:
    assert normalized(Lexicon(["1⁄2", "12"], {}), ["½", "１２"]) == [-1, 1]
    assert normalized(Lexicon(["12"], {}), ["１２", "²", "①⑨", "𝟙𝟚", "²a", "½"]) == [0, DIGITS, DIGITS, 0, -1, -1]


def test_a_word_of_the_list_is_no_alias_and_the_first_of_two_is_found() -> None:
    assert find_aliases(["ﬁsh", "fish", "a", "cafe\u0301"]) == {"café": 3}
    assert find_aliases(["ﬁn", "ﬁＮ".lower()]) == {"fin": 0}


@settings(max_examples=60)
@given(rows=st.lists(st.text(st.characters(categories=["L", "M", "N"]), min_size=1, max_size=6), max_size=8))
@example(
    rows=[
        "ﬁsh",
        "FISH",
        "ＦＩＳＨ",
        "cafe\u0301",
        "CAFÉ",
        "J\u030c",
        "ǰ",
        "한국",
        "\u1112\u1161\u11ab\u1100\u116e\u11a8",
    ]
)
@example(rows=["x2", "x²", "¼", "ﷺ", "zoe\u0301", "nai\u0308ve"])
def test_normal_forms_are_those_that_python_finds_one_by_one(rows: list[str]) -> None:
    listed = list(dict.fromkeys(["é", "ﬁ", "中", *(fold_word(row) for row in rows[::3])]))
    aliases = find_aliases(listed)
    numbers = {word: number for number, word in enumerate(listed)} | aliases

    def look_up_alone(row: str) -> int:
        normal = normalize_words(row)
        if fold_word(row) in numbers:
            return numbers[fold_word(row)]
        if not are_words([normal])[0]:
            return -1
        return numbers.get(normal, DIGITS if normal.isdecimal() and normal != row else -1)

    assert normalized(Lexicon(listed, aliases), rows) == list(map(look_up_alone, rows))
