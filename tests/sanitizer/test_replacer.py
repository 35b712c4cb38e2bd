"""Words are found and replaced as by a plain reading of the rules; all else stays byte for byte, in its place."""

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from custext_sql.kinds import Kind
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.randomness import SecureRandomness
from custext_sql.mechanism.sampler import Sampler
from custext_sql.sanitizer import replacer
from custext_sql.sanitizer.policy import POLICIES, Policy
from custext_sql.sanitizer.replacer import Replacer, RowSettings
from custext_sql.sanitizer.tally import CLEAR
from custext_sql.sanitizer.words import Vocabulary, find_words
from custext_sql.text.characters import APOSTROPHES
from custext_sql.text.encoded_text import EncodedText, join_texts
from custext_sql.text.word_boundaries import are_words, fold_word, normalize_words
from tests.small_mapping import small_mapping
from tests.text.test_symbols import without_invisible
from tests.text.test_word_boundaries import read_words

PAPER = POLICIES["paper"]
WORDS = ["alice", "bob", "carol", "dave", "the", "don't", "naïve", "42", "s", "brien", "x" * 30, "привет"]
STOPWORDS = frozenset({"the", "she", "don't", "she's", "o"})
ENDINGS = ("s", "t", "re", "ve", "ll", "d", "m")

