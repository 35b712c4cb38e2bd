"""Words are found if and only if a dictionary of folded words finds them, however the keys of a hash table collide."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from custext_sql.arrays import Hashes
from custext_sql.text import lexicon as module
from custext_sql.text.encoded_text import EncodedText, join_texts
from custext_sql.text.lexicon import DIGITS, NOT_LISTED, HashTable, Lexicon, find_aliases, fold_text
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
    lexicon = Lexicon(lower, {})
    assert look_up(lexicon, changed) == [lower.index(character.lower()) for character in changed]


def normalized(lexicon: Lexicon, rows: list[str]) -> list[int]:
    """Words that are not found in their own spelling are found in NFKC."""
    text, offsets = join_texts(rows)
    encoded = EncodedText(text)
    numbers = lexicon.find(fold_text(encoded), offsets[:-1], offsets[1:])
    lexicon.find_normalized(encoded, offsets[:-1], offsets[1:], numbers)
    return list(map(int, numbers))


ODD = ["ﬁsh", "cafe\u0301", "naïve", "ǰ", "한국", "½", "x2", "ˤ"]


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("fish", "ﬁsh"),
        ("FISH", "ﬁsh"),
        ("ＦＩＳＨ", "ﬁsh"),
        ("café", "cafe\u0301"),
        ("CAFÉ", "cafe\u0301"),
        ("nai\u0308ve", "naïve"),
        ("NAI\u0308VE", "naïve"),
        ("J\u030c", "ǰ"),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국"),
        ("½", "½"),
        ("x²", "x2"),
        ("ʕ", "ˤ"),
        ("¼", None),  # more than one word in NFKC
        ("ﷺ", None),
        ("zoe\u0301", None),
        ("e" + "\u0301" * 600, None),
    ],
)
def test_words_are_found_however_unicode_writes_them(written: str, word: str | None) -> None:
    expected = -1 if word is None else ODD.index(word)
    assert normalized(Lexicon(ODD, find_aliases(ODD)), [written]) == [expected]


def test_what_nfkc_takes_apart_is_not_looked_up_and_what_it_writes_as_digits_is_a_number() -> None:
    assert normalized(Lexicon(["1⁄2", "12"], {}), ["½", "１２"]) == [-1, 1]
    assert normalized(Lexicon(["12"], {}), ["１２", "²", "①⑨", "𝟙𝟚", "²a", "½"]) == [0, DIGITS, DIGITS, 0, -1, -1]


def test_a_word_that_occurs_again_is_found_again() -> None:
    rows = ["nai\u0308ve", "ＦＩＳＨ", "zoe\u0301", "nai\u0308ve", "naïve", "ＦＩＳＨ"]
    assert normalized(Lexicon(ODD, find_aliases(ODD)), rows) == [2, 0, -1, 2, 2, 0]


def test_a_word_of_the_list_is_no_alias_and_the_first_of_two_is_found() -> None:
    assert find_aliases(["ﬁsh", "fish", "a", "cafe\u0301"]) == {"café": 3}
    assert find_aliases(["ﬁn", "ﬁＮ".lower()]) == {"fin": 0}


@pytest.mark.slow
@settings(max_examples=300)
@given(rows=st.lists(st.text(st.characters(categories=["L", "M", "N"]), min_size=1, max_size=6), max_size=8))
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


def keys_of(products: Hashes) -> Hashes:
    """Return the keys whose product with the factor of the first side is this: its highest bits are their slot."""
    inverse = pow(int(module._FACTORS[0]), -1, 1 << 64)
    return products * np.uint64(inverse)


@pytest.mark.parametrize("count", [0, 1, 2, 1000, 60_000])
@pytest.mark.parametrize("parts", [1, 3])
def test_keys_are_found_and_others_are_not(count: int, parts: int) -> None:
    rng = np.random.default_rng(count)
    keys = [rng.integers(1, 1 << 63, size=2 * count, dtype=np.uint64) for _ in range(parts)]
    numbers = rng.permutation(count)
    table = HashTable([key[:count] for key in keys], numbers)
    found = table.find(keys)
    assert found[:count].tolist() == numbers.tolist()
    assert set(found[count:].tolist()) <= {NOT_LISTED}


def test_keys_that_share_a_slot_are_moved_to_the_other_side() -> None:
    keys = keys_of(np.arange(1, 41, dtype=np.uint64))  # forty keys for slot 0 of the first side
    table = HashTable([keys], np.arange(40))
    assert table.find([keys]).tolist() == list(range(40))
    assert table.find([keys_of(np.arange(41, 81, dtype=np.uint64))]).tolist() == [NOT_LISTED] * 40


def test_keys_with_no_place_on_either_side_make_the_table_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    """With equal factors, a key has the same slot on both sides, so that three keys of a slot have two places."""
    monkeypatch.setattr(module, "_FACTORS", np.full(3, module._FACTORS[0]))
    keys = keys_of(np.array([1, 2, 3], dtype=np.uint64) << np.uint64(50))
    table = HashTable([keys], np.arange(3))
    assert table._bits > 4
    assert table.find([keys]).tolist() == [0, 1, 2]


def test_keys_that_differ_in_one_part_only_are_told_apart() -> None:
    first, rest = np.full(500, 7, dtype=np.uint64), np.arange(1, 501, dtype=np.uint64)
    table = HashTable([first[:250], rest[:250]], np.arange(250))
    assert table.find([first, rest]).tolist() == [*range(250), *[NOT_LISTED] * 250]
