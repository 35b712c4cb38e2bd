"""Replaces the words of a block of texts by draws, and writes the new texts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np

from custext_sql.arrays import Bytes, Draws, Flags, Floats, Hashes, Numbers, Places
from custext_sql.mechanism.randomness import DIGITS, WORDS, Randomness
from custext_sql.replacing.counts import Counts
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.policy import NUMBER_MASK, UNIT_MASKS, UNKNOWN_MASK, Policy
from custext_sql.replacing.rewriting import Rewriting
from custext_sql.replacing.row_settings import RowSettings
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.replacing.words import FoundWords, find_words
from custext_sql.text.characters import LOWER, TITLE, UPPER
from custext_sql.text.encoded_text import (
    EncodedText,
    drop_invisible,
    find_distinct,
    hash_spans,
    join_lines,
    join_texts,
    split_lines,
    spread_out,
)
from custext_sql.text.word_boundaries import find_cases, find_symbols, fold_word, normalize_words


class Mechanism(Protocol):
    """Draws a replacement for a word. Releases use `Sampler`, which draws from verified tables.

    Others exist only for comparison.
    """

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the replacement of each word, by number. epsilon: one or one per word. draws: uniform 64-bit."""
        ...


@dataclass(frozen=True)
class Piece:
    """A piece of a text before and after. kind: the kind of the word; None if the piece is not a word."""

    before: str
    after: str
    kind: Kind | None = None

    @property
    def in_clear(self) -> bool:
        """Whether the piece is a word that is unchanged without having drawn itself."""
        return self.kind not in (None, Kind.SAMPLED) and self.before == self.after

    @property
    def is_same(self) -> bool:
        """Whether the piece came out as it went in, apart from case and equivalent spellings."""
        return normalize_words(self.before) == normalize_words(self.after)


@dataclass(frozen=True, eq=False)
class Replaced:
    """A block of new texts, and the old texts and words that it was made from."""

    text: Bytes
    offsets: Places  # of rows, or of tokens
    cuts: Places  # of the new text: its start, the start and end of each word, and its end
    before: EncodedText
    words: FoundWords
    kept: Flags  # which words were kept
    unchanged: Places  # replaced words that drew themselves
    epsilon: float | Floats  # of each word

    def compare(self) -> list[list[Piece]]:
        """Return each row in pieces, before and after: words, and the text between them. Slow for many rows."""
        old, new, found = self.before.content.tobytes(), self.text.tobytes(), self.words
        firsts = found.find_firsts().tolist()
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
        """Return the counts of each text."""
        found, count = self.words, len(self.words.offsets) - 1
        text_of = found.rows
        in_clear = self.before.count_characters(found.starts[self.kept], found.ends[self.kept])
        kinds = np.bincount(text_of * len(Kind) + found.kinds, minlength=count * len(Kind)).reshape(count, len(Kind))
        spent: Floats = kinds[:, Kind.SAMPLED].astype(np.float64)
        if isinstance(self.epsilon, float):
            spent *= self.epsilon
        else:
            sampled = found.at(Kind.SAMPLED)
            spent = np.bincount(text_of[sampled], self.epsilon[sampled], count).astype(np.float64)
        symbols = find_symbols(self.before, found.starts, found.ends)
        unknown = (Kind.UNKNOWN.find_in(found.kinds) & self.kept).nonzero()[0]
        kept_in, unchanged = text_of[self.kept], np.bincount(text_of[self.unchanged], minlength=count)
        staying = unchanged + np.bincount(np.append(kept_in, text_of[self._find_same_numbers()]), minlength=count)
        return Counts(
            by_kind=kinds,
            unchanged=unchanged,
            texts_unchanged=((staying == np.einsum("ij->i", kinds)) & (staying > 0)).astype(np.int64),
            characters_in_clear=np.bincount(kept_in, in_clear, minlength=count).astype(np.int64),
            symbols=np.bincount(found.offsets.searchsorted(symbols, "right") - 1, minlength=count),
            spent=spent,
            unknown_texts=text_of[unknown],
            unknown_hashes=_hash_words(self.before, found.starts[unknown], found.ends[unknown]),
        )

    def _find_same_numbers(self) -> Places:
        """Return the numbers all of whose digits drew themselves."""
        numbers: Places = (Kind.NUMBER.find_in(self.words.kinds) & ~self.kept).nonzero()[0]
        lengths = self.words.ends[numbers] - self.words.starts[numbers]
        alike = lengths == self.cuts[2 * numbers + 2] - self.cuts[2 * numbers + 1]
        numbers, lengths = numbers[alike], lengths[alike]
        if not len(numbers):
            return numbers
        old = self.before.content[spread_out(self.words.starts[numbers], lengths)]
        new = self.text[spread_out(self.cuts[2 * numbers + 1], lengths)]
        same: Places = numbers[np.logical_and.reduceat(old == new, np.cumsum(lengths) - lengths)]
        return same


