"""Replaces the words of a block of texts: draws, and writes the new texts."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from custext_sql.characters import LOWER, TITLE, UPPER
from custext_sql.draw_table import Numbers
from custext_sql.encoded_text import Bytes, EncodedText, Flags, Places, join_texts
from custext_sql.policy import NUMBER_MASK, UNKNOWN_MASK, Policy
from custext_sql.randomness import DIGIT, UNKNOWN_WORD, Randomness
from custext_sql.rewriting import Rewriting
from custext_sql.row_settings import RowSettings
from custext_sql.sampler import Sampler
from custext_sql.tokenizer import find_cases
from custext_sql.tokens import Tokens, find_tokens
from custext_sql.vocabulary import NUMBER, SAMPLED, UNKNOWN, Vocabulary


@dataclass(frozen=True)
class Counts:
    """What was counted in making a block of new texts."""

    by_kind: npt.NDArray[np.int64]
    unchanged: int  # sampled words that drew themselves
    characters_in_clear: int  # of words that came out as they were, not being drawn
    sampled_by_row: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Replaced:
    """A block of new texts, and what it was made from."""

    text: Bytes
    offsets: Places
    before: EncodedText
    tokens: Tokens
    kept: Flags  # which tokens stand in the new text as they were, not being drawn
    unchanged: int  # sampled words that drew themselves

    def count(self) -> Counts:
        return Counts(
            by_kind=np.bincount(self.tokens.kinds, minlength=5),
            unchanged=self.unchanged,
            characters_in_clear=int(
                self.before.count_characters(self.tokens.starts[self.kept], self.tokens.ends[self.kept]).sum()
            ),
            sampled_by_row=_count_by_row(self.tokens),
        )


def replace_words(
    text: Bytes,
    offsets: Places,
    vocabulary: Vocabulary,
    sampler: Sampler,
    policy: Policy,
    randomness: Randomness,
    settings: RowSettings,
) -> Replaced:
    """The new texts of a block, everything between words byte for byte as it was."""
    encoded = EncodedText(text)
    tokens = find_tokens(encoded, offsets, vocabulary, plus=settings.plus)
    rewriting = Rewriting(text, tokens.starts, tokens.ends)
    spell = _Speller(vocabulary, rewriting, encoded, tokens, match_case=policy.case == "match")
    sampled, unknown, numbers = map(tokens.at, (SAMPLED, UNKNOWN, NUMBER))
    words = tokens.words.take(sampled).astype(np.int64)
    epsilon = settings.epsilon
    if isinstance(epsilon, np.ndarray):
        epsilon = epsilon[tokens.rows.take(sampled)]
    drawn = sampler.sample(words, epsilon, randomness.draw(words, lambda: tokens.rows.take(sampled)))
    spell.write(sampled, drawn)
    if policy.unknown == "mask":
        rewriting.replace(unknown, rewriting.add(*join_texts([UNKNOWN_MASK])))
    elif policy.unknown == "random":
        spell.write(unknown, _draw_below(vocabulary.size, randomness, tokens.rows[unknown], UNKNOWN_WORD))
    if policy.numbers == "mask":
        rewriting.replace(numbers, rewriting.add(*join_texts([NUMBER_MASK])))
    elif policy.numbers == "shape" and len(numbers):
        lengths = encoded.count_characters(tokens.starts[numbers], tokens.ends[numbers])
        digits = _draw_below(10, randomness, np.repeat(tokens.rows[numbers], lengths), DIGIT) + ord("0")
        first = rewriting.add(digits.astype(np.uint8), np.append(0, np.cumsum(lengths)))
        rewriting.replace(numbers, first + np.arange(len(numbers)))
    written, new_offsets = rewriting.write(offsets)
    return Replaced(written, new_offsets, encoded, tokens, rewriting.find_kept(), int(np.count_nonzero(drawn == words)))


def count_sampled(text: Bytes, offsets: Places, vocabulary: Vocabulary, *, plus: bool | Flags) -> Numbers:
    """How many words of each row would be sampled."""
    return _count_by_row(find_tokens(EncodedText(text), offsets, vocabulary, plus=plus))


def _count_by_row(tokens: Tokens) -> Numbers:
    return np.bincount(tokens.rows.take(tokens.at(SAMPLED)), minlength=len(tokens.offsets) - 1)


def _draw_below(limit: int, randomness: Randomness, rows: Places, symbol: int) -> Numbers:
    """Whole numbers below a limit; none is likelier than another by more than limit parts in 2**64."""
    draws = randomness.draw(np.full(len(rows), symbol, dtype=np.int64), lambda: rows)
    return (draws % np.uint64(limit)).astype(np.int64)


class _Speller:
    """Writes words of the vocabulary in place of tokens: in lower case, or in the case of the token."""

    def __init__(
        self, vocabulary: Vocabulary, rewriting: Rewriting, text: EncodedText, tokens: Tokens, *, match_case: bool
    ) -> None:
        self._rewriting = rewriting
        self._cases = find_cases(text, tokens.starts, tokens.ends) if match_case else None
        spellings = [vocabulary.spelling(case) for case in ((LOWER, TITLE, UPPER) if match_case else (LOWER,))]
        self._firsts = np.array([rewriting.add(spelling.text, spelling.offsets) for spelling in spellings])

    def write(self, tokens: Numbers, words: Numbers) -> None:
        firsts = self._firsts[0] if self._cases is None else self._firsts[self._cases[tokens]]
        self._rewriting.replace(tokens, firsts + words)
