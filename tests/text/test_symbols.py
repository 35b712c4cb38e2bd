"""Invisible characters are dropped, and other symbols pass and are counted."""

import re
import string
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from custext_sql import Policy, Receipt, Sanitizer
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.randomness import KeyedRandomness, SecretKey
from custext_sql.mechanism.sampler import Sampler
from custext_sql.sanitizer.replacer import Replacer, RowSettings
from custext_sql.sanitizer.settings import Settings
from custext_sql.sanitizer.tally import SYMBOLS
from custext_sql.sanitizer.token_batch import TokenBatch
from custext_sql.sanitizer.words import Vocabulary
from custext_sql.text.columns import TextColumn
from custext_sql.text.encoded_text import join_texts
from custext_sql.text.word_boundaries import normalize_words, split_words
from tests.small_mapping import small_mapping
from tests.text.test_word_boundaries import is_mark, is_word_character, read_words

WORDS = ["drug", "café", "naïve", "한국", "dont", "x2", "привет", "ñandú", "straße", "fish"]
STOPWORDS = frozenset({"the", "déjà", "she's"})
HEART = "❤\ufe0f"

# From the tables of Unicode: Default_Ignorable_Code_Point, except category Cf
IGNORABLE = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0, *range(0x180B, 0x1810)}
IGNORABLE |= {*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)}


def character_class(is_in: Callable[[str], bool]) -> str:
    """Return the body of a regular expression class of all characters that satisfy the condition."""
    codes = [code for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000 and is_in(chr(code))]
    runs = [[code for _, code in run] for _, run in groupby(enumerate(codes), key=lambda pair: pair[1] - pair[0])]
    return "".join(f"{re.escape(chr(run[0]))}-{re.escape(chr(run[-1]))}" for run in runs)


def is_invisible(character: str) -> bool:
    return unicodedata.category(character) in ("Cf", "Co") or ord(character) in IGNORABLE


@cache
def compile_dropped() -> re.Pattern[str]:
    """Return the characters to drop: invisible ones, and variation selectors that do not follow a symbol."""
    symbols = character_class(lambda one: unicodedata.category(one)[0] == "S" and not is_word_character(one))
    others = character_class(lambda one: is_invisible(one) and one not in chr(0xFE0E) + chr(0xFE0F))
    return re.compile(f"(?<![{symbols}])[\ufe0e\ufe0f]|[{others}]")


def without_invisible(text: str) -> str:
    """Return a text as the policy `strict` sees it."""
    return compile_dropped().sub("", text)


def count_symbols(text: str) -> int:
    """Return the characters that are neither words, spaces nor punctuation, found one by one."""
    for parts in read_words(text):
        for part in parts:
            text = text.replace(part, " ", 1) if part in text else text
    known = string.whitespace + string.punctuation
    return sum(
        one not in known and unicodedata.category(one)[0] not in "ZPLN" and (not is_word_character(one) or is_mark(one))
        for one in text
    )


