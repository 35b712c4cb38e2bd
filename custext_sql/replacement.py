"""Replaces the words of a block of texts: finds them, decides on each, draws, and writes the new texts. Pure NumPy."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from custext_sql.encoded_text import Bytes, EncodedText, Flags, Places, spread_out
from custext_sql.lexicon import Lexicon, fold_text
from custext_sql.policy import NUMBER_MASK, UNKNOWN_MASK, Policy
from custext_sql.randomness import DIGIT, UNKNOWN_WORD, Randomness
from custext_sql.row_settings import RowSettings
from custext_sql.sampler import Numbers, Sampler
from custext_sql.tokenizer import LOWER, TITLE, UPPER, find_cases, find_digits, find_parts
from custext_sql.vocabulary import Vocabulary

SAMPLED, STOPWORD, NUMBER, UNKNOWN, ENDING = range(5)

_ENDINGS = Lexicon(("s", "t", "re", "ve", "ll", "d", "m"))  # of English, behind an apostrophe: they stay
_UNKNOWN, _NUMBER = (np.frombuffer(mask.encode(), dtype=np.uint8) for mask in (UNKNOWN_MASK, NUMBER_MASK))


@dataclass(frozen=True)
class Tokens:
    """The words of a block as they are decided on: where each lies, its row, its number in the vocabulary, its kind."""

    starts: Places
    ends: Places
    rows: Places
    words: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Replaced:
    """A block of new texts, and what was counted in making it."""

    text: Bytes
    offsets: Places
    counts: npt.NDArray[np.int64]  # words of each kind
    unchanged: int  # sampled words that drew themselves
    characters_in_clear: int  # of words that came out as they were, not being drawn
    sampled_by_row: npt.NDArray[np.int64]


def find_tokens(text: EncodedText, offsets: Places, vocabulary: Vocabulary, *, plus: bool | Flags) -> Tokens:
    """Decide on every word: kept stopword (if plus, of all rows or of its row), vocabulary, number, unknown.

    A word with apostrophes that is neither in the vocabulary nor a kept stopword is taken apart: an English ending
    stays, every other part is a word of its own.
    """
    parts = find_parts(text, offsets)
    folded = fold_text(text)
    starts, ends, rows = parts.starts, parts.ends, parts.rows
    words = vocabulary.lexicon.find(folded, starts, ends)
    endings = np.zeros(0, dtype=np.int64)
    if len(parts.joined):
        first, last = _find_chains(parts.joined)
        whole = vocabulary.lexicon.find(folded, starts[first], ends[last])
        known = (whole >= 0) & (whole < vocabulary.size)
        if np.any(plus):
            known |= vocabulary.is_stopword[whole] & _at(plus, rows[first])
        words[first[known]], ends[first[known]] = whole[known], ends[last[known]]
        apart = last[~known]
        endings = apart[_ENDINGS.find(folded, starts[apart], ends[apart]) >= 0]
        swallowed = spread_out(first[known] + 1, last[known] - first[known])
        kept = np.ones(len(starts), dtype=bool)
        kept[swallowed] = False
        endings -= np.searchsorted(swallowed, endings)
        places = np.flatnonzero(kept)
        starts, ends, rows, words = starts.take(places), ends.take(places), rows.take(places), words.take(places)
    kinds = (words.view(np.uint32) >= vocabulary.size).view(np.uint8) * np.uint8(UNKNOWN)
    strange = np.flatnonzero(kinds)
    kinds[strange[find_digits(text, starts[strange], ends[strange])]] = NUMBER
    if np.any(plus):
        np.putmask(kinds, vocabulary.is_stopword.take(words) & _at(plus, rows), STOPWORD)
    kinds[endings] = ENDING
    return Tokens(starts, ends, rows, words, kinds)


def _find_chains(joined: Places) -> tuple[Places, Places]:
    """The first and the last part of each word that has several, from the parts that are joined to the next."""
    breaks = np.flatnonzero(np.diff(joined) > 1)
    return joined[np.append(0, breaks + 1)], joined[np.append(breaks, len(joined) - 1)] + 1


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
    sources = _Sources(text, tokens.starts, tokens.ends - tokens.starts)
    sampled = np.flatnonzero(tokens.kinds == SAMPLED)
    words, rows = tokens.words.take(sampled).astype(np.int64), tokens.rows.take(sampled)
    drawn = sampler.sample(words, settings.at(rows).epsilon, randomness.draw(rows, words))
    written = _Written(vocabulary, sources, encoded, tokens, match_case=policy.case == "match")
    written.use(sampled, drawn)
    is_kept = np.isin(range(5), (STOPWORD, ENDING))
    unknown = np.flatnonzero(tokens.kinds == UNKNOWN)
    if policy.unknown == "mask":
        sources.use_one(unknown, _UNKNOWN)
    elif policy.unknown == "random":
        written.use(unknown, _draw_below(vocabulary.size, randomness, tokens.rows[unknown], UNKNOWN_WORD))
    else:
        is_kept[UNKNOWN] = True
    numbers = np.flatnonzero(tokens.kinds == NUMBER)
    if policy.numbers == "mask":
        sources.use_one(numbers, _NUMBER)
    elif policy.numbers == "shape":
        lengths = encoded.count_characters(tokens.starts[numbers], tokens.ends[numbers])
        digits = _draw_below(10, randomness, np.repeat(tokens.rows[numbers], lengths), DIGIT) + ord("0")
        sources.use_spans(numbers, sources.add(digits.astype(np.uint8)), lengths)
    else:
        is_kept[NUMBER] = True
    clear = np.flatnonzero(is_kept.take(tokens.kinds))
    return Replaced(
        *sources.write(tokens, offsets),
        counts=np.bincount(tokens.kinds, minlength=5),
        unchanged=int((drawn == words).sum()),
        characters_in_clear=int(encoded.count_characters(tokens.starts.take(clear), tokens.ends.take(clear)).sum()),
        sampled_by_row=np.bincount(rows, minlength=len(offsets) - 1),
    )


class _Written:
    """Words of the vocabulary as they are written: in lower case, or in the case of the token they replace."""

    def __init__(
        self, vocabulary: Vocabulary, sources: "_Sources", text: EncodedText, tokens: Tokens, *, match_case: bool
    ) -> None:
        self._sources = sources
        self._cases = find_cases(text, tokens.starts, tokens.ends) if match_case else None
        self._spellings = [vocabulary.spelling(case) for case in (LOWER, TITLE, UPPER)] if match_case else []
        self._spellings = self._spellings or [vocabulary.spelling(LOWER)]
        self._bases = [sources.add(spelling.text) for spelling in self._spellings]

    def use(self, tokens: Numbers, words: Numbers) -> None:
        for case, (base, spelling) in enumerate(zip(self._bases, self._spellings, strict=True)):
            chosen = slice(None) if self._cases is None else np.flatnonzero(self._cases[tokens] == case)
            self._sources.use_words(tokens[chosen], base, spelling.offsets, words[chosen])


def count_sampled(text: Bytes, offsets: Places, vocabulary: Vocabulary, *, plus: bool | Flags) -> Numbers:
    """How many words of each row would be sampled."""
    tokens = find_tokens(EncodedText(text), offsets, vocabulary, plus=plus)
    return np.bincount(tokens.rows[tokens.kinds == SAMPLED], minlength=len(offsets) - 1)


def _at(plus: bool | Flags, rows: Places) -> bool | Flags:
    return plus[rows] if isinstance(plus, np.ndarray) else plus


def _draw_below(limit: int, randomness: Randomness, rows: Places, symbol: int) -> Numbers:
    """Whole numbers below a limit; none is likelier than another by more than limit parts in 2**64."""
    draws = randomness.draw(rows, np.full(len(rows), symbol, dtype=np.int64))
    return (draws % np.uint64(limit)).astype(np.int64)


class _Sources:
    """Where the bytes of each token's replacement come from: at first, from the token itself."""

    def __init__(self, text: Bytes, starts: Places, lengths: Places) -> None:
        self._buffers = [text]
        self._size = len(text)
        self._starts, self._lengths = starts.copy(), lengths

    def add(self, buffer: Bytes) -> int:
        """Make a buffer available; returns where it lies."""
        base = self._size
        self._buffers.append(buffer)
        self._size += len(buffer)
        return base

    def use_one(self, tokens: Numbers, mask: Bytes) -> None:
        self._starts[tokens] = self.add(mask)
        self._lengths[tokens] = len(mask)

    def use_words(self, tokens: Numbers, base: int, offsets: Places, words: Numbers) -> None:
        starts = offsets.take(words)
        self._starts[tokens] = base + starts
        self._lengths[tokens] = offsets.take(words + 1) - starts

    def use_spans(self, tokens: Numbers, base: int, lengths: Places) -> None:
        self._starts[tokens] = base + np.cumsum(lengths) - lengths
        self._lengths[tokens] = lengths

    def write(self, tokens: Tokens, offsets: Places) -> tuple[Bytes, Places]:
        """The new text, gathered from gaps and replacements in turn, and the new offsets."""
        count = len(tokens.starts)
        starts = np.empty(2 * count + 1, dtype=np.int64)
        lengths = np.empty_like(starts)
        starts[0], starts[2::2], starts[1::2] = 0, tokens.ends, self._starts
        lengths[0::2] = np.append(tokens.starts, len(self._buffers[0])) - starts[0::2]
        lengths[1::2] = self._lengths
        shift = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(self._lengths - (tokens.ends - tokens.starts), out=shift[1:])
        written = np.concatenate(self._buffers).take(spread_out(starts, lengths))
        return written, offsets + shift[np.searchsorted(tokens.ends, offsets, "right")]
