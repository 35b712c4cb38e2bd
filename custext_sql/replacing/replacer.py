"""Replaces the words of a block of texts: draws, and writes the new texts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np

from custext_sql.arrays import Bytes, Draws, Flags, Floats, Hashes, Numbers, Places
from custext_sql.mechanism.randomness import DIGIT, UNKNOWN_WORD, Randomness, count_earlier
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.policy import NUMBER_MASK, UNKNOWN_MASK, Policy
from custext_sql.replacing.rewriting import Rewriting
from custext_sql.replacing.row_settings import RowSettings
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.replacing.words import FoundWords, find_words
from custext_sql.text.characters import LOWER, TITLE, UPPER
from custext_sql.text.distinct_spans import find_distinct
from custext_sql.text.encoded_text import (
    EncodedText,
    drop_invisible,
    find_rows,
    hash_spans,
    join_lines,
    join_texts,
    split_lines,
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
    kind: Kind | None = None

    @property
    def in_clear(self) -> bool:
        """Whether it is a word that stands as it was although it was not drawn."""
        return self.kind not in (None, Kind.SAMPLED) and self.before == self.after


@dataclass(frozen=True, eq=False)
class Counts:
    """What was counted in making new texts, for each text."""

    by_kind: Numbers  # words of each kind
    unchanged: Numbers  # sampled words that drew themselves
    characters_in_clear: Numbers  # of words that came out as they were, not being drawn
    symbols: Numbers  # characters that are neither words, spaces nor punctuation and stand in the new texts
    spent: Floats
    unknown_texts: Places  # for each unknown word that was kept, its text
    unknown_hashes: Hashes  # and a number that hardly any other folded word has

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
        np.concatenate([np.zeros((0, len(Kind)), dtype=np.int64), *(part.by_kind for part in parts)]),
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
    cuts: Places  # where words begin and end in turn, between the beginning and the end
    before: EncodedText
    texts: Places  # where each of the old ones begins and ends
    words: FoundWords
    kept: Flags  # which words stand in the new text as they were, not being drawn
    unchanged: Places  # sampled words that drew themselves
    epsilon: float | Floats  # of each row

    def compare(self) -> list[list[Piece]]:
        """Each row piece by piece, before and after: words, and what lies between them. For few rows, not for many."""
        old, new, found = self.before.content.tobytes(), self.text.tobytes(), self.words
        firsts = found.starts.searchsorted(found.offsets).tolist()
        rows = []
        for row, (start, end) in enumerate(pairwise(found.offsets.tolist())):
            pieces, position = [], start
            for place in range(firsts[row], firsts[row + 1]):
                begin, finish = int(found.starts[place]), int(found.ends[place])
                between = old[position:begin].decode()
                after = new[self.cuts[2 * place + 1] : self.cuts[2 * place + 2]].decode()
                pieces += [Piece(between, between), Piece(old[begin:finish].decode(), after, Kind(found.kinds[place]))]
                position = finish
            rest = old[position:end].decode()
            rows.append([piece for piece in (*pieces, Piece(rest, rest)) if piece.before])
        return rows

    def count(self) -> Counts:
        """What was counted, text by text."""
        found, count = self.words, len(self.texts) - 1
        text_of = find_rows(found.starts, self.texts)
        in_clear = self.before.count_characters(found.starts[self.kept], found.ends[self.kept])
        kinds = np.bincount(text_of * len(Kind) + found.kinds, minlength=count * len(Kind)).reshape(count, len(Kind))
        spent: Floats = kinds[:, Kind.SAMPLED].astype(np.float64)
        if isinstance(self.epsilon, float):
            spent *= self.epsilon
        else:
            sampled = found.at(Kind.SAMPLED)
            spent = np.bincount(text_of[sampled], self.epsilon[found.rows[sampled]], count).astype(np.float64)
        symbols = find_symbols(self.before, found.starts, found.ends)
        unknown = (Kind.UNKNOWN.find_in(found.kinds) & self.kept).nonzero()[0]
        return Counts(
            by_kind=kinds,
            unchanged=np.bincount(text_of[self.unchanged], minlength=count),
            characters_in_clear=np.bincount(text_of[self.kept], in_clear, minlength=count).astype(np.int64),
            symbols=np.bincount(self.texts.searchsorted(symbols, "right") - 1, minlength=count),
            spent=spent,
            unknown_texts=text_of[unknown],
            unknown_hashes=_hash_words(self.before, found.starts[unknown], found.ends[unknown]),
        )


def _hash_words(text: EncodedText, starts: Places, ends: Places) -> Hashes:
    """A number for each word, the same for those that fold alike."""
    if text.wide is None or not len(starts):
        return hash_spans(text.lowered, starts, ends)
    spans = find_distinct(text.lowered, starts, ends)
    folded, offsets = split_lines(fold_word(join_lines(spans.content, spans.offsets[:-1], spans.offsets[1:])))
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
        found = find_words(encoded, offsets, self.vocabulary, plus=settings.plus, rules=self.rules)
        return self.replace_found(encoded, offsets, found, randomness, settings.epsilon)

    def replace_found(
        self,
        text: EncodedText,
        texts: Places,
        found: FoundWords,
        randomness: Randomness,
        epsilon: float | Floats,
        chosen: Flags | None = None,
    ) -> Replaced:
        """The same for words that were decided on. texts: where each begins and ends, which is what `randomness` goes
        by; epsilon: that of each row of the words; chosen: which rows are replaced at all.
        """
        rewriting = Rewriting(text.content, found.starts, found.ends)
        spell = _Speller(self.vocabulary, rewriting, text, found, match_case=self.policy.case == "match")
        draw = _Drawing(randomness, found, texts)
        sampled, unknown, numbers, alone = map(found.at, (Kind.SAMPLED, Kind.UNKNOWN, Kind.NUMBER, Kind.ALONE))
        words = found.numbers.take(sampled).astype(np.int64)
        per_word = epsilon[found.rows.take(sampled)] if isinstance(epsilon, np.ndarray) else epsilon
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
            lengths = text.count_characters(found.starts[numbers], found.ends[numbers])
            digits = draw.below(10, np.repeat(numbers, lengths), DIGIT) + ord("0")
            first = rewriting.add(digits.astype(np.uint8), np.append(0, np.cumsum(lengths)))
            rewriting.replace(numbers, first + np.arange(len(numbers)))
        unchanged = sampled[drawn == words]
        if chosen is not None:
            stays = ~chosen.take(found.rows)
            rewriting.keep(stays.nonzero()[0])
            unchanged = unchanged[~stays[unchanged]]
            found = replace(found, kinds=np.where(stays, np.uint8(Kind.KEPT), found.kinds))
        written, offsets, cuts = rewriting.write(found.offsets)
        return Replaced(written, offsets, cuts, text, texts, found, rewriting.find_kept(), unchanged, epsilon)

    def count_sampled(self, text: Bytes, offsets: Places, *, plus: bool | Flags) -> Numbers:
        """How many words of each row would be sampled."""
        encoded, offsets = self.open_text(text, offsets)
        found = find_words(encoded, offsets, self.vocabulary, plus=plus, rules=self.rules)
        return np.bincount(found.rows.take(found.at(Kind.SAMPLED)), minlength=len(offsets) - 1)


@dataclass(frozen=True, eq=False)
class _Drawing:
    """Draws for words, whose texts it finds if it is asked."""

    randomness: Randomness
    words: FoundWords
    texts: Places

    def for_words(self, places: Numbers, words: Numbers) -> Hashes:
        """Return a draw for each of the words at these places, which are these words of the vocabulary."""
        return self.randomness.draw(words, lambda: self._find_places(places, words))

    def _find_places(self, places: Numbers, words: Numbers) -> tuple[Numbers, Numbers]:
        rows = find_rows(self.words.starts, self.texts).take(places)
        if self.words.earlier is None:
            return rows, count_earlier(rows, words)
        return rows, self.words.earlier.take(places) + count_earlier(places, words)  # the digits of a number in turn

    def below(self, limit: int, places: Numbers, symbol: int) -> Numbers:
        """Whole numbers below a limit; none is likelier than another by more than limit parts in 2**64."""
        draws = self.for_words(places, np.full(len(places), symbol, dtype=np.int64))
        return (draws % np.uint64(limit)).astype(np.int64)


class _Speller:
    """Writes words of the vocabulary in place of those of the text: in lower case, or in their case."""

    def __init__(
        self, vocabulary: Vocabulary, rewriting: Rewriting, text: EncodedText, found: FoundWords, *, match_case: bool
    ) -> None:
        self._rewriting = rewriting
        self._cases = find_cases(text, found.starts, found.ends) if match_case else None
        spellings = [vocabulary.spelling(case) for case in ((LOWER, TITLE, UPPER) if match_case else (LOWER,))]
        self._firsts = np.array([rewriting.add(spelling.text, spelling.offsets) for spelling in spellings])

    def write(self, places: Numbers, words: Numbers) -> None:
        firsts = self._firsts[0] if self._cases is None else self._firsts[self._cases[places]]
        self._rewriting.replace(places, firsts + words)
