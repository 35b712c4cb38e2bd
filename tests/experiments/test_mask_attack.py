"""The mask attack: counts of correct guesses, and guesses by the neighbors of a word in public texts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.errors import SettingError
from custext_sql.experiments import mask_attack
from custext_sql.experiments.mask_attack import NgramGuesser, count_guesses, learn_ngrams
from custext_sql.kinds import Kind
from custext_sql.parameters import count_of
from custext_sql.sanitizer.traced_text import Piece
from custext_sql.sanitizer.words import Vocabulary
from tests.small_mapping import small_mapping

SPACE = Piece(" ", " ")


@dataclass(frozen=True)
class Parrot:
    """A guesser that returns given guesses, or else the new words themselves."""

    guesses: Sequence[list[str]] | None = None

    def guess(self, texts: Sequence[Sequence[Piece]]) -> Iterator[list[str]]:
        if self.guesses is not None:
            return iter(self.guesses)
        return ([piece.after for piece in pieces if piece.kind is not None] for pieces in texts)


def make_counts(words: int, guessed: int, replaced: int, replaced_guessed: int) -> dict[str, int]:
    return {"words": words, "guessed": guessed, "replaced": replaced, "replaced_guessed": replaced_guessed}


def test_guesses_are_compared_with_the_folded_original_words() -> None:
    texts = [[Piece("ALICE", "bob", Kind.REPLACED), SPACE, Piece("Don’t", "x", Kind.REPLACED)], [Piece("?!", "?!")]]
    assert count_guesses(texts, Parrot([["alice", "dave"], []])) == make_counts(2, 1, 2, 1)
    assert count_guesses(texts, Parrot([["alice", "don't"], []])) == make_counts(2, 2, 2, 2)


def test_replaced_words_are_counted_apart_from_kept_ones() -> None:
    texts = [
        [Piece("the", "the", Kind.STOPWORD), SPACE, Piece("alice", "bob", Kind.REPLACED)],
        [Piece("the", "the", Kind.STOPWORD), SPACE, Piece("erin", "erin", Kind.REPLACED)],
    ]
    result = count_guesses(texts, Parrot())
    assert result == make_counts(4, 3, 2, 1)


@pytest.mark.parametrize("texts", [[], [[]], [[Piece("...", "...")]]])
def test_nothing_to_attack_is_an_error(texts: list[list[Piece]]) -> None:
    with pytest.raises(SettingError, match=f"found no words to attack in {count_of(len(texts), 'text')}"):
        count_guesses(texts, Parrot())


VOCABULARY = Vocabulary(small_mapping(["don't", "alice", "house"], k=2), frozenset())
word_lists = st.lists(st.sampled_from("abcdef"), max_size=7)


def to_pieces(words: Sequence[str]) -> list[Piece]:
    """Return a text of these words as pieces."""
    return [piece for word in words for piece in (SPACE, Piece("?", word, Kind.REPLACED))]


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
        patch.setattr("custext_sql.text.columns._BLOCK", 5 * candidates)
        guesser = learn_from([" ".join(words) for words in public])
        found = list(guesser.guess([to_pieces(text) for text in texts]))
    assert found == [guess_naively(public, text) for text in texts]


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


@pytest.mark.parametrize("texts", [[], [None, ""], ["... ?!", " "]])
def test_public_texts_without_words_are_an_error(texts: list[str | None]) -> None:
    with pytest.raises(SettingError, match=f"found no words in {count_of(len(texts), 'text')}"):
        learn_from(texts)
