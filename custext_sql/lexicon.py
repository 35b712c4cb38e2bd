"""Words to numbers, a column at a time: exact hash tables over the bytes of folded words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from custext_sql.encoded_text import PADDING, Bytes, EncodedText, Places, join_texts
from custext_sql.tokenizer import fold_word

_SIGMA = 0x3A3  # its lower case depends on what follows
_MASKS = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype=np.uint64)
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)

Keys = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32]


class Lexicon:
    """A fixed list of distinct folded words, in which spans of a text are looked up as `fold_word` folds them.

    Words of up to 8 bytes, by far the most, have one integer as their key, those of up to 24 bytes three; the hardly
    any others are compared one by one.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._index = {word: number for number, word in enumerate(words)}
        content, offsets = join_texts(words)
        padded = np.concatenate([content, np.zeros(PADDING, dtype=np.uint8)])
        starts, lengths = offsets[:-1], np.diff(offsets)
        short, middle = np.flatnonzero(lengths <= 8), np.flatnonzero((lengths > 8) & (lengths <= PADDING))
        self._short = _Table([_key(padded, starts, lengths, 0)[short]], short)
        keys = [_key(padded, starts[middle], lengths[middle], offset) for offset in (0, 8, 16)]
        self._middle = _Table(keys, middle)
        self._long = _key(padded, starts, lengths, 0)[lengths > PADDING]

    def __len__(self) -> int:
        return len(self._index)

    def find(self, text: "FoldedText", starts: Places, ends: Places) -> Numbers:
        """The number of the word at each span, -1 where it is none of the list. Spans are in order."""
        lengths = ends - starts
        first = _key(text.padded, starts, lengths, 0)
        numbers = self._short.find([first])
        longer = np.flatnonzero(lengths > 8)
        if len(longer):
            begins, sizes = starts.take(longer), lengths.take(longer)
            keys = [first.take(longer), *(_key(text.padded, begins, sizes, offset) for offset in (8, 16))]
            numbers[longer] = np.where(sizes <= PADDING, self._middle.find(keys), np.int32(-1))
            longest = longer[sizes > PADDING]
            self._find_one_by_one(text, starts, ends, longest[np.isin(first[longest], self._long)], numbers)
        if len(text.unusual) and len(starts):
            unusual = np.searchsorted(starts, text.unusual, side="right") - 1
            unusual = unusual[(unusual >= 0) & (text.unusual < ends[unusual])]
            self._find_one_by_one(text, starts, ends, unusual, numbers)
        return numbers

    def _find_one_by_one(
        self, text: "FoldedText", starts: Places, ends: Places, places: Places, numbers: Numbers
    ) -> None:
        """Words that a key cannot tell, or that fold in unusual ways: rare."""
        for place in places.tolist():
            word = text.original[starts[place] : ends[place]].tobytes().decode()
            numbers[place] = self._index.get(fold_word(word), -1)


class _Table:
    """Keys of one or more integers and the number of each, hashed with linear probing."""

    def __init__(self, keys: Sequence[Keys], numbers: Places) -> None:
        self._bits = max(4, int(2 * len(numbers)).bit_length())
        size = 1 << self._bits
        self._numbers = np.full(size, -1, dtype=np.int32)
        self._keys = [np.zeros(size, dtype=np.uint64) for _ in keys]
        places = _place(_hash(keys, self._bits).tolist(), size)
        self._numbers[places] = numbers
        for table, key in zip(self._keys, keys, strict=True):
            table[places] = key

    def find(self, keys: Sequence[Keys]) -> Numbers:
        """The number of each key, -1 where there is none. No key is 0, so that an empty place matches none."""
        slots = _hash(keys, self._bits)
        numbers = self._numbers.take(slots)
        wrong = np.flatnonzero(self._differ(keys, slots))
        while len(wrong):
            taken = numbers.take(wrong) >= 0
            numbers[wrong] = -1
            wrong = wrong.compress(taken)
            slots[wrong] = (slots.take(wrong) + 1) & ((1 << self._bits) - 1)
            there = slots.take(wrong)
            numbers[wrong] = self._numbers.take(there)
            wrong = wrong.compress(self._differ([key.take(wrong) for key in keys], there))
        return numbers

    def _differ(self, keys: Sequence[Keys], slots: Places) -> npt.NDArray[np.bool_]:
        differ: npt.NDArray[np.bool_] = self._keys[0].take(slots) != keys[0]
        for table, key in zip(self._keys[1:], keys[1:], strict=True):
            differ |= table.take(slots) != key
        return differ


def _place(slots: Iterable[int], size: int) -> list[int]:
    """For each wanted slot the first free one from there on."""
    taken = bytearray(size)
    places = []
    for slot in slots:
        while taken[slot]:
            slot = (slot + 1) & (size - 1)
        taken[slot] = 1
        places.append(slot)
    return places


def _key(padded: Bytes, starts: Places, lengths: Places, offset: int) -> Keys:
    """Eight bytes of each span from an offset on, as an integer, with zeros where the span is shorter."""
    chunks = np.ndarray((len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,))
    within = np.clip(lengths - offset, 0, 8) if offset else np.minimum(lengths, 8)
    return chunks.take(starts + offset if offset else starts, mode="clip") & _MASKS.take(within)


def _hash(keys: Sequence[Keys], bits: int) -> Places:
    mixed = keys[0] * _FACTORS[0]
    for key, factor in zip(keys[1:], _FACTORS[1:], strict=False):
        mixed ^= (key + (mixed >> np.uint64(29))) * factor
        mixed *= _FACTORS[0]
    slots: Places = (mixed >> np.uint64(64 - bits)).view(np.int64)
    return slots


@dataclass(frozen=True)
class FoldedText:
    """A text, the same in lower case with zeros behind it, and where characters stand that fold in unusual ways.

    Those change their width or need a look at what follows; they are left as they are, and words that contain them are
    folded one by one.
    """

    original: Bytes
    padded: Bytes
    unusual: Places


def fold_text(text: EncodedText) -> FoldedText:
    """A text in lower case."""
    if text.wide is None:
        return FoldedText(text.content, text.lowered, np.zeros(0, dtype=np.int64))
    folded, wide = text.lowered.copy(), text.wide
    lower = _lower_codes()[wide.codes]
    changed = np.flatnonzero((lower != wide.codes) & (lower >= 0))
    for step, byte in enumerate(_encode(lower[changed], wide.widths[changed])):
        reached = wide.widths[changed] > step
        folded[wide.leads[changed][reached] + step] = byte[reached]
    return FoldedText(text.content, folded, wide.leads[lower < 0])


def _encode(codes: Places, widths: Places) -> list[Bytes]:
    """The UTF-8 bytes of code points beyond ASCII, the first of all, the second of all, and so on."""
    prefix = np.array([0, 0, 0xC0, 0xE0, 0xF0])[widths]
    encoded = [(prefix | codes >> 6 * (widths - 1)).astype(np.uint8)]
    for step in range(1, 4):
        encoded.append((0x80 | (codes >> 6 * np.maximum(widths - 1 - step, 0)) & 0x3F).astype(np.uint8))
    return encoded


@cache
def _lower_codes() -> npt.NDArray[np.int64]:
    """The lower case of every code point; -1 where it is longer or shorter in UTF-8, or depends on the context."""
    table = np.arange(0x110000, dtype=np.int64)
    for code in range(128, 0x110000):
        lower = chr(code).lower()
        if lower != chr(code):
            same = len(lower) == 1 and len(lower.encode()) == len(chr(code).encode())
            table[code] = ord(lower) if same else -1
    table[[_SIGMA, 0x2019]] = -1
    return table
