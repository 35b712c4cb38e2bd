"""A traced text says where each word was and is, and what became of it."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from custext_sql import Kind, Policy, Sanitizer, make_key
from custext_sql.mapping.mapping import Mapping
from custext_sql.sanitizer.settings import Settings
from custext_sql.sanitizer.traced_text import TracedText
from custext_sql.text.word_boundaries import fold_word
from tests.small_mapping import small_mapping

WORDS = ["alice", "bob", "carol", "dave", "straße", "the", "naïve", "zoë"]
STOPWORDS = frozenset({"the", "and"})
POLICIES = [
    Policy(),
    Policy(case="match"),
    Policy(unknown="keep", numbers="keep", units="keep", invisible="keep"),
    Policy(unknown="random", numbers="shape", keep_words=["dave"]),
]
PIECES = [
    *("alice", "Bob", "CAROL", "STRASSE", "Straße", "ａｌｉｃｅ", "the", "and", "NAÏVE", "zyzzyva", "12", "a@b.org"),
    *("dave's", "\u200b", "\xad", "😀", "𝐛𝐨𝐛", "e\u0301", ".", "'"),
    *(" ", " ", " ", "\n", "\r\n", "\ufeff", "\x00"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12).map("".join)


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    return small_mapping(WORDS, k=4)


def open_sanitizer(mapping: Mapping, policy: Policy, eps: float, plus: bool) -> Sanitizer:
    """Return a sanitizer that draws from the start of the same sequence as every other one."""
    return Sanitizer(mapping, STOPWORDS, Settings(eps=eps, plus=plus, policy=policy), seed=5)


def cut(text: str, traced: TracedText, *, new: bool) -> tuple[list[str], list[str]]:
    """Return the words of a text, and what is between them."""
    starts, ends = (traced.new_starts, traced.new_ends) if new else (traced.starts, traced.ends)
    words = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    gaps = [text[end:start] for end, start in zip([0, *ends.tolist()], [*starts.tolist(), len(text)], strict=True)]
    return words, gaps


@pytest.mark.filterwarnings("ignore::custext_sql.errors.PrivacyWarning")
@settings(max_examples=25)
@given(text=TEXTS, policy=st.sampled_from(POLICIES), eps=st.sampled_from([0.0, 2.0]), plus=st.booleans())
@example(text="", policy=POLICIES[0], eps=1.0, plus=False)
@example(text="\u200b", policy=POLICIES[0], eps=1.0, plus=False)
@example(text="😀alice😀 STRASSE 𝐛𝐨𝐛", policy=POLICIES[1], eps=2.0, plus=True)
def test_a_trace_is_what_a_comparison_and_a_release_show(
    mapping: Mapping, text: str, policy: Policy, eps: float, plus: bool
) -> None:
    def open_again() -> Sanitizer:
        return open_sanitizer(mapping, policy, eps, plus)

    traced = open_again().trace(text)
    [pieces] = open_again().compare([text])
    [released], receipt = open_again().release([text])
    words = [piece for piece in pieces if piece.kind is not None]
    assert traced.before == "".join(piece.before for piece in pieces)
    assert traced.after == "".join(piece.after for piece in pieces) == released == open_again().sanitize(text)
    assert traced.kinds.tolist() == [piece.kind for piece in words]
    old, old_gaps = cut(traced.before, traced, new=False)
    new, new_gaps = cut(traced.after, traced, new=True)
    assert old == [piece.before for piece in words]
    assert new == [piece.after for piece in words] == traced.list_outputs()
    assert old_gaps == new_gaps
    assert open_again().receipt(traced.tally) == receipt
    assert int(traced.unchanged.sum()) == receipt.replaced_unchanged
    assert not set(traced.kinds[traced.unchanged].tolist()) - {Kind.REPLACED}
    for word, output, kind, same in zip(old, new, traced.kinds.tolist(), traced.unchanged.tolist(), strict=True):
        if kind == Kind.REPLACED and fold_word(word) in WORDS and policy.case == "lower":
            assert same == (fold_word(word) == output)


def test_characters_that_the_policy_drops_are_in_neither_text(mapping: Mapping) -> None:
    traced = Sanitizer(mapping).trace("al\u00adice 😀 b\u200bob", 0.0)
    assert traced.before == "alice 😀 bob"
    assert (traced.starts.tolist(), traced.ends.tolist()) == ([0, 8], [5, 11])


def test_a_trace_with_a_key_is_that_of_its_record(mapped_db: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "key", mapped_db, eps=2.0)
    sanitizer = Sanitizer.load(mapped_db, key_file=tmp_path / "key")
    text = "alice met bob and carol " * 5
    assert sanitizer.trace(text, record="1").after == sanitizer.sanitize(text, record="1")
    assert sanitizer.trace(text, record="1").after != sanitizer.trace(text, record="2").after