pieces = st.sampled_from(
    [
        *("Alice", "BOB", "the", "The", "she", "She's", "DON’T", "don't", "Alice's", "O'Brien", "naïve"),
        *("NAÏVE", "nai\u0308ve", "42", "1234", "٣٤", "covid19", "zoe"),
        *("rock'n'roll", "you'll've", "ПРИВЕТ", "İ", "'", "’", "—", "😀"),
        *("ＡＬＩＣＥ", "Alice’ｓ", "ＳＨＥ's", "２０²"),
        *("４２", "½", "❤\ufe0f", "\u0301", "\u200b", "bo\xadb"),
        *("x" * 30, "X" * 31, " ", "\n", "\x00"),
    ]
)
texts = st.one_of(
    st.lists(pieces, max_size=12).map("".join),
    st.lists(pieces, max_size=12).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    return small_mapping(WORDS, k=4)


@pytest.fixture(scope="module")
def vocabulary(mapping: Mapping) -> Vocabulary:
    return Vocabulary(mapping, STOPWORDS)


def find_listed(word: str, listed: Collection[str]) -> str | None:
    """Return the listed word that a word matches, in its own spelling or in NFKC."""
    if fold_word(word) in {*WORDS, *STOPWORDS, *ENDINGS}:
        return fold_word(word) if fold_word(word) in listed else None
    normal = normalize_words(word)
    return normal if normal in listed and are_words([normal])[0] else None


def read_kinds(text: str, plus: bool) -> list[tuple[str, int]]:
    """Return words and kinds, found one by one."""
    found: list[tuple[str, int]] = []

    def decide(word: str) -> int:
        if plus and find_listed(word, STOPWORDS) is not None:
            return Kind.STOPWORD
        if find_listed(word, WORDS) is not None and "'" not in fold_word(word):
            return Kind.REPLACED
        return Kind.NUMBER if word.isdecimal() or normalize_words(word).isdecimal() else Kind.UNKNOWN

    position = 0
    for parts in read_words(text):
        joined = re.compile(f"[{APOSTROPHES}]".join(map(re.escape, parts))).search(text, position)
        assert joined is not None
        position = joined.end()
        if len(parts) == 1 or decide(joined[0]) == Kind.STOPWORD:
            found.append((joined[0], decide(joined[0])))
            continue
        ending = parts[-1:] if find_listed(parts[-1], ENDINGS) is not None else []
        others = parts[: len(parts) - len(ending)]
        for part in others:
            kind = decide(part)
            found.append((part, Kind.UNKNOWN if kind == Kind.STOPWORD and len(others) > 1 else kind))
        found += [(part, Kind.ENDING) for part in ending]
    return found


def replaced(rows: Sequence[str], mapping: Mapping, vocabulary: Vocabulary, policy: Policy, plus: bool) -> list[str]:
    settings = RowSettings(1.0, plus)
    sampler = Sampler(mapping, "paper")
    result = Replacer(vocabulary, sampler, policy).replace_words(*join_texts(rows), SecureRandomness(), settings)
    content, bounds = result.text.tobytes(), result.offsets.tolist()
    return [content[start:end].decode() for start, end in pairwise(bounds)]


@settings(max_examples=40)
@given(rows=st.lists(st.tuples(texts, st.booleans()), max_size=6))
@example(rows=[("don", True), ("'t", False), ("Alice", True), ("'s", True)])
def test_words_are_decided_on_as_they_read(vocabulary: Vocabulary, rows: list[tuple[str, bool]]) -> None:
    """Stopwords stay in the rows that say so."""
    text, offsets = join_texts([row for row, _ in rows])
    decided = find_words(EncodedText(text), offsets, vocabulary, plus=np.array([plus for _, plus in rows], dtype=bool))
    found: list[list[tuple[str, int]]] = [[] for _ in rows]
    for start, end, row, kind in zip(decided.starts, decided.ends, decided.rows, decided.kinds, strict=True):
        found[row].append((text[start:end].tobytes().decode(), int(kind)))
    assert found == [read_kinds(row, plus) for row, plus in rows]


@settings(max_examples=30)
@given(
    rows=st.lists(texts, max_size=6),
    plus=st.booleans(),
    unknown=st.sampled_from(["keep", "mask", "random"]),
    numbers=st.sampled_from(["shape", "mask", "keep"]),
    invisible=st.sampled_from(["drop", "keep"]),
    few=st.sampled_from([0, 1000]),
)
def test_only_words_change_and_as_the_policy_says(
    mapping: Mapping,
    vocabulary: Vocabulary,
    rows: list[str],
    plus: bool,
    unknown: str,
    numbers: str,
    invisible: str,
    few: int,
) -> None:
    """few: the words from which a text is written by NumPy, not word by word."""
    policy = Policy(unknown, numbers, invisible=invisible, units="keep")
    with patch.object(replacer, "_FEW", few):
        written = replaced(rows, mapping, vocabulary, policy, plus)
    for row, after in zip(rows, written, strict=True):
        before = without_invisible(row) if invisible == "drop" else row
        pattern = ""
        position = 0
        for word, kind in read_kinds(before, plus):
            place = before.index(word, position)
            pattern += re.escape(before[position:place]) + _allowed(word, kind, mapping, unknown, numbers)
            position = place + len(word)
        assert re.fullmatch(pattern + re.escape(before[position:]), after)


def _allowed(word: str, kind: int, mapping: Mapping, unknown: str, numbers: str) -> str:
    anything = "|".join(map(re.escape, mapping.words))
    if kind == Kind.REPLACED:
        return f"(?:{'|'.join(map(re.escape, mapping.find_row(find_listed(word, WORDS) or '')[0]))})"
    if kind == Kind.UNKNOWN:
        return {"keep": re.escape(word), "mask": "<unk>", "random": f"(?:{anything})"}[unknown]
    if kind == Kind.NUMBER:
        return {"keep": re.escape(word), "mask": "<num>", "shape": f"[0-9]{{{len(word)}}}"}[numbers]
    return re.escape(word)


def test_case_can_be_matched(mapping: Mapping, vocabulary: Vocabulary) -> None:
    rows = ["alice Alice ALICE привет Привет ПРИВЕТ A zoe aLICE"]
    for _ in range(20):
        words = replaced(rows, mapping, vocabulary, Policy(unknown="random", case="match"), False)[0].split()
        for word, shape in zip(words, "lTUlTUTll", strict=True):
            folded = fold_word(word)
            assert word == {"l": folded, "T": folded[:1].upper() + folded[1:], "U": folded.upper()}[shape]


def test_counts_are_those_of_a_plain_count(mapping: Mapping, vocabulary: Vocabulary) -> None:
    rows = ["Alice's 1234 naïve the", "", "zoé, She’s", "the the"]
    sampler, settings = Sampler(mapping, "paper"), RowSettings(1.0, True)
    replacer = Replacer(vocabulary, sampler, PAPER)
    result = replacer.replace_words(*join_texts(rows), SecureRandomness(), settings).count()
    kinds = [kind for row in rows for _, kind in read_kinds(row, True)]
    assert result.by_kind.sum(axis=0).tolist() == [kinds.count(kind) for kind in Kind]
    assert result.by_kind[:, Kind.REPLACED].tolist() == result.spent.tolist() == [2, 0, 0, 0]
    assert result.numbers[:, CLEAR].tolist() == [len("sthe"), 0, len("zoéShe’s"), len("thethe")]


def test_digits_are_uniform(mapping: Mapping, vocabulary: Vocabulary) -> None:
    [result] = replaced(["7777777777" * 2000], mapping, vocabulary, PAPER, False)
    counts = np.bincount([int(digit) for digit in result], minlength=10)
    assert len(result) == 20_000
    assert ((counts - 2000) ** 2 / 2000).sum() < 56  # chi-squared with 9 degrees of freedom: about one in 10^8