pieces = st.sampled_from(
    [
        *WORDS,
        *(unicodedata.normalize("NFD", word) for word in WORDS),
        *("dr\u200bug", "dr\u00adug", "caf\u2060e\u0301", "ＤＲＵＧ", "ｃａｆé", "ﬁsh", "DRUG", "the", "déja\u0300"),
        *(HEART, "❤\ufe0f\ufe0f", "❤\u200b\ufe0f", "+\ufe0e", "a\ufe0f", "👩\u200d⚕\ufe0f", "🇩🇪", "Ⓐ", "№", "°", "€"),
        *("\ufe0f", "\u0301", "\ue000", "\U000e0041", "\u3164", "\u202e", "\x00", "\x1c", "\x7f", "\x85", "\u2028"),
        *("'", "’", "don\u2019t", "she's", "42", "²", "１２", "zoe", "-", "«", " ", "\n", "\t"),
    ]
)
texts = st.one_of(
    st.lists(pieces, max_size=10).map("".join),
    st.lists(pieces, max_size=10).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    return small_mapping(WORDS, k=5)


@pytest.fixture(scope="module")
def strict(mapping: Mapping) -> Sanitizer:
    return Sanitizer(mapping, STOPWORDS)


@pytest.fixture(scope="module")
def paper(mapping: Mapping) -> Sanitizer:
    return Sanitizer(mapping, STOPWORDS, Settings.settle(policy="paper"))


def keyed(sanitizer: Sanitizer, rows: list[str], *, plus: bool = False) -> list[str]:
    """Return texts with draws that depend only on the position of a text and on the positions of its words."""
    records, nothing = [str(number) for number in range(len(rows))], [""] * len(rows)
    randomness = KeyedRandomness(
        SecretKey(b"k" * 32), TextColumn(*join_texts(records)), TextColumn(*join_texts(nothing))
    )
    vocabulary, sampler = Vocabulary(sanitizer.mapping, STOPWORDS), Sampler(sanitizer.mapping, "paper")
    replacer = Replacer(vocabulary, sampler, sanitizer.policy)
    result = replacer.replace_words(*join_texts(rows), randomness, RowSettings(1.0, plus))
    content = result.text.tobytes()
    return [content[start:end].decode() for start, end in pairwise(result.offsets.tolist())]


@pytest.mark.slow
@settings(max_examples=300)
@given(rows=st.lists(texts, max_size=6))
@example(rows=["❤", "\ufe0f", "dr\u200bug", "\u200b", ""])
@example(rows=[HEART + "drug", "drug\ufe0f", "\ufe0f"])
def test_strict_sees_a_text_without_what_nobody_sees(strict: Sanitizer, rows: list[str]) -> None:
    outputs = keyed(strict, rows)
    assert outputs == keyed(strict, [without_invisible(row) for row in rows])
    assert [without_invisible(output) for output in outputs] == outputs
    _, receipt = strict.release(rows)
    _, expected = strict.release([without_invisible(row) for row in rows])
    assert leave_out_draws(receipt) == leave_out_draws(expected)


def leave_out_draws(receipt: Receipt) -> Receipt:
    return replace(receipt, replaced_unchanged=0, texts_unchanged=0)


FORMS: list[Callable[[str], str]] = [
    str.upper,
    lambda word: unicodedata.normalize("NFD", word),
    lambda word: unicodedata.normalize("NFKD", word.upper()),
    lambda word: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" and c != "'" else c for c in word),
    lambda word: word.replace("fi", "ﬁ").replace("x", "𝐱").replace("2", "²").replace("'", "’"),
]


@pytest.mark.parametrize("form", FORMS)
def test_words_are_drawn_however_unicode_writes_them(strict: Sanitizer, form: Callable[[str], str]) -> None:
    for word in WORDS:
        if normalize_words(form(word)) == word:  # false for ß in capitals
            [[piece]] = strict.compare([form(word)])
            assert (piece.before, piece.kind) == (form(word), 0)
            assert piece.after in strict.distribution(word)
            assert keyed(strict, [f"{form(word)} {form(word)}"]) == keyed(strict, [f"{word} {word}"])
    assert sum(normalize_words(form(word)) == word for word in WORDS) >= len(WORDS) - 1


def test_what_is_no_word_in_nfkc_is_unknown_and_what_is_digits_a_number(strict: Sanitizer, paper: Sanitizer) -> None:
    assert strict.sanitize("½ ﷺ ² ① １２ a①") == "<unk> <unk> <num> <num> <num> <unk>"
    kept = paper.sanitize("½ ﷺ ² ① １２ a①").split(" ")
    assert [kept[0], kept[1], kept[5]] == ["½", "ﷺ", "a①"]
    assert [len(number) for number in kept[2:5]] == [1, 1, 2] and "".join(kept[2:5]).isdecimal()


def test_a_picture_before_a_word_hides_it_not(strict: Sanitizer) -> None:
    assert strict.sanitize(f"{HEART}zoe {HEART} {HEART}") == f"{HEART}<unk> {HEART} {HEART}"
    assert keyed(strict, [f"{HEART}drug"]) == [HEART + keyed(strict, ["drug"])[0]]


def make_batch(documents: list[list[str]]) -> TokenBatch:
    text, offsets = join_texts([token for document in documents for token in document])
    return TokenBatch(text, offsets, np.cumsum([0, *map(len, documents)]))


@settings(max_examples=200)
@given(documents=st.lists(st.lists(st.one_of(pieces, pieces.map(lambda piece: f"{piece} ")), max_size=6), max_size=4))
@example(documents=[["❤", "\ufe0f"], ["\ufe0f", "dr\u200bug "], ["\u200b", " "], []])
@example(documents=[["42", "-", "42"]])
def test_tokens_are_seen_without_it_too(strict: Sanitizer, documents: list[list[str]]) -> None:
    """A token keeps its place, even if all its characters are dropped, also in the middle of a word."""
    cleaned = []
    for document in documents:
        marks, position = [], 0
        whole = "".join(document)
        kept = [True] * len(whole)
        for match in compile_dropped().finditer(whole):
            kept[match.start() : match.end()] = [False] * len(match[0])
        for token in document:
            end = position + len(token)
            marks.append("".join(c for c, stays in zip(token, kept[position:end], strict=True) if stays))
            position = end
        cleaned.append(marks)
    eps = np.zeros(sum(map(len, documents)))
    result, expected = (strict.sanitize_tokens(make_batch(rows), eps) for rows in (documents, cleaned))
    for name in ("text", "offsets", "begins", "kinds"):
        assert getattr(result, name).tolist() == getattr(expected, name).tolist()
    assert len(result.offsets) == 1 + len(eps)
    assert result.counts.by_kind.tolist() == expected.counts.by_kind.tolist()
    plain = strict.with_policy(Policy(units="keep")).sanitize_tokens(make_batch(documents), eps)
    assert plain.counts.numbers[:, SYMBOLS].tolist() == [count_symbols("".join(tokens)) for tokens in cleaned]


def test_a_list_of_words_finds_them_however_they_are_written() -> None:
    assert split_words(["dr\u200bug's", "cafe\u0301", "Plain", "ＢＯＢ", ""]) == [
        ["dr", "ug", "s", "ug's", "drug", "s", "drug's"],
        ["cafe\u0301", "café"],
        ["Plain", "plain"],
        ["ＢＯＢ", "bob"],
        [],
    ]
    assert split_words(["Plain it's"]) == [["Plain", "it", "s", "it's"]]


def test_a_policy_may_keep_what_nobody_sees(mapping: Mapping) -> None:
    keeping = Sanitizer(mapping, STOPWORDS, Settings.settle(policy=Policy(invisible="keep")))
    assert keeping.sanitize("dr\u200bug \ue000") == "<unk>\u200b<unk> \ue000"


def test_what_people_may_read_as_letters_does_not_pass_as_symbols(strict: Sanitizer) -> None:
    circled, braille = "\u24bd\u24d4\u24db\u24db\u24de \u24a3\u24a0\U0001f117", "\u2813\u2811\u2807\u2807\u2815"
    white_on_black = "\U0001f157\U0001f158\U0001f177\U0001f178"
    new = "\U00010d40\U00010d4a \U0001c000\U000323b0"  # Garay, newer than Python 3.11; not assigned
    radicals = "\u2f00\u2f01"
    words = f"{circled} {braille} {white_on_black} {new} {radicals}".split(" ")
    assert strict.sanitize_batch([f"({word})" for word in words], 1.0) == ["(<unk>)"] * 7


def test_emoji_are_symbols_also_if_they_are_new(strict: Sanitizer) -> None:
    text = "\U0001f600 \U0001fae9 \U0001faff \u2122 \u2103"
    assert strict.sanitize(text, 1.0) == text
