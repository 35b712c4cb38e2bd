"""Tokens of other tokenizers are handled one by one, and keyed draws equal those of the whole text."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custext_sql import Sanitizer
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.keyed_randomness import SecretKey
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.policy import Policy
from custext_sql.replacing.token_batch import SanitizedTokens, TokenBatch
from custext_sql.settings import Settings
from custext_sql.store.key_files import KeyFile, KeySettings, digest_stopwords
from custext_sql.text import columns
from custext_sql.text.encoded_text import join_texts
from tests.small_mapping import small_mapping

WORDS = ["alice", "bob", "carol", "dave", "do", "don't", "n", "s", "x1", "erin"]
STOPWORDS = frozenset({"the", "do"})


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
    return Sanitizer(mapping, STOPWORDS, Settings.settle(policy=Policy(unknown="random"), key=make_key_for(mapping)))


def make_key_for(mapping: Mapping) -> KeyFile:
    settings = KeySettings(
        mapping=mapping.info.name,
        fingerprint=mapping.info.fingerprint,
        eps=2.0,
        plus=True,
        policy=Policy(unknown="random"),
        calibration="paper",
        language="english",
        stopwords=digest_stopwords(STOPWORDS),
    )
    return KeyFile(path=None, settings=settings, key=SecretKey(b"k" * 32))  # type: ignore[arg-type]


def test_each_token_is_looked_at_alone(sanitizer: Sanitizer) -> None:
    documents = [
        ["Alice", "'s ", "the ", "bob@carol", ", ", "1234 ", "zzz\n", "do", "n't ", "don't ", "__ "],
        [],
        ["'s ", "Alice ", "'s ", "n't", "’S", "alice", "'s"],
    ]
    result = sanitizer.sanitize_tokens(make_batch(documents), 1.0, True)
    assert result.kinds.tolist() == [
        *(
            Kind.SAMPLED,
            Kind.ENDING,
            Kind.STOPWORD,
            Kind.SAMPLED,
            Kind.KEPT,
            Kind.NUMBER,
            Kind.UNKNOWN,
            Kind.STOPWORD,
            Kind.ENDING,
            Kind.SAMPLED,
            Kind.UNKNOWN,
        ),
        *(
            Kind.SAMPLED,
            Kind.SAMPLED,
            Kind.SAMPLED,
            Kind.SAMPLED,
            Kind.ENDING,
            Kind.SAMPLED,
            Kind.ENDING,
        ),  # after a space it is a word
    ]
    tokens = read(result)
    for before, after in zip([token for document in documents for token in document], tokens, strict=True):
        assert after[-1:].isspace() == before[-1:].isspace()
    assert (tokens[1], tokens[8], tokens[15]) == ("'s ", "n't ", "’S")
    assert tokens[3].split("@")[0] in WORDS
    assert result.counts.by_kind[:, Kind.SAMPLED].tolist() == [4, 0, 5]
    assert result.counts.spent.tolist() == [4.0, 0.0, 5.0]


def test_an_ending_belongs_to_its_own_document(sanitizer: Sanitizer) -> None:
    result = sanitizer.sanitize_tokens(make_batch([["alice"], ["'s"], ["do"], ["n't"], ["bob", "n's-n"]]), 1.0, False)
    assert result.kinds.tolist() == [Kind.SAMPLED] * 6  # n's-n is more than an ending
    assert result.counts.by_kind[4, Kind.SAMPLED] == 3


def test_what_is_not_sensitive_stays_and_is_counted(sanitizer: Sanitizer) -> None:
    batch = make_batch([["Alice ", "Bob ", "zzz ", "12345 ", "the"], ["CAROL"]])
    sensitive = np.array([True, False, False, False, False, False])
    result = sanitizer.sanitize_tokens(batch, 1.0, False, sensitive=sensitive)
    assert read(result)[1:] == ["Bob ", "zzz ", "12345 ", "the", "CAROL"]
    assert result.kinds.tolist() == [Kind.SAMPLED, Kind.KEPT, Kind.KEPT, Kind.KEPT, Kind.KEPT, Kind.KEPT]
    assert result.counts.by_kind.tolist() == [[1, 0, 0, 0, 0, 4, 0], [0, 0, 0, 0, 0, 1, 0]]
    assert result.counts.characters_in_clear.tolist() == [len("Bobzzz12345the"), len("CAROL")]
    assert result.counts.spent.tolist() == [1.0, 0.0]


def test_budgets_are_those_of_the_tokens(sanitizer: Sanitizer) -> None:
    """At the largest eps, the likeliest output is nearly certain; at the smallest, it is like any other."""
    tokens = ["alice "] * 4000
    budgets = np.tile([0.001, 100.0], 2000)
    result = sanitizer.sanitize_tokens(make_batch([tokens]), budgets, False)
    drawn = np.array(read(result))
    likeliest, chance = next(iter(sanitizer.distribution("alice", 100.0).items()))
    assert np.mean(drawn[1::2] == f"{likeliest} ") == pytest.approx(chance, abs=0.01)
    assert np.mean(drawn[::2] == f"{likeliest} ") == pytest.approx(0.2, abs=0.05)
    assert result.counts.spent.tolist() == [pytest.approx(2000 * 100.001)]


chunks = st.sampled_from(
    ["alice", "Bob", "carol's", "don't", "do", "n't", "the", "zzz", "1234", "zzz1", "77km", "12", "don", "bob-bob"]
)


def cut(chunk: str) -> list[str]:
    """Other tokenizers may do so."""
    parts = {"carol's": ["carol", "'s"], "don't": ["do", "n't"], "77km": ["77", "km"], "bob-bob": ["bob", "-", "bob"]}
    return parts.get(chunk, [chunk])


@settings(max_examples=150)
@given(st.lists(st.lists(chunks, max_size=12), min_size=1, max_size=4))
def test_with_a_key_shared_words_come_out_as_they_do_in_the_text(keyed: Sanitizer, rows: list[list[str]]) -> None:
    records = [f"r{number}" for number in range(len(rows))]
    texts = keyed.sanitize_batch([" ".join(row) for row in rows], records=records)
    documents = []
    for row in rows:
        pieces = [cut(chunk) for chunk in row]
        documents.append([part for piece in pieces[:-1] for part in (*piece[:-1], f"{piece[-1]} ")])
        documents[-1] += pieces[-1] if pieces else []
    result = keyed.sanitize_tokens(make_batch(documents), records=records)
    tokens = iter(read(result))
    for row, text, document in zip(rows, texts, documents, strict=True):
        ours = "".join(next(tokens) for _ in document).split(" ") if row else []
        for chunk, expected, found in zip(row, text.split(" "), ours, strict=False):
            if chunk not in ("don't", "77km"):  # words that the other tokenizer does not have
                assert found == expected, chunk


def test_with_a_key_a_choice_does_not_shift_what_others_draw(keyed: Sanitizer) -> None:
    """Otherwise, a change of the choice would draw again."""
    batch = make_batch([["alice ", "bob ", "alice ", "zzz ", "zzz ", "77 ", "77"]] * 20)
    records = [f"r{number}" for number in range(20)]
    everything = read(keyed.sanitize_tokens(batch, records=records))
    for seed in range(5):
        sensitive = np.random.default_rng(seed).random(len(everything)) < 0.5
        some = read(keyed.sanitize_tokens(batch, records=records, sensitive=sensitive))
        assert [token for token, chosen in zip(some, sensitive, strict=True) if chosen] == [
            token for token, chosen in zip(everything, sensitive, strict=True) if chosen
        ]


def test_documents_are_handled_in_blocks(keyed: Sanitizer, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [["alice ", "1234 ", "zzz"] * (number % 5) for number in range(50)]
    records = [str(number) for number in range(50)]
    whole = keyed.sanitize_tokens(make_batch(documents), records=records)
    monkeypatch.setattr(columns, "_BLOCK", 40)
    parts = keyed.sanitize_tokens(make_batch(documents), records=records)
    assert read(whole) == read(parts)
    assert whole.counts.by_kind.tolist() == parts.counts.by_kind.tolist()
    nothing = keyed.sanitize_tokens(make_batch([]), records=[])
    assert read(nothing) == [] and nothing.counts.spent.tolist() == []
