"""Replaces the words of a block of texts: draws, and writes the new texts. Pure NumPy."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from custext_sql.characters import LOWER, TITLE, UPPER
from custext_sql.encoded_text import Bytes, EncodedText, Flags, Places, spread_out
from custext_sql.policy import NUMBER_MASK, UNKNOWN_MASK, Policy
from custext_sql.randomness import DIGIT, UNKNOWN_WORD, Randomness
from custext_sql.row_settings import RowSettings
from custext_sql.sampler import Numbers, Sampler
from custext_sql.tokenizer import find_cases
from custext_sql.tokens import Tokens, find_tokens
from custext_sql.vocabulary import NUMBER, SAMPLED, UNKNOWN, Vocabulary

_UNKNOWN, _NUMBER = (np.frombuffer(mask.encode(), dtype=np.uint8) for mask in (UNKNOWN_MASK, NUMBER_MASK))


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
    changed: Numbers  # tokens that were written anew
    rows: Places  # of sampled words
    unchanged: Flags  # which sampled words drew themselves

    def count(self) -> Counts:
        starts, ends = np.delete(self.tokens.starts, self.changed), np.delete(self.tokens.ends, self.changed)
        return Counts(
            by_kind=np.bincount(self.tokens.kinds, minlength=5),
            unchanged=int(np.count_nonzero(self.unchanged)),
            characters_in_clear=int(self.before.count_characters(starts, ends).sum()),
            sampled_by_row=np.bincount(self.rows, minlength=len(self.offsets) - 1),
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
    edits = _Edits(text)
    spell = _Speller(vocabulary, edits, encoded, tokens, match_case=policy.case == "match")
    sampled, unknown, numbers = ((tokens.kinds == kind).nonzero()[0] for kind in (SAMPLED, UNKNOWN, NUMBER))
    words, rows = tokens.words.take(sampled).astype(np.int64), tokens.rows.take(sampled)
    drawn = sampler.sample(words, settings.at(rows).epsilon, randomness.draw(rows, words))
    spell.write(sampled, drawn)
    if policy.unknown == "mask":
        edits.use_one(unknown, _UNKNOWN)
    elif policy.unknown == "random":
        spell.write(unknown, _draw_below(vocabulary.size, randomness, tokens.rows[unknown], UNKNOWN_WORD))
    if policy.numbers == "mask":
        edits.use_one(numbers, _NUMBER)
    elif policy.numbers == "shape" and len(numbers):
        lengths = encoded.count_characters(tokens.starts[numbers], tokens.ends[numbers])
        digits = _draw_below(10, randomness, np.repeat(tokens.rows[numbers], lengths), DIGIT) + ord("0")
        edits.use_spans(numbers, edits.add(digits.astype(np.uint8)), lengths)
    written, new_offsets, changed = edits.apply(tokens, offsets)
    return Replaced(written, new_offsets, encoded, tokens, changed, rows, drawn == words)


def count_sampled(text: Bytes, offsets: Places, vocabulary: Vocabulary, *, plus: bool | Flags) -> Numbers:
    """How many words of each row would be sampled."""
    tokens = find_tokens(EncodedText(text), offsets, vocabulary, plus=plus)
    return np.bincount(tokens.rows[tokens.kinds == SAMPLED], minlength=len(offsets) - 1)


def _draw_below(limit: int, randomness: Randomness, rows: Places, symbol: int) -> Numbers:
    """Whole numbers below a limit; none is likelier than another by more than limit parts in 2**64."""
    draws = randomness.draw(rows, np.full(len(rows), symbol, dtype=np.int64))
    return (draws % np.uint64(limit)).astype(np.int64)


class _Edits:
    """What is written in place of tokens: for each some bytes of a buffer. Other tokens stay as they are."""

    def __init__(self, text: Bytes) -> None:
        self._buffers = [text]
        self._size = len(text)
        # for each kind of edit: tokens, where their new bytes begin, and how many these are
        self._edits: list[tuple[Numbers, Places, Places]] = []

    def add(self, buffer: Bytes) -> int:
        """Make a buffer available; returns where it lies."""
        base = self._size
        self._buffers.append(buffer)
        self._size += len(buffer)
        return base

    def use_one(self, tokens: Numbers, mask: Bytes) -> None:
        """The same bytes for all of these tokens."""
        base = self.add(mask)
        self._edits.append((tokens, np.full(len(tokens), base), np.full(len(tokens), len(mask))))

    def use_words(self, tokens: Numbers, base: int, offsets: Places, words: Numbers) -> None:
        """For each of these tokens a word of a list that was added."""
        starts = offsets.take(words)
        self._edits.append((tokens, starts + base, offsets.take(words + 1) - starts))

    def use_spans(self, tokens: Numbers, base: int, lengths: Places) -> None:
        """For each of these tokens the next so many bytes of a buffer that was added."""
        self._edits.append((tokens, base + np.cumsum(lengths) - lengths, lengths))

    def apply(self, tokens: Tokens, offsets: Places) -> tuple[Bytes, Places, Numbers]:
        """The new text, gathered from what stays and what is written in turn; the new offsets; the changed tokens."""
        changed, sources, new_lengths = self._in_order()
        begins, ends = tokens.starts.take(changed), tokens.ends.take(changed)
        starts, lengths = np.empty((2, 2 * len(changed) + 1), dtype=np.int64)
        starts[0], starts[1::2], starts[2::2] = 0, sources, ends
        lengths[:-1:2], lengths[1::2] = begins - starts[:-1:2], new_lengths
        lengths[-1] = len(self._buffers[0]) - starts[-1]
        written = self._joined().take(spread_out(starts, lengths))
        shifts = np.zeros(len(changed) + 1, dtype=np.int64)
        np.cumsum(new_lengths - (ends - begins), out=shifts[1:])
        return written, offsets + shifts[ends.searchsorted(offsets, "right")], changed

    def _in_order(self) -> tuple[Numbers, Places, Places]:
        """All edits, in the order of the text."""
        some = [edit for edit in self._edits if len(edit[0])] or self._edits[:1]
        if len(some) == 1:
            return some[0]
        tokens, starts, lengths = (np.concatenate(column) for column in zip(*some, strict=True))
        order = np.argsort(tokens, kind="stable")
        return tokens.take(order), starts.take(order), lengths.take(order)

    def _joined(self) -> Bytes:
        """All buffers end to end. (Unlike `concatenate`, an assignment lets other threads run.)"""
        joined = np.empty(self._size, dtype=np.uint8)
        start = 0
        for buffer in self._buffers:
            joined[start : start + len(buffer)] = buffer
            start += len(buffer)
        return joined


class _Speller:
    """Writes words of the vocabulary in place of tokens: in lower case, or in the case of the token."""

    def __init__(
        self, vocabulary: Vocabulary, edits: _Edits, text: EncodedText, tokens: Tokens, *, match_case: bool
    ) -> None:
        self._edits = edits
        self._cases = find_cases(text, tokens.starts, tokens.ends) if match_case else None
        self._spellings = [vocabulary.spelling(case) for case in ((LOWER, TITLE, UPPER) if match_case else (LOWER,))]
        self._bases = [edits.add(spelling.text) for spelling in self._spellings]

    def write(self, tokens: Numbers, words: Numbers) -> None:
        for case, (base, spelling) in enumerate(zip(self._bases, self._spellings, strict=True)):
            chosen = slice(None) if self._cases is None else np.flatnonzero(self._cases[tokens] == case)
            self._edits.use_words(tokens[chosen], base, spelling.offsets, words[chosen])
