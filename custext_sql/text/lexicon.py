"""Looks up words of a whole column at once, in exact hash tables over the bytes of folded words."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from custext_sql.arrays import Bytes, Flags, Hashes, Places, WordNumbers
from custext_sql.text.characters import APOSTROPHE, CHANGING, lower_cases
from custext_sql.text.encoded_text import (
    FIRST_BYTES,
    PADDING,
    EncodedText,
    find_distinct,
    join_lines,
    join_texts,
    overlapping_chunks,
    split_lines,
    spread_out,
)
from custext_sql.text.word_boundaries import are_words, find_digits, find_single_words, fold_word, normalize_words

NOT_LISTED, DIGITS = -1, -2  # returned instead of a word's number

_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
_LONGEST = 1024  # bytes; longer words are not normalized, since that takes time quadratic in the marks on a letter
_NOWHERE = np.zeros(0, dtype=np.int64)


class HashTable:
    """A hash table from keys, of one or more nonzero integers each, to numbers.

    It consists of two tables (cuckoo hashing): a key is at its slot on one side or the other.
    """

    def __init__(self, keys: Sequence[Hashes], numbers: Places) -> None:
        mixed = _mix(keys)
        self._bits = max(4, int(1.5 * len(numbers)).bit_length())
        while (sides := _place(self._slots(mixed, 0), self._slots(mixed, 1), 1 << self._bits)) is None:
            self._bits += 1
        self._numbers = np.full((2, 1 << self._bits), NOT_LISTED, dtype=np.int32)
        self._keys = np.zeros((2, len(keys), 1 << self._bits), dtype=np.uint64)
        for side in range(2):
            these = np.flatnonzero(sides == side)
            slots = self._slots(mixed[these], side)
            self._numbers[side, slots] = numbers[these]
            for table, key in zip(self._keys[side], keys, strict=True):
                table[slots] = key[these]

    def find(self, keys: Sequence[Hashes]) -> WordNumbers:
        """Return the number of each key, NOT_LISTED if it is not in the table."""
        mixed = _mix(keys)
        numbers, differ = self._look(mixed, keys, 0)
        rest = differ.nonzero()[0]
        found, differ = self._look(mixed.take(rest), [key.take(rest) for key in keys], 1)
        np.putmask(found, differ, NOT_LISTED)
        numbers[rest] = found
        return numbers

    def _look(self, mixed: Hashes, keys: Sequence[Hashes], side: int) -> tuple[WordNumbers, Flags]:
        """Look in one slot of each key. Return the numbers found there, and which slots hold another key."""
        slots, tables = self._slots(mixed, side), self._keys[side]
        differ: Flags = tables[0].take(slots) != keys[0]
        for table, key in zip(tables[1:], keys[1:], strict=True):
            differ |= table.take(slots) != key
        return self._numbers[side].take(slots), differ

    def _slots(self, mixed: Hashes, side: int) -> Places:
        slots: Places = ((mixed * _FACTORS[side]) >> np.uint64(64 - self._bits)).view(np.int64)
        return slots


def _place(first: Places, second: Places, size: int) -> Places | None:
    """Return for each key the side, 0 or 1, on which it has a slot to itself; None if no such choice is found.

    size: slots per side.
    """
    owners = np.full(2 * size, -1, dtype=np.int64)
    sides = np.zeros(len(first), dtype=np.int64)
    moving = np.arange(len(first))
    for _ in range(500):  # of several keys for a slot, one takes it; the others, and its owner, go to the other side
        slots = np.where(sides[moving] == 0, first[moving], second[moving] + size)
        before = owners[slots]
        owners[slots] = moving
        has_slot = owners[slots] == moving
        before = before[has_slot]
        moving = np.concatenate([moving[~has_slot], before[before >= 0]])
        if not len(moving):
            return sides
        sides[moving] ^= 1
    return None


def _mix(keys: Sequence[Hashes]) -> Hashes:
    """Return one integer per key."""
    mixed = keys[0]
    for key in keys[1:]:
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _FACTORS[2] + key
    return mixed


class Lexicon:
    """A fixed list of distinct folded words. Looks up spans of a text as `fold_word` folds them.

    aliases: other spellings of some words, with their numbers; no alias is itself a word of the list. The key of a word
    of up to 8 bytes is one integer; up to 24 bytes, three integers. Longer words are rare and compared one by one.
    """

    def __init__(self, words: Sequence[str], aliases: Mapping[str, int]) -> None:
        self._words, self._aliases = words, aliases
        numbers = np.append(np.arange(len(words)), np.array([*aliases.values()], dtype=np.int64))
        content, offsets = join_texts([*words, *aliases])
        chunks = _copy_chunks(np.concatenate([content, np.zeros(PADDING, dtype=np.uint8)]))
        starts, lengths = offsets[:-1], np.diff(offsets)
        short, middle = np.flatnonzero(lengths <= 8), np.flatnonzero((lengths > 8) & (lengths <= PADDING))
        self._short = HashTable([_short_keys(chunks, starts[short], lengths[short])], numbers[short])
        self._middle = HashTable(_long_keys(chunks, starts[middle], lengths[middle]), numbers[middle])
        self._long = chunks[starts[lengths > PADDING]]

    @cached_property
    def _index(self) -> dict[str, int]:
        """The number of each word and alias, for the few that are looked up one by one."""
        return dict(zip(self._words, range(len(self._words)), strict=True)) | dict(self._aliases)

    def find(self, text: "FoldedText", starts: Places, ends: Places) -> WordNumbers:
        """Return the number of the word at each span, NOT_LISTED if there is none. Spans are in ascending order.

        In the list `the`, `cat`, the spans 0 3, 4 7 and 8 11 of `The dog cat` have the numbers 0 -1 1.
        """
        if not len(starts):
            return np.zeros(0, dtype=np.int32)
        numbers = self._find_plain(text, starts, ends)
        if len(some := _spans_with(text.apostrophes, starts, ends)):
            numbers[some] = self._find_plain(*_write_plain_apostrophes(text, starts[some], ends[some]))
        self._find_one_by_one(text, starts, ends, _spans_with(text.unusual, starts, ends), numbers)
        return numbers

    def find_normalized(self, text: EncodedText, starts: Places, ends: Places, numbers: WordNumbers) -> None:
        """Write the number of the NFKC form of each span without a number into `numbers`, DIGITS if it is digits."""
        if text.wide is None:
            return
        some = _spans_with(text.wide.leads[(text.wide.traits & CHANGING) != 0], starts, ends)
        some = some[(numbers[some] == NOT_LISTED) & (ends[some] - starts[some] <= _LONGEST)]
        if not len(some):
            return
        spans = find_distinct(text.content, starts[some], ends[some])
        normal, offsets = split_lines(normalize_words(join_lines(spans.content, spans.offsets[:-1], spans.offsets[1:])))
        found = self.find(fold_text(normal), offsets[:-1], offsets[1:])
        found[(found == NOT_LISTED) & find_digits(normal, offsets[:-1], offsets[1:])] = DIGITS
        found[~find_single_words(normal, offsets)] = NOT_LISTED
        numbers[some] = found[spans.numbers]

    def _find_plain(self, text: "FoldedText", starts: Places, ends: Places) -> WordNumbers:
        """Return the number of each span, as if folding never changed the length of a character."""
        lengths = ends - starts
        numbers = self._short.find([_short_keys(text.chunks, starts, lengths)])
        longer = (lengths > 8).nonzero()[0]
        if len(longer):
            begins, sizes = starts.take(longer), lengths.take(longer)
            found = self._middle.find(_long_keys(text.chunks, begins, sizes))
            longest = (sizes > PADDING).nonzero()[0]
            found[longest] = NOT_LISTED
            numbers[longer] = found
            if len(longest):
                alike = longest[np.isin(text.chunks[begins[longest]], self._long)]
                self._find_one_by_one(text, starts, ends, longer[alike], numbers)
        return numbers

    def _find_one_by_one(
        self, text: "FoldedText", starts: Places, ends: Places, places: Places, numbers: WordNumbers
    ) -> None:
        """Look up words that have no key or that fold in unusual ways. These are rare."""
        for place in places.tolist():
            word = text.original[starts[place] : ends[place]].tobytes().decode()
            numbers[place] = self._index.get(fold_word(word), NOT_LISTED)


def find_aliases(words: Sequence[str]) -> dict[str, int]:
    """Return the NFKC forms of words, where these are other single words, with the number of the first such word."""
    others = [number for number, word in enumerate(words) if not word.isascii() and "\n" not in word]
    if not others:
        return {}
    forms = normalize_words("\n".join([words[number] for number in others])).split("\n")
    listed = frozenset(forms).intersection(words)
    found = zip(forms, others, are_words(forms), strict=True)
    return {form: number for form, number, is_single in reversed([*found]) if is_single and form not in listed}


def _copy_chunks(padded: Bytes) -> Hashes:
    """Return the eight bytes from each position on, as an integer, side by side: faster to look up than a view."""
    return np.ascontiguousarray(overlapping_chunks(padded))


def _short_keys(chunks: Hashes, starts: Places, lengths: Places) -> Hashes:
    """Return the first 8 bytes of each span as an integer, with zeros after its end."""
    return chunks.take(starts) & FIRST_BYTES.take(np.minimum(lengths, 8))


def _long_keys(chunks: Hashes, starts: Places, lengths: Places) -> list[Hashes]:
    """Return the first 24 bytes of each span, of more than 8 bytes, as three integers with zeros after its end."""
    second = chunks.take(starts + 8) & FIRST_BYTES.take(np.minimum(lengths - 8, 8))
    third = chunks.take(starts + 16, mode="clip") & FIRST_BYTES.take(np.clip(lengths - 16, 0, 8))
    return [chunks.take(starts), second, third]


class FoldedText(NamedTuple):
    """A text, and its lowercase form as overlapping integers: the eight bytes from each position on.

    unusual: positions of characters whose lowercase form has another width or depends on context; they are unchanged
    here, and words that contain them are folded one by one. apostrophes: positions of non-ASCII apostrophes.
    """

    original: Bytes
    chunks: Hashes
    unusual: Places = _NOWHERE
    apostrophes: Places = _NOWHERE


def fold_text(text: EncodedText) -> FoldedText:
    """Return a text in lower case."""
    if text.wide is None:
        return FoldedText(text.content, _copy_chunks(text.lowered))
    folded, wide = text.lowered.copy(), text.wide
    lower = lower_cases.find(wide.codes)
    changed = np.flatnonzero((lower != wide.codes) & (lower >= 0))
    if len(changed):
        small = lower[changed].astype("<u4").tobytes().decode("utf-32-le").encode()  # each as wide as before
        folded[spread_out(wide.leads[changed], wide.widths[changed])] = np.frombuffer(small, dtype=np.uint8)
    unusual, apostrophes = wide.leads[lower < 0], wide.leads[(wide.traits & APOSTROPHE) != 0]
    return FoldedText(text.content, _copy_chunks(folded), unusual, apostrophes)


def _spans_with(places: Places, starts: Places, ends: Places) -> Places:
    """Return the spans that contain any of these positions. Positions and spans are in ascending order."""
    if not len(places) or not len(starts):
        return _NOWHERE
    spans = np.searchsorted(starts, places, side="right") - 1
    within = spans[(spans >= 0) & (places < ends[spans])]
    once: Places = within[np.diff(within, prepend=-1) > 0]
    return once


def _write_plain_apostrophes(text: FoldedText, starts: Places, ends: Places) -> tuple[FoldedText, Places, Places]:
    """Return spans end to end, with ' for other apostrophes, and the new start and end of each."""
    lengths = ends - starts
    places = spread_out(starts, lengths)
    content = text.chunks.take(places).astype(np.uint8)  # the first byte of each chunk
    is_apostrophe = np.isin(places, text.apostrophes)
    content[is_apostrophe] = ord("'")
    kept = np.ones(len(content), dtype=bool)
    for step in (1, 2):  # the rest of each apostrophe; no other character continues after one
        kept[step:] &= ~(is_apostrophe[:-step] & (content[step:] & 0xC0 == 0x80))
    new_ends = np.cumsum(kept)[np.cumsum(lengths) - 1]
    plain = content[kept]
    padded = np.concatenate([plain, np.zeros(PADDING, dtype=np.uint8)])
    return FoldedText(plain, _copy_chunks(padded)), np.append(0, new_ends[:-1]), new_ends
