"""Replaces the words of a block of texts: draws, and writes the new texts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from custext_sql.mapping.similarity import Floats
from custext_sql.mechanism.draw_table import Numbers
from custext_sql.mechanism.randomness import DIGIT, UNKNOWN_WORD, Draws, Randomness, count_earlier
from custext_sql.replacing.policy import NUMBER_MASK, UNKNOWN_MASK, Policy
from custext_sql.replacing.rewriting import Rewriting
from custext_sql.replacing.row_settings import RowSettings
from custext_sql.replacing.vocabulary import ALONE, KEPT, KINDS, NUMBER, SAMPLED, UNKNOWN, Vocabulary
from custext_sql.replacing.words import Tokens, find_tokens
from custext_sql.text.characters import LOWER, TITLE, UPPER
from custext_sql.text.distinct_spans import find_distinct
from custext_sql.text.encoded_text import (
    Bytes,
    EncodedText,
    Flags,
    Places,
    drop_invisible,
    find_rows,
    hash_spans,
    join_texts,
    read_lines,
    write_lines,
)
from custext_sql.text.word_boundaries import RULES, find_cases, find_symbols, fold_word


class Mechanism(Protocol):
    """What draws a word for a word. `Sampler`, which draws from verified tables, makes releases; the others
    are there to be compared with it.
    """

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """The replacement of each word, given by its number, by a uniform 64-bit draw for each."""
        ...


@dataclass(frozen=True)
class Piece:
    """A piece of a text: what it was, what it is now, and what kind of word it is (None: no word)."""

    before: str
    after: str
    kind: int | None = None

    @property
    def in_clear(self) -> bool:
        """Whether it is a word that stands as it was although it was not drawn."""
        return self.kind not in (None, SAMPLED) and self.before == self.after


@dataclass(frozen=True, eq=False)
class Counts:
    """What was counted in making new texts, for each text."""

    by_kind: npt.NDArray[np.int64]  # words of each kind
    unchanged: Numbers  # sampled words that drew themselves
    characters_in_clear: Numbers  # of words that came out as they were, not being drawn
    symbols: Numbers  # characters that are neither words, spaces nor punctuation and stand in the new texts
    spent: Floats
    unknown_texts: Places  # for each unknown word that was kept, its text
    unknown_hashes: npt.NDArray[np.uint64]  # and a number that hardly any other folded word has

    def __getitem__(self, texts: slice) -> "Counts":
        """Return those of some consecutive texts."""
        first, last, _ = texts.indices(len(self.spent))
        within = (self.unknown_texts >= first) & (self.unknown_texts < last)
        return Counts(
            self.by_kind[texts],
            self.unchanged[texts],
            self.characters_in_clear[texts],
            self.symbols[texts],
            self.spent[texts],
            self.unknown_texts[within] - first,
            self.unknown_hashes[within],
        )

    def __add__(self, other: "Counts") -> "Counts":
        """Return those of texts that are counted as one with as many others, each with each."""
        return Counts(
            self.by_kind + other.by_kind,
            self.unchanged + other.unchanged,
            self.characters_in_clear + other.characters_in_clear,
            self.symbols + other.symbols,
            self.spent + other.spent,
            np.concatenate([self.unknown_texts, other.unknown_texts]),
            np.concatenate([self.unknown_hashes, other.unknown_hashes]),
        )


def join_counts(parts: Sequence[Counts]) -> Counts:
    """Those of the texts of all parts."""
    none = np.zeros(0, dtype=np.int64)
    firsts = np.cumsum([0, *(len(part.spent) for part in parts)])
    return Counts(
        np.concatenate([np.zeros((0, KINDS), dtype=np.int64), *(part.by_kind for part in parts)]),
        np.concatenate([none, *(part.unchanged for part in parts)]),
        np.concatenate([none, *(part.characters_in_clear for part in parts)]),
        np.concatenate([none, *(part.symbols for part in parts)]),
        np.concatenate([np.zeros(0), *(part.spent for part in parts)]),
        np.concatenate([none, *(part.unknown_texts + first for part, first in zip(parts, firsts, strict=False))]),
        np.concatenate([np.zeros(0, dtype=np.uint64), *(part.unknown_hashes for part in parts)]),
    )


@dataclass(frozen=True, eq=False)
class Replaced:
    """A block of new texts, and what it was made from."""

    text: Bytes
    offsets: Places  # of rows
    cuts: Places  # where tokens begin and end in turn, between the beginning and the end
    before: EncodedText
    texts: Places  # where each of the old ones begins and ends
    tokens: Tokens
    kept: Flags  # which tokens stand in the new text as they were, not being drawn
    unchanged: Places  # sampled words that drew themselves
    epsilon: float | Floats  # of each row

    def compare(self) -> list[list[Piece]]:
        """Each row piece by piece, before and after: words, and what lies between them. For few rows, not for many."""
        old, new, tokens = self.before.content.tobytes(), self.text.tobytes(), self.tokens
        firsts = tokens.starts.searchsorted(tokens.offsets).tolist()
        rows = []
        for row, (start, end) in enumerate(pairwise(tokens.offsets.tolist())):
            pieces, position = [], start
            for token in range(firsts[row], firsts[row + 1]):
                begin, finish = int(tokens.starts[token]), int(tokens.ends[token])
                between = old[position:begin].decode()
                after = new[self.cuts[2 * token + 1] : self.cuts[2 * token + 2]].decode()
                pieces += [Piece(between, between), Piece(old[begin:finish].decode(), after, int(tokens.kinds[token]))]
                position = finish
            rest = old[position:end].decode()
            rows.append([piece for piece in (*pieces, Piece(rest, rest)) if piece.before])
        return rows

    def count(self) -> Counts:
        """What was counted, text by text."""
        tokens, count = self.tokens, len(self.texts) - 1
        text_of = find_rows(tokens.starts, self.texts)
        in_clear = self.before.count_characters(tokens.starts[self.kept], tokens.ends[self.kept])
        kinds = np.bincount(text_of * KINDS + tokens.kinds, minlength=count * KINDS).reshape(count, KINDS)
        spent: Floats = kinds[:, SAMPLED].astype(np.float64)
        if isinstance(self.epsilon, float):
            spent *= self.epsilon
        else:
            sampled = tokens.at(SAMPLED)
            spent = np.bincount(text_of[sampled], self.epsilon[tokens.rows[sampled]], count).astype(np.float64)
        symbols = find_symbols(self.before, tokens.starts, tokens.ends)
        unknown = ((tokens.kinds == UNKNOWN) & self.kept).nonzero()[0]
        return Counts(
            by_kind=kinds,
            unchanged=np.bincount(text_of[self.unchanged], minlength=count),
            characters_in_clear=np.bincount(text_of[self.kept], in_clear, minlength=count).astype(np.int64),
            symbols=np.bincount(self.texts.searchsorted(symbols, "right") - 1, minlength=count),
            spent=spent,
            unknown_texts=text_of[unknown],
            unknown_hashes=_hash_words(self.before, tokens.starts[unknown], tokens.ends[unknown]),
        )


def _hash_words(text: EncodedText, starts: Places, ends: Places) -> npt.NDArray[np.uint64]:
    """A number for each word, the same for those that fold alike."""
    if text.wide is None or not len(starts):
        return hash_spans(text.lowered, starts, ends)
    spans = find_distinct(text.lowered, starts, ends)
    folded, offsets = read_lines(fold_word(write_lines(spans.content, spans.offsets[:-1], spans.offsets[1:])))
    return hash_spans(folded.lowered, offsets[:-1], offsets[1:]).take(spans.numbers)


@dataclass(frozen=True)
class Replacer:
    """Replaces words by words of their group, and other words as a policy says. rules: by which words are found."""

    vocabulary: Vocabulary
    mechanism: Mechanism
    policy: Policy
    rules: int = RULES

    def open_text(self, text: Bytes, offsets: Places, texts: Places | None = None) -> tuple[EncodedText, Places]:
        """Return a block as words are found in it, without the characters that the policy drops, and its offsets.

        texts: where each begins and ends, if the offsets are not theirs.
        """
        encoded = EncodedText(text)
        if self.policy.invisible == "keep":
            return encoded, offsets
        return drop_invisible(encoded, offsets, offsets if texts is None else texts)

    def replace_words(self, text: Bytes, offsets: Places, randomness: Randomness, settings: RowSettings) -> Replaced:
        """The new texts of a block; what lies between words is as it was, but for the characters that are dropped."""
        encoded, offsets = self.open_text(text, offsets)
        tokens = find_tokens(encoded, offsets, self.vocabulary, plus=settings.plus, rules=self.rules)
        return self.replace_tokens(encoded, offsets, tokens, randomness, settings.epsilon)

    def replace_tokens(
        self,
        text: EncodedText,
        texts: Places,
        tokens: Tokens,
        randomness: Randomness,
        epsilon: float | Floats,
        chosen: Flags | None = None,
    ) -> Replaced:
        """The same for words that were decided on. texts: where each begins and ends, which is what `randomness` goes
        by; epsilon: that of each row of the tokens; chosen: which rows are replaced at all.
        """
        rewriting = Rewriting(text.content, tokens.starts, tokens.ends)
        spell = _Speller(self.vocabulary, rewriting, text, tokens, match_case=self.policy.case == "match")
        draw = _Drawing(randomness, tokens, texts)
        sampled, unknown, numbers, alone = map(tokens.at, (SAMPLED, UNKNOWN, NUMBER, ALONE))
        words = tokens.words.take(sampled).astype(np.int64)
        per_word = epsilon[tokens.rows.take(sampled)] if isinstance(epsilon, np.ndarray) else epsilon
        drawn = self.mechanism.sample(words, per_word, draw.for_words(sampled, words))
        spell.write(sampled, drawn)
        if len(alone):  # under every policy: what drew from its group would be known at once
            rewriting.replace(alone, rewriting.add(*join_texts([UNKNOWN_MASK])))
        if self.policy.unknown == "mask":
            rewriting.replace(unknown, rewriting.add(*join_texts([UNKNOWN_MASK])))
        elif self.policy.unknown == "random":
            spell.write(unknown, draw.below(self.vocabulary.size, unknown, UNKNOWN_WORD))
        if self.policy.numbers == "mask":
            rewriting.replace(numbers, rewriting.add(*join_texts([NUMBER_MASK])))
        elif self.policy.numbers == "shape" and len(numbers):
            lengths = text.count_characters(tokens.starts[numbers], tokens.ends[numbers])
            digits = draw.below(10, np.repeat(numbers, lengths), DIGIT) + ord("0")
            first = rewriting.add(digits.astype(np.uint8), np.append(0, np.cumsum(lengths)))
            rewriting.replace(numbers, first + np.arange(len(numbers)))
        unchanged = sampled[drawn == words]
        if chosen is not None:
            stays = ~chosen.take(tokens.rows)
            rewriting.keep(stays.nonzero()[0])
            unchanged = unchanged[~stays[unchanged]]
            tokens = replace(tokens, kinds=np.where(stays, np.uint8(KEPT), tokens.kinds))
        written, offsets, cuts = rewriting.write(tokens.offsets)
        return Replaced(written, offsets, cuts, text, texts, tokens, rewriting.find_kept(), unchanged, epsilon)

    def count_sampled(self, text: Bytes, offsets: Places, *, plus: bool | Flags) -> Numbers:
        """How many words of each row would be sampled."""
        encoded, offsets = self.open_text(text, offsets)
        tokens = find_tokens(encoded, offsets, self.vocabulary, plus=plus, rules=self.rules)
        return np.bincount(tokens.rows.take(tokens.at(SAMPLED)), minlength=len(offsets) - 1)


@dataclass(frozen=True, eq=False)
class _Drawing:
    """Draws for tokens, which know their text if they are asked."""

    randomness: Randomness
    tokens: Tokens
    texts: Places

    def for_words(self, tokens: Numbers, words: Numbers) -> npt.NDArray[np.uint64]:
        """A draw for each of these tokens, which stand for these words."""
        return self.randomness.draw(words, lambda: self._find_places(tokens, words))

    def _find_places(self, tokens: Numbers, words: Numbers) -> tuple[Numbers, Numbers]:
        rows = find_rows(self.tokens.starts, self.texts).take(tokens)
        if self.tokens.earlier is None:
            return rows, count_earlier(rows, words)
        return rows, self.tokens.earlier.take(tokens) + count_earlier(tokens, words)  # the digits of a number in turn

    def below(self, limit: int, tokens: Numbers, symbol: int) -> Numbers:
        """Whole numbers below a limit; none is likelier than another by more than limit parts in 2**64."""
        draws = self.for_words(tokens, np.full(len(tokens), symbol, dtype=np.int64))
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
