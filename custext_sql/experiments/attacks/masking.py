"""Mask token inference: how many original words are guessed from the sanitized words around them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from custext_sql.errors import SettingError
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.replacer import Piece
from custext_sql.text.word_boundaries import fold_word


class Attacker(Protocol):
    """Whoever guesses words."""

    def guess(self, texts: Sequence[Sequence[Piece]]) -> Iterator[list[str]]:
        """For each text a guess for each of its words, folded, from the new words around it and nothing else."""
        ...


@dataclass(frozen=True)
class MaskResult:
    """How many words were attacked and guessed, and how many of those that were drawn anew."""

    words: int
    guessed: int
    sampled: int
    sampled_guessed: int

    @property
    def r_mask(self) -> float:
        """The share of words guessed, 0 to 1."""
        return self.guessed / self.words

    @property
    def privacy(self) -> float:
        """The share of words not guessed, 0 to 1."""
        return 1 - self.r_mask

    @property
    def standard_error(self) -> float:
        """Of r_mask, as if the words were guessed independently of each other."""
        return math.sqrt(self.r_mask * (1 - self.r_mask) / self.words)

    @property
    def r_mask_sampled(self) -> float | None:
        """The share guessed of the words that were drawn anew; None if none was."""
        return self.sampled_guessed / self.sampled if self.sampled else None


def attack_masks(
    texts: Sequence[Sequence[Piece]], attacker: Attacker, *, progress: Callable[[float], None] | None = None
) -> MaskResult:
    """Mask each word of each sanitized text in turn, and count the guesses that equal the original word.

    texts: from `Sanitizer.compare`. progress: called with the share of texts done. SettingError if there is no word.
    """
    if not any(piece.kind is not None for pieces in texts for piece in pieces):
        raise SettingError(f"there are no words to attack in {len(texts)} texts; give texts that have some")
    words = guessed = sampled = sampled_guessed = 0
    for done, (pieces, guesses) in enumerate(zip(texts, attacker.guess(texts), strict=True), start=1):
        attacked = [piece for piece in pieces if piece.kind is not None]
        for piece, guess in zip(attacked, guesses, strict=True):
            right = guess == fold_word(piece.before)
            words += 1
            guessed += right
            sampled += piece.kind == Kind.SAMPLED
            sampled_guessed += right and piece.kind == Kind.SAMPLED
        if progress is not None:
            progress(done / len(texts))
    return MaskResult(words, guessed, sampled, sampled_guessed)
