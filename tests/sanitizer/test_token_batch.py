"""Documents that were tokenized elsewhere come out like their texts, however they are split into tokens."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custext_sql import Sanitizer
from custext_sql.arrays import Floats
from custext_sql.kinds import Kind
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.randomness import SecretKey
from custext_sql.sanitizer.policy import Policy
from custext_sql.sanitizer.settings import Settings
from custext_sql.sanitizer.tally import CLEAR, Tally
from custext_sql.sanitizer.token_batch import SanitizedTokens, TokenBatch
from custext_sql.store.key_files import KeyFile, KeySettings, digest_stopwords
from custext_sql.text import columns
from custext_sql.text.columns import open_column
from custext_sql.text.encoded_text import join_texts
from tests.small_mapping import small_mapping

WORDS = ["alice", "bob", "carol", "dave", "do", "don't", "n", "s", "x1", "erin"]
STOPWORDS = frozenset({"the", "do"})
RANDOM = Policy(unknown="random")


def make_batch(documents: Sequence[Sequence[str]]) -> TokenBatch:
    """Return tokens as written here, each with the space after it."""
    text, offsets = join_texts([token for document in documents for token in document])
    return TokenBatch(text, offsets, np.cumsum([0, *map(len, documents)]))


def read(result: SanitizedTokens) -> list[str]:
    content = result.text.tobytes()
    return [content[start:end].decode() for start, end in pairwise(result.offsets.tolist())]


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    return small_mapping(WORDS, k=5)


@pytest.fixture(scope="module")
def sanitizer(mapping: Mapping) -> Sanitizer:
    return Sanitizer(mapping, STOPWORDS)


@pytest.fixture(scope="module")
def keyed(mapping: Mapping) -> Sanitizer:
    return Sanitizer(mapping, STOPWORDS, Settings.settle(policy=RANDOM, key=make_key_for(mapping)))


def make_key_for(mapping: Mapping, policy: Policy = RANDOM) -> KeyFile:
    settings = KeySettings(
        mapping=mapping.info.name,
        fingerprint=mapping.info.fingerprint,
        eps=2.0,
        plus=True,
        policy=policy,
        calibration="paper",
        language="english",
        stopwords=digest_stopwords(STOPWORDS),
    )
    return KeyFile(path=None, settings=settings, key=SecretKey(b"k" * 32))  # type: ignore[arg-type]


def sanitize(
    sanitizer: Sanitizer, documents: Sequence[Sequence[str]], eps: float | Floats = 0.0, **options: Any
) -> SanitizedTokens:
    batch = make_batch(documents)
    return sanitizer.sanitize_tokens(batch, np.broadcast_to(eps, len(batch.offsets) - 1).astype(float), **options)


def list_kinds(result: SanitizedTokens) -> str:
    """Return one letter per token: s(ampled), t (stopword), n(umber), u(nknown), e(nding), k(ept), a(lone), U(nit)."""
    return "".join("stnuekaU"[kind] for kind in result.kinds)


# Tokens, what they become, and their kinds. At eps = 0, "carol" becomes "bob".
SPLIT = [
    (["Alice", "'s ", "the ", "bob+carol"], ["alice", "'s ", "the ", "bob+bob"], "sets"),
    (["al", "i", "ce ", "d", "o ", "carol"], ["alice", "", " ", "d", "o ", "bob"], "ssstts"),
    (["12", "34 ", "__ ", "zz", "z"], ["<num>", " ", "<unk> ", "<unk>", ""], "nnuuu"),
    (["do", "n't ", "bob"], ["<unk>", "'t ", "bob"], "uus"),
    (["zz", "z’", "S", ", "], ["<unk>", "’", "S", ", "], "uuek"),
]


@pytest.mark.parametrize(("tokens", "expected", "kinds"), SPLIT)
def test_a_word_that_goes_over_several_tokens_is_one_word(
    mapping: Mapping, tokens: list[str], expected: list[str], kinds: str
) -> None:
    """Its output is in the first one, unless it is kept; kinds mark every token that has a part of it."""
    sanitizer = Sanitizer(mapping, STOPWORDS, Settings.settle(plus=True))
    result = sanitize(sanitizer, [["carol "], tokens, []])
    assert read(result)[1:] == expected
    assert list_kinds(result)[1:] == kinds
    [whole] = sanitizer.sanitize_batch(["".join(tokens)], 0.0)
    assert whole == "".join(expected)


def test_a_word_ends_with_its_document(sanitizer: Sanitizer) -> None:
    result = sanitize(sanitizer, [["alice"], ["'s"], ["bo"], ["b"], [], ["bob", "n"]])
    assert list_kinds(result) == "ssuuuu"
    assert result.counts.by_kind.sum(axis=1).tolist() == [1, 1, 1, 1, 0, 1]


def test_a_word_is_replaced_if_one_of_its_tokens_is_and_at_their_smallest_eps(sanitizer: Sanitizer) -> None:
    stays = np.nan
    documents = [["bo", "b ", "bob ", "b", "o", "b"], ["zz", "z ", "zzz"]]
    eps = np.array([stays, 2.0, stays, 3.0, 0.5, stays, 1.0, stays, stays])
    result = sanitize(sanitizer, documents, eps)
    assert list_kinds(result) == "ssksssuuk"
    assert result.counts.spent.tolist() == [2.5, 0.0]
    assert read(result)[2] == "bob " and read(result)[6:] == ["<unk>", " ", "zzz"]
    assert result.joined.tolist() == [False, True, False, False, True, True, False, True, False]


def test_what_is_not_sensitive_stays_and_is_counted(sanitizer: Sanitizer) -> None:
    documents = [["Alice ", "Bob ", "zzz ", "12345 ", "the"], ["CAROL"]]
    result = sanitize(sanitizer, documents, np.array([1.0, *[np.nan] * 5]))
    assert read(result)[1:] == ["Bob ", "zzz ", "12345 ", "the", "CAROL"]
    assert list_kinds(result) == "skkkkk"
    assert result.counts.by_kind.tolist() == [[1, 0, 0, 0, 0, 4, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0]]
    assert result.counts.numbers[:, CLEAR].tolist() == [len("Bobzzz12345the"), len("CAROL")]
    assert result.counts.spent.tolist() == [1.0, 0.0]


# Tokens, what they become, and which of them a unit begins in (u) or goes on in (j).
UNITS = [
    (["carol ", "+49 ", "30 ", "1234567 ", "bob"], ["bob ", "<phone>", "", " ", "bob"], "-ujj-"),
    (["1980", "-", "01", "-", "02"], ["<date>", "", "", "", ""], "ujjjj"),
    (["zzz:bob", "@carol.x1", ", ", "bob"], ["<unk>:<email>", "", ", ", "bob"], "uj--"),
    (["zzz:bob@carol.x1, ", "bob"], ["<unk>:<email>, ", "bob"], "u-"),
    (["bob@carol", ".x1;", "bob"], ["<email>", ";", "bob"], "uj-"),
    (["1/2/1980", ";12", ":30"], ["<date>", ";<time>", ""], "uuj"),
    (["1/2", "/1980;12", ":30"], ["<date>", ";<time>", ""], "ujj"),
    (["bob@carol.x1", "'s ", "bob"], ["<email>", " ", "bob"], "uj-"),
    (["D", "E89", "370400440532013000"], ["<iban>", "", ""], "ujj"),
    (["5:30", "pm"], ["<time>", ""], "uj"),
    (["bob ", "::", " bob"], ["bob ", "::", " bob"], "---"),
]


@pytest.mark.parametrize(("tokens", "expected", "marks"), UNITS)
def test_a_unit_is_in_the_first_of_its_tokens(
    sanitizer: Sanitizer, tokens: list[str], expected: list[str], marks: str
) -> None:
    result = sanitize(sanitizer, [["carol ", "carol"], tokens, [], ["carol"]])
    assert read(result) == ["bob ", "bob", *expected, "bob"]
    assert [mark in "uj" for mark in marks] == Kind.UNIT.find_in(result.kinds)[2:-1].tolist()
    units = sum(token.count("<") - token.count("<unk>") for token in expected)
    assert result.counts.by_kind[:, Kind.UNIT].tolist() == [0, units, 0, 0]
    content = result.text.tobytes()
    for begin, start, joined in zip(result.begins, result.offsets, result.joined, strict=False):
        assert re.fullmatch(rb"<[a-z]+>" if joined else b"", content[begin:start])
    assert result.joined[2:-1].tolist() == [mark == "j" for mark in marks]


NUMBERS = ["1", "12", "1980", "4532015112830366", "DE89370400440532013000", "fe80", "5:30pm", "a@x1"]
parts = st.sampled_from(
    ["alice", "bob", "don", "t", "zzz", "the", "é", "e\u0301", "ﬁ", "٣", "\U0001f600", "\u0345", "İ", *NUMBERS]
)
marks = st.sampled_from([*" -/.:@+()_'’－\n", "", "::", "://", ", ", "''", "\u200b", "\ufe0f"])


@settings(max_examples=60)
@given(st.lists(st.lists(st.tuples(parts, marks), max_size=8), max_size=3), st.sets(st.integers(1, 60)))
def test_documents_come_out_like_their_texts(
    sanitizer: Sanitizer, keyed: Sanitizer, written: list[list[tuple[str, str]]], cuts: set[int]
) -> None:
    """Byte for byte, at eps = 0 and with a key, wherever a tokenizer cuts; the counts are the same too."""
    texts = ["".join(part + mark for part, mark in text) for text in written]
    documents = []
    for text in texts:
        places = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
        documents.append([text[start:end] for start, end in pairwise(places) if start < end])
    records = [f"r{number}" for number in range(len(texts))]
    for one, eps, known_by in ((sanitizer, 0.0, None), (keyed, 2.0, records)):
        result = sanitize(one, documents, eps, records=known_by)
        expected, tally = one.sanitize_batch(texts, eps, records=known_by), Tally()
        tokens = iter(read(result))
        assert ["".join(next(tokens) for _ in document) for document in documents] == expected
        one.sanitize_column(open_column(texts)[0], eps, tally=tally, records=known_by)
        assert result.counts.by_kind.sum(axis=0).sum() == tally.words


def test_budgets_are_those_of_the_tokens(sanitizer: Sanitizer) -> None:
    """At the largest eps, the likeliest output is nearly certain; at the smallest, it is like any other."""
    result = sanitize(sanitizer, [["alice "] * 4000], np.tile([0.001, 100.0], 2000))
    drawn = np.array(read(result))
    chances = sanitizer.distribution("alice", 100.0)
    likeliest, chance = next(iter(chances.items()))
    assert np.mean(drawn[1::2] == f"{likeliest} ") == pytest.approx(chance, abs=0.01)
    assert np.mean(drawn[::2] == f"{likeliest} ") == pytest.approx(1 / len(chances), abs=0.06)
    assert result.counts.spent.tolist() == [pytest.approx(2000 * 100.001)]


@pytest.mark.parametrize("policy", [Policy(unknown="random"), Policy(unknown="random", numbers="shape", units="keep")])
def test_with_a_key_a_choice_does_not_shift_what_others_draw(mapping: Mapping, policy: Policy) -> None:
    """Otherwise, a change of the choice would draw again."""
    keyed = Sanitizer(mapping, STOPWORDS, Settings.settle(policy=policy, key=make_key_for(mapping, policy)))
    documents = [["alice ", "bob ", "the ", "alice ", "zzz ", "zzz ", "77 ", "7", "78"]] * 20
    records = [f"r{number}" for number in range(20)]
    everything = read(sanitize(keyed, documents, 2.0, records=records))
    for seed in range(5):
        sensitive = np.random.default_rng(seed).random(len(everything)) < 0.5
        some = read(sanitize(keyed, documents, np.where(sensitive, 2.0, np.nan), records=records))
        assert [token for token, chosen in zip(some, sensitive, strict=True) if chosen] == [
            token for token, chosen in zip(everything, sensitive, strict=True) if chosen
        ]


def test_documents_are_handled_in_blocks(keyed: Sanitizer, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [["alice ", "12", "34 ", "zzz"] * (number % 5) for number in range(50)]
    records = [str(number) for number in range(50)]
    whole = sanitize(keyed, documents, 2.0, records=records)
    monkeypatch.setattr(columns, "_BLOCK", 40)
    parts = sanitize(keyed, documents, 2.0, records=records)
    assert read(whole) == read(parts) and whole.joined.tolist() == parts.joined.tolist()
    assert whole.counts.by_kind.tolist() == parts.counts.by_kind.tolist()
    nothing = sanitize(keyed, [], 2.0, records=[])
    assert read(nothing) == [] and nothing.counts.spent.tolist() == []