def _hash_words(text: EncodedText, starts: Places, ends: Places) -> Hashes:
    """Return a hash of each word; words with the same folded form have the same hash."""
    if text.wide is None or not len(starts):
        return hash_spans(text.lowered, starts, ends)
    spans = find_distinct(text.lowered, starts, ends)
    folded, offsets = split_lines(fold_word(join_lines(spans.content, spans.offsets[:-1], spans.offsets[1:])))
    return hash_spans(folded.lowered, offsets[:-1], offsets[1:]).take(spans.numbers)


@dataclass(frozen=True)
class Replacer:
    """Replaces words by words of their group, and treats other words by a policy."""

    vocabulary: Vocabulary
    mechanism: Mechanism
    policy: Policy

    def open_text(self, text: Bytes, offsets: Places, texts: Places | None = None) -> tuple[EncodedText, Places]:
        """Return a block without the characters that the policy drops, and its new offsets.

        texts: where each text begins and ends, if `offsets` are those of tokens.
        """
        encoded = EncodedText(text)
        if self.policy.invisible == "keep":
            return encoded, offsets
        return drop_invisible(encoded, offsets, offsets if texts is None else texts)

    def find_words(self, text: EncodedText, offsets: Places, *, plus: bool | Flags, units: bool = True) -> FoundWords:
        """Return the words of a block. units: whether to find units, if the policy masks them."""
        units = units and self.policy.units == "mask"
        return find_words(text, offsets, self.vocabulary, plus=plus, units=units)

    def find_number(self, word: str) -> int | None:
        """Return the number of a word of the mapping, in any spelling that is found in texts; None if it is not one."""
        content = np.frombuffer(word.encode(errors="replace"), dtype=np.uint8)
        text, offsets = self.open_text(content, np.array([0, len(content)]))
        found = self.find_words(text, offsets, plus=False, units=False)
        is_whole = len(found.numbers) == 1 and found.ends[0] - found.starts[0] == len(text.content)
        number = int(found.numbers[0]) if is_whole else -1
        return number if 0 <= number < self.vocabulary.size else None

    def replace_words(self, text: Bytes, offsets: Places, randomness: Randomness, settings: RowSettings) -> Replaced:
        """Return the new texts of a block. Between words, only the characters that the policy drops are missing."""
        encoded, offsets = self.open_text(text, offsets)
        found = self.find_words(encoded, offsets, plus=settings.plus)
        epsilon = settings.epsilon
        return self.replace_found(
            encoded, found, randomness, epsilon[found.rows] if isinstance(epsilon, np.ndarray) else epsilon, offsets
        )

    def replace_found(
        self,
        text: EncodedText,
        found: FoundWords,
        randomness: Randomness,
        epsilon: float | Floats,
        offsets: Places,
    ) -> Replaced:
        """Return the new texts of a block whose words are found.

        epsilon: one, or one per word, NaN for words that stay. offsets: of rows or tokens, which the result then has
        too.
        """
        rewriting = Rewriting(text.content, found.starts, found.ends)
        stays = np.isnan(epsilon) if isinstance(epsilon, np.ndarray) else None
        if stays is not None:
            epsilon = np.where(stays, 0.0, epsilon)
        spell = _Speller(self.vocabulary, rewriting, text, found, match_case=self.policy.case == "match")
        sampled, unknown, numbers, alone = map(found.at, (Kind.SAMPLED, Kind.UNKNOWN, Kind.NUMBER, Kind.ALONE))
        words = found.numbers.take(sampled).astype(np.int64)
        per_word = epsilon.take(sampled) if isinstance(epsilon, np.ndarray) else epsilon
        plus = found.plus.take(sampled) if isinstance(found.plus, np.ndarray) else found.plus
        drawn = self._choose(
            words, per_word, plus, lambda some: randomness.draw(sampled[some], found.find_firsts, WORDS)
        )
        spell.write(sampled, drawn)
        if len(alone):  # under every policy: any draw from its group would reveal it
            rewriting.replace(alone, rewriting.add(*join_texts([UNKNOWN_MASK])))
        if found.unit_types is not None:
            rewriting.replace(found.at(Kind.UNIT), rewriting.add(*join_texts(UNIT_MASKS)) + found.unit_types)
        if self.policy.unknown == "mask":
            rewriting.replace(unknown, rewriting.add(*join_texts([UNKNOWN_MASK])))
        elif self.policy.unknown == "random":
            spell.write(unknown, _below(self.vocabulary.size, randomness.draw(unknown, found.find_firsts, WORDS)))
        if self.policy.numbers == "mask":
            rewriting.replace(numbers, rewriting.add(*join_texts([NUMBER_MASK])))
        elif self.policy.numbers == "shape" and len(numbers):
            lengths = text.count_characters(found.starts[numbers], found.ends[numbers])
            digits = _draw_digits(randomness, found, numbers, lengths) + ord("0")
            first = rewriting.add(digits.astype(np.uint8), np.append(0, np.cumsum(lengths)))
            rewriting.replace(numbers, first + np.arange(len(numbers)))
        unchanged = sampled[drawn == words]
        if stays is not None:
            rewriting.keep(stays.nonzero()[0])
            unchanged = unchanged[~stays[unchanged]]
            found = replace(found, kinds=np.where(stays, np.uint8(Kind.KEPT), found.kinds))
        written, offsets, cuts = rewriting.write(offsets)
        return Replaced(written, offsets, cuts, text, found, rewriting.find_kept(), unchanged, epsilon)

    def _choose(
        self, words: Numbers, epsilon: float | Floats, plus: bool | Flags, draw: Callable[[slice | Places], Draws]
    ) -> Numbers:
        """Return the replacement of each word, by number: at eps = 0 the representative of its group, else a draw.

        draw: returns draws for some of the words.
        """
        if isinstance(epsilon, float) and epsilon == 0.0:
            return self.vocabulary.generalize(words, plus)
        if isinstance(epsilon, float) or epsilon.all():
            return self.mechanism.sample(words, epsilon, draw(slice(None)))
        chosen, places = self.vocabulary.generalize(words, plus), epsilon.nonzero()[0]
        if len(places):
            chosen[places] = self.mechanism.sample(words[places], epsilon[places], draw(places))
        return chosen

    def count_sampled(self, text: Bytes, offsets: Places, *, plus: bool | Flags) -> Numbers:
        """Return how many words of each row would be replaced by a draw."""
        encoded, offsets = self.open_text(text, offsets)
        found = self.find_words(encoded, offsets, plus=plus)
        return np.bincount(found.rows.take(found.at(Kind.SAMPLED)), minlength=len(offsets) - 1)


def _draw_digits(randomness: Randomness, found: FoundWords, numbers: Places, lengths: Places) -> Numbers:
    """Return a digit for each digit of all numbers in the texts. lengths: how many digits each of them has."""
    ends = np.append(0, np.cumsum(lengths))
    draws = randomness.draw(np.arange(ends[-1]), lambda: ends.take(numbers.searchsorted(found.find_firsts())), DIGITS)
    return _below(10, draws)


def _below(limit: int, draws: Draws) -> Numbers:
    """Return integers below a limit, uniform to within limit / 2**64."""
    return (draws % np.uint64(limit)).astype(np.int64)


class _Speller:
    """Writes replacements in lower case, or in the case of the words they replace."""

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
