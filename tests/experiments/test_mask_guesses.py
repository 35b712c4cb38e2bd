"""Counts of correct guesses."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.mask_attack import GuessCounts, count_guesses
from custext_sql.kinds import Kind
from custext_sql.parameters import count_of
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sanitizer.settings import Settings
from custext_sql.sanitizer.traced_text import Piece
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


def test_guesses_are_compared_with_the_original_words() -> None:
    texts = [[Piece("alice", "bob", Kind.REPLACED), SPACE, Piece("carol", "dave", Kind.REPLACED)]]
    assert count_guesses(texts, Parrot([["alice", "dave"]])) == GuessCounts(2, 1, 2, 1)


def test_replaced_words_are_counted_apart_from_kept_ones() -> None:
    texts = [
        [Piece("the", "the", Kind.STOPWORD), SPACE, Piece("alice", "bob", Kind.REPLACED)],
        [Piece("the", "the", Kind.STOPWORD), SPACE, Piece("erin", "erin", Kind.REPLACED)],
    ]
    result = count_guesses(texts, Parrot())
    assert result == GuessCounts(words=4, guessed=3, replaced=2, replaced_guessed=1)
    assert (result.r_mask, result.r_mask_replaced) == (0.75, 0.5)
    assert result.standard_error == pytest.approx(math.sqrt(0.75 * 0.25 / 4))


def test_original_words_are_folded() -> None:
    texts = [[Piece("Don’t", "x", Kind.REPLACED), SPACE, Piece("ALICE", "x", Kind.REPLACED)]]
    assert count_guesses(texts, Parrot([["don't", "alice"]])).guessed == 2


def test_texts_without_words_do_no_harm() -> None:
    texts = [[], [Piece("?!", "?!")], [Piece("alice", "alice", Kind.REPLACED)]]
    assert count_guesses(texts, Parrot()).words == 1


def test_without_replaced_words_their_share_is_none() -> None:
    assert count_guesses([[Piece("the", "the", Kind.STOPWORD)]], Parrot()).r_mask_replaced is None


@pytest.mark.parametrize("texts", [[], [[]], [[Piece("...", "...")]]])
def test_nothing_to_attack_is_an_error(texts: list[list[Piece]]) -> None:
    with pytest.raises(SettingError, match=f"found no words to attack in {count_of(len(texts), 'text')}"):
        count_guesses(texts, Parrot())


def test_a_guesser_with_too_few_guesses_is_caught() -> None:
    with pytest.raises(ValueError, match="shorter"):
        count_guesses([[Piece("alice", "bob", Kind.REPLACED)]], Parrot([[]]))
    with pytest.raises(ValueError, match="shorter"):
        count_guesses([[Piece("alice", "bob", Kind.REPLACED)]], Parrot([]))


def test_progress_goes_up_to_one() -> None:
    told: list[float] = []
    count_guesses([[Piece("alice", "bob", Kind.REPLACED)]] * 4, Parrot(), progress=told.append)
    assert told == [0.25, 0.5, 0.75, 1.0]


def test_repeating_the_new_words_is_right_where_a_word_drew_itself(words: Sequence[str]) -> None:
    sanitizer = Sanitizer(small_mapping(words, k=4), frozenset(), Settings.settle(policy="paper"))
    texts = sanitizer.compare(["Alice, Bob and Carol met Dave."] * 50, eps=1.0)
    result = count_guesses(texts, Parrot())
    drawn = [piece for pieces in texts for piece in pieces if piece.kind == Kind.REPLACED]
    assert result.words == 50 * 6  # `and` and `met` are not in the mapping, so they are kept
    assert (result.replaced, result.guessed) == (200, 100 + result.replaced_guessed)
    assert result.replaced_guessed == sum(piece.before.lower() == piece.after for piece in drawn)
    assert 0 < result.replaced_guessed < 200
