"""Tokens of other tokenizers are handled one by one, except for units; keyed draws equal those of the whole text."""

import re
from collections.abc import Sequence
from dataclasses import replace
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
from custext_sql.sanitizing.settings import Settings
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
        ["Alice", "'s ", "the ", "bob+carol", ", ", "1234 ", "zzz\n", "do", "n't ", "don't ", "__ "],
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
    assert tokens[3].split("+")[0] in WORDS
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
    assert result.counts.by_kind.tolist() == [[1, 0, 0, 0, 0, 4, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0]]
    assert result.counts.characters_in_clear.tolist() == [len("Bobzzz12345the"), len("CAROL")]
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
    (["bob@carol.x1", "'s ", "bob"], ["<email>", "'s ", "bob"], "u--"),
    (["D", "E89", "370400440532013000"], ["<iban>", "", ""], "ujj"),
    (["5:30", "pm"], ["<time>", ""], "uj"),
    (["bob ", "::", " bob"], ["bob ", "::", " bob"], "---"),
]


@pytest.mark.parametrize(("tokens", "expected", "marks"), UNITS)
def test_a_unit_is_in_the_first_of_its_tokens(
    sanitizer: Sanitizer, tokens: list[str], expected: list[str], marks: str
) -> None:
    result = sanitizer.sanitize_tokens(make_batch([["carol ", "carol"], tokens, [], ["carol"]]), 0.0, False)
    assert read(result) == ["bob ", "bob", *expected, "bob"]
    assert [mark in "uj" for mark in marks] == Kind.UNIT.find_in(result.kinds)[2:-1].tolist()
    units = sum(token.count("<") - token.count("<unk>") for token in expected)
    assert result.counts.by_kind[:, Kind.UNIT].tolist() == [0, units, 0, 0]
    assert sanitizer.sanitize_batch(["".join(tokens)], 0.0) == ["".join(expected)]
    content = result.text.tobytes()
    for begin, start, joined in zip(result.begins, result.offsets, result.joined, strict=False):
        assert re.fullmatch(rb"<[a-z]+>" if joined else b"", content[begin:start])
    assert result.joined[2:-1].tolist() == [mark == "j" for mark in marks]


@pytest.mark.parametrize("chosen", range(5))
def test_a_unit_is_masked_if_one_of_its_tokens_is_sensitive(sanitizer: Sanitizer, chosen: int) -> None:
    tokens = ["carol ", "+49 ", "30 ", "1234567, ", "bob"]
    result = sanitizer.sanitize_tokens(make_batch([tokens]), 0.0, False, sensitive=np.arange(5) == chosen)
    if chosen in (0, 4):
        assert read(result) == [*(["bob "] if chosen == 0 else ["carol "]), *tokens[1:]]
        assert result.counts.by_kind[0, [Kind.KEPT, Kind.UNIT]].tolist() == [2, 0] and not result.joined.any()
        assert result.counts.characters_in_clear.tolist() == [len("+49 30 1234567" + ["bob", "carol"][chosen == 4])]
    else:
        assert read(result) == ["carol ", "<phone>", "", ", ", "bob"]
        assert result.kinds.tolist() == [Kind.KEPT, Kind.UNIT, Kind.UNIT, Kind.UNIT, Kind.KEPT]
        assert result.counts.by_kind[0, [Kind.KEPT, Kind.UNIT]].tolist() == [2, 1]


parts = st.sampled_from(
    ["alice", "bob", "zzz", "1", "12", "1980", "4532015112830366", "DE89370400440532013000", "fe80", "5:30pm", "a@x1"]
)
marks = st.sampled_from([" ", "-", "/", ".", ":", "::", "://", "@", "+", "(", ")", ", ", "'", "_", "\u200b", "－"])


@settings(max_examples=300)
@given(st.lists(st.tuples(parts, marks), max_size=12), st.sets(st.integers(1, 60)))
def test_units_do_not_depend_on_the_tokens(
    sanitizer: Sanitizer, written: list[tuple[str, str]], cuts: set[int]
) -> None:
    text = "".join(part + mark for part, mark in written)
    places = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    tokens = [text[start:end] for start, end in pairwise(places) if start < end]
    result = sanitizer.sanitize_tokens(make_batch([tokens, tokens]), 0.0, False)
    [expected] = sanitizer.sanitize_batch([text], 0.0)
    units = re.compile("|".join(Policy.UNIT_MASKS))
    assert units.findall("".join(read(result))) == 2 * units.findall(expected)
    if not cuts:
        assert "".join(read(result)) == 2 * expected


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


OTHERWISE = {  # how other tokenizers may cut these
    "carol's": ["carol", "'s"],
    "don't": ["do", "n't"],
    "77km": ["77", "km"],
    "bob-bob": ["bob", "-", "bob"],
    "bob@carol.x1": ["bob@", "carol", ".x1"],
    "+49 30 1234567": ["+", "49 ", "30 ", "12345", "67"],
}
chunks = st.sampled_from(
    [*OTHERWISE, "alice", "Bob", "do", "n't", "the", "zzz", "1234", "zzz1", "12", "don", "12:30pm", "(bob@carol.x1's)"]
)


@settings(max_examples=150)
@given(st.lists(st.lists(chunks, max_size=12), min_size=1, max_size=4))
def test_with_a_key_shared_words_come_out_as_they_do_in_the_text(keyed: Sanitizer, rows: list[list[str]]) -> None:
    records = [f"r{number}" for number in range(len(rows))]
    texts = keyed.sanitize_batch([", ".join(row) for row in rows], records=records)
    documents = []
    for row in rows:
        pieces = [OTHERWISE.get(chunk, [chunk]) for chunk in row]
        documents.append([part for piece in pieces[:-1] for part in (*piece, ", ")])
        documents[-1] += pieces[-1] if pieces else []
    result = keyed.sanitize_tokens(make_batch(documents), records=records)
    tokens = iter(read(result))
    for row, text, document in zip(rows, texts, documents, strict=True):
        ours = "".join(next(tokens) for _ in document).split(", ")
        for chunk, expected, found in zip(row or [""], text.split(", "), ours, strict=True):
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


def test_a_key_of_an_earlier_format_draws_words_that_are_the_only_listed_ones_of_their_group(mapping: Mapping) -> None:
    listed, batch = frozenset({"alice", "bob", "carol"}), make_batch([["alice ", "bob ", "alice"]])
    newest = make_key_for(mapping)
    for key in (None, newest, replace(newest, format=2), replace(newest, format=1)):
        sanitizer = Sanitizer(mapping, STOPWORDS, Settings.settle(key=key, policy=Policy(unknown="random")))
        records = None if key is None else ["r"]
        every = sanitizer.sanitize_tokens(batch, 2.0, True, records=records)
        result = sanitizer.sanitize_tokens(batch, 2.0, True, records=records, listed=listed)
        guarantee = sanitizer.guarantee({2.0}, {True}, listed)
        if key is None or key.format == 3:
            assert read(result)[::2] == ["<unk> ", "<unk>"]
            assert result.kinds.tolist() == [Kind.ALONE, Kind.SAMPLED, Kind.ALONE]
        else:
            assert read(result) == read(every) and result.kinds.tolist() == [Kind.SAMPLED] * 3
        assert key is None or read(result)[1] == read(every)[1]
        assert guarantee.hides_among == 1
    two = sanitizer.guarantee({2.0}, {True}, frozenset({"alice", "dave", "bob", "carol"}))
    assert two.hides_among == 2


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
