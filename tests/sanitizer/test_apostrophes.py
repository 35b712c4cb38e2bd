"""Words with apostrophes: what is kept, what is looked up, and that words of a group cannot be told apart there."""

import numpy as np
import pytest

from custext_sql import Kind, Policy, Sanitizer
from custext_sql.sanitizer.settings import Settings
from tests.small_mapping import small_mapping

WORDS = ["brien", "couric", "it", "that", "it's", "o", "smith", "jones", "don", "clock", "o'clock", "angelo"]
STOPWORDS = frozenset({"it", "it's", "that", "o", "d", "y", "all", "s", "t", "don", "don't"})


def open_sanitizer(policy: str | Policy = "strict", *, k: int = 12) -> Sanitizer:
    return Sanitizer(small_mapping(WORDS, k=k), STOPWORDS, Settings.settle(eps=0.0, policy=policy))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's", "It's"),  # listed as a whole
        ("don’t", "don’t"),
        ("That's", "That's"),  # one word with an ending
        ("o", "o"),
        ("O'Brien", "<unk>'brien"),
        ("o’Brien’s", "<unk>’brien’s"),
        ("d'o", "<unk>'<unk>"),
        ("y'all've", "<unk>'<unk>'ve"),
        ("it'that't", "<unk>'<unk>'t"),
        ("smith's", "brien's"),
        ("o'clock", "<unk>'brien"),
        ("o' brien", "o' brien"),  # two words
    ],
)
def test_a_part_of_a_longer_word_is_no_stopword(text: str, expected: str) -> None:
    """An ending does not make a word longer."""
    assert open_sanitizer().sanitize(text, 0.0, True) == expected


@pytest.mark.parametrize("mark", "'`\u00b4\u2018\u2019\u201b\u2032\uff07")
def test_every_apostrophe_joins_and_is_looked_up_as_the_plain_one(mark: str) -> None:
    sanitizer = open_sanitizer()
    texts = [text.replace("'", mark) for text in ("Don't", "O'Brien", "smith's", "y'all've", "o' brien", "'o'", "o''o")]
    expected = ["Don't", "<unk>'brien", "brien's", "<unk>'<unk>'ve", "o' brien", "'o'", "o''o"]
    assert sanitizer.sanitize_batch(texts, 0.0, True) == [text.replace("'", mark) for text in expected]
    kept = Sanitizer(sanitizer.mapping, STOPWORDS, Settings.settle(eps=0.0, policy=Policy(keep_words=["o`clock"])))
    assert kept.sanitize(f"O{mark}Clock", 0.0, False) == f"O{mark}Clock"


@pytest.mark.parametrize("text", ["#{}'t", "@{}'t", "x@{}'t", "{}'t-2025-524501", "www.{}’t", "12::1%{}'t", "{}'t://a"])
def test_a_unit_takes_a_word_with_apostrophes_whether_it_is_listed_or_not(text: str) -> None:
    """The word don't is listed as a stopword, and dan't is not."""
    listed, other = open_sanitizer().sanitize_batch([text.format(word) for word in ("don", "dan")], 0.0, True)
    assert listed == other and listed.startswith("<")


def test_a_word_to_keep_is_kept_as_listed() -> None:
    policy = Policy(keep_words=["smith", "o'clock", "7"])
    kept = open_sanitizer(policy).sanitize("smith smith's O'Clock o'smith 7 o'7", 0.0, False)
    assert kept == "smith smith's O'Clock brien'<unk> 7 brien'<num>"


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("place", ["{}'s", "{}", "{}'t", "o'{}", "{}'clock", "d'{}'s", "{}'{}", "it's {}'brien"])
def test_words_of_a_group_cannot_be_told_apart_beside_an_apostrophe(place: str, plus: bool) -> None:
    """Even if the mapping has "it's" and "o'clock", but not "that's" and "smith'clock"."""
    sanitizer = open_sanitizer(k=4)
    group_of = np.repeat(np.arange(len(sanitizer.mapping.sizes)), sanitizer.mapping.sizes)
    outputs: dict[int, set[str]] = {}
    for word, group in zip(sanitizer.mapping.words, group_of.tolist(), strict=True):
        if "'" not in word and not (plus and word in STOPWORDS):
            outputs.setdefault(group, set()).add(sanitizer.sanitize(place.replace("{}", word), 0.0, plus))
    assert len(outputs) == 3 and {len(some) for some in outputs.values()} == {1}


def test_other_words_do_not_hide_among_words_with_apostrophes() -> None:
    """No text has them as a word that is replaced, so a reader can rule them out; but they may replace others."""
    sanitizer = Sanitizer(small_mapping(["smith", "it's", "o'clock"], k=3))
    traced = sanitizer.trace("smith it's", 0.0)
    assert traced.after == "<unk> <unk>'s" and traced.kinds.tolist() == [Kind.ALONE, Kind.UNKNOWN, Kind.ENDING]
    sanitizer = Sanitizer(small_mapping(["smith", "jones", "o'clock"], k=3))
    assert sanitizer.guarantee({1.0}, {False}).hides_among == 2
    drawn = set(sanitizer.sanitize("smith " * 2000, 0.001).split())
    assert drawn == {"smith", "jones", "o'clock"}
