"""Guessing words by their neighbors in public texts."""

import re
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks import mask_attack
from custext_sql.experiments.attacks.mask_attack import NgramGuesser, count_guesses, learn_ngrams
from custext_sql.parameters import count_of
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.replacer import Piece
from custext_sql.replacing.vocabulary import Vocabulary
from tests.small_mapping import small_mapping

SPACE = Piece(" ", " ")
VOCABULARY = Vocabulary(small_mapping(["don't", "alice", "house"], k=2), frozenset())
word_lists = st.lists(st.sampled_from("abcdef"), max_size=7)


def to_pieces(words: Sequence[str]) -> list[Piece]:
    """Return a text of these words as pieces."""
    return [piece for word in words for piece in (SPACE, Piece("?", word, Kind.SAMPLED))]


def learn_from(texts: Sequence[str | None]) -> NgramGuesser:
    """Return a guesser that learned from texts without words with apostrophes, except don't."""
    return learn_ngrams(texts, VOCABULARY)


def guess(guesser: NgramGuesser, text: str) -> list[str]:
    [guesses] = guesser.guess([to_pieces(text.split())])
    return guesses


def guess_naively(public: Sequence[Sequence[str]], text: Sequence[str]) -> list[str]:
    """Return the guess by a readable version of the rules."""
    triples: Counter[tuple[str, str, str]] = Counter()
    behind: Counter[tuple[str, str]] = Counter()
    before: Counter[tuple[str, str]] = Counter()
    count: Counter[str] = Counter()
    for words in public:
        padded = ["<", *words, ">"]
        for left, word, right in zip(padded, padded[1:], padded[2:], strict=False):
            triples[left, word, right] += 1
            behind[left, word] += 1
            before[word, right] += 1
            count[word] += 1
    known = list(dict.fromkeys(word for words in public for word in words))  # max returns the first of equal values
    guesses = []
    padded = ["<", *text, ">"]
    for left, right in zip(padded, padded[2:], strict=False):
        rules = [
            {word: float(triples[left, word, right]) for word in known},
            {word: behind[left, word] * before[word, right] / count[word] for word in known},
            {word: float(behind[left, word]) for word in known},
            {word: float(before[word, right]) for word in known},
            {word: float(count[word]) for word in known},
        ]
        scores = next(scores for scores in rules if any(scores.values()))
        guesses.append(max(known, key=lambda word: scores[word]))
    return guesses


@given(
    st.lists(word_lists, max_size=12).filter(any), st.lists(word_lists, max_size=5), st.sampled_from([1, 3, 1 << 22])
)
def test_guesses_follow_the_rules(public: list[list[str]], texts: list[list[str]], candidates: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mask_attack, "_CANDIDATES", candidates)
        guesser = learn_from([" ".join(words) for words in public])
        found = list(guesser.guess([to_pieces(text) for text in texts]))
    assert found == [guess_naively(public, text) for text in texts]


@given(st.lists(word_lists, max_size=12).filter(any), st.lists(word_lists, max_size=9))
def test_blocks_make_no_difference(public: list[list[str]], texts: list[list[str]]) -> None:
    joined, pieces = [" ".join(words) for words in public], [to_pieces(text) for text in texts]
    expected = list(learn_from(joined).guess(pieces))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("custext_sql.text.columns._BLOCK", 5)
        assert list(learn_from(joined).guess(pieces)) == expected


def test_each_rule_has_its_turn() -> None:
    guesser = learn_from(["red wine tastes good", "red wine tastes odd", "red beer flows", "cold beer tastes good"])
    assert guess(guesser, "red x tastes")[1] == "wine"  # seen between them
    assert guess(guesser, "cold x flows")[1] == "beer"  # seen next to each of them
    assert guess(guesser, "cold x y z")[1] == "beer"  # seen after the left one
    assert guess(guesser, "y x flows")[1] == "beer"  # seen before the right one
    assert guess(guesser, "y x z")[1] == "red"  # the first of the most frequent words


def test_the_ends_of_a_text_are_neighbors() -> None:
    guesser = learn_from(["dear all yours bob", "dear all yours bob", "all yours", "dear", "the dear the bob the"])
    assert guess(guesser, "x all")[0] == "dear"
    assert guess(guesser, "yours x")[1] == "bob"


def test_words_are_folded() -> None:
    guesser = learn_from(["I SHALL know", None, "", "You  shall, know?", "i will know"])
    assert guess(guesser, "I x KNOW")[1] == "shall"
    assert guess(guesser, "YOU x know")[1] == "shall"


def test_words_are_split_as_the_sanitizer_splits_them() -> None:
    vocabulary = Vocabulary(small_mapping(["alice", "house", "is", "here"], k=2), frozenset())
    public = ["alice's house", "alice's house"]
    assert guess(learn_ngrams(public, vocabulary), "alice x house")[1] == "s"


def test_unusual_letters_fold_like_any_word() -> None:
    guesser = learn_from(["ΟΔΥΣΣΕΥΣ sails İstanbul", "οδυσσευς sails home"])
    assert guess(guesser, "x sails")[0] == "οδυσσευς"
    assert guess(guesser, "sails x y")[1] == "İstanbul".lower()


def test_public_texts_help_against_similar_texts() -> None:
    sentences = [f"the {who} sees the {what}" for who, what in (("cat", "rat"), ("dog", "bone"), ("cow", "hay"))]
    guesser = learn_from(sentences)
    plain = [[Piece(word, word, Kind.SAMPLED) for word in re.findall(r"\w+", text)] for text in sentences]
    noise = [[Piece(piece.before, "nothing", Kind.SAMPLED) for piece in pieces] for pieces in plain]
    assert count_guesses(plain, guesser).r_mask > 0.7
    assert count_guesses(noise, guesser).r_mask < 0.5  # two words in five are `the`


@pytest.mark.parametrize("texts", [[], [None, ""], ["... ?!", " "]])
def test_public_texts_without_words_are_an_error(texts: list[str | None]) -> None:
    with pytest.raises(SettingError, match=f"found no words in {count_of(len(texts), 'text')}"):
        learn_from(texts)
