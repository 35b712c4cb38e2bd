"""Guesses of masked words: the protocol of guessers, and counts of correct guesses."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from custext_sql.errors import SettingError
from custext_sql.parameters import count_of
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.replacer import Piece
from custext_sql.text.word_boundaries import fold_word


class Guesser(Protocol):
    """A guesser of words from the words around them."""

    def guess(self, texts: Sequence[Sequence[Piece]]) -> Iterator[list[str]]:
        """Yield a list per text with a folded guess for each of its words, made only from the new words around it."""
        ...


@dataclass(frozen=True)
class GuessCounts:
    """How many words were attacked and guessed, and how many of those replaced by a draw (sampled)."""

    words: int
    guessed: int
    sampled: int
    sampled_guessed: int

    @property
    def r_mask(self) -> float:
        """The share of words guessed correctly, 0 to 1."""
        return self.guessed / self.words

    @property
    def standard_error(self) -> float:
        """The standard error of r_mask, as if words were guessed independently of each other."""
        return math.sqrt(self.r_mask * (1 - self.r_mask) / self.words)

    @property
    def r_mask_sampled(self) -> float | None:
        """The share guessed correctly among the words replaced by a draw; None if there is no such word."""
        return self.sampled_guessed / self.sampled if self.sampled else None


def count_guesses(
    texts: Sequence[Sequence[Piece]], guesser: Guesser, *, progress: Callable[[float], None] | None = None
) -> GuessCounts:
    """Mask each word of each sanitized text in turn, and count the guesses that equal the original word.

    texts: as `Sanitizer.compare` returns them. progress: called with the share of texts done. SettingError if the texts
    contain no words.
    """
    if not any(piece.kind is not None for pieces in texts for piece in pieces):
        raise SettingError(f"found no words to attack in {count_of(len(texts), 'text')}; use other texts")
    words = guessed = sampled = sampled_guessed = 0
    for done, (pieces, guesses) in enumerate(zip(texts, guesser.guess(texts), strict=True), start=1):
        attacked = [piece for piece in pieces if piece.kind is not None]
        for piece, guess in zip(attacked, guesses, strict=True):
            right = guess == fold_word(piece.before)
            words += 1
            guessed += right
            sampled += piece.kind == Kind.SAMPLED
            sampled_guessed += right and piece.kind == Kind.SAMPLED
        if progress is not None:
            progress(done / len(texts))
    return GuessCounts(words, guessed, sampled, sampled_guessed)
