"""Words to numbers, a column at a time: an exact hash table over the bytes of folded words."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from custext_sql.tokenizer import Bytes, Places, decode_wide, fold_word, join_texts

_KEY = 24  # bytes of a word that its key holds; longer words are compared one by one, and hardly any are
_SIGMA = 0x3A3  # its lower case depends on what follows
_MASKS = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype=np.uint64)
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)

Keys = npt.NDArray[np.uint64]


class Lexicon:
    """A fixed list of distinct folded words, in which spans of a text are looked up as `fold_word` folds them."""

    def __init__(self, words: Sequence[str]) -> None:
        self._index = {word: number for number, word in enumerate(words)}
        text, offsets = join_texts(words)
        lengths = np.diff(offsets)
        self._keys = _keys(_padded(text), offsets[:-1], lengths)
        self._long = self._keys[0][lengths > _KEY]
        self._bits = max(4, int(4 * len(words)).bit_length())
        self._table = np.full((1 << self._bits) + 1, -1, dtype=np.int32)
        self._fill(np.flatnonzero(lengths <= _KEY))

    def __len__(self) -> int:
        return len(self._index)

    def find(self, text: "FoldedText", starts: Places, ends: Places) -> npt.NDArray[np.int32]:
        """The number of the word at each span, -1 where it is none of the list."""
        lengths = ends - starts
        keys = _keys(text.padded, starts, lengths)
        numbers = self._probe(keys)
        long = lengths > _KEY
        if long.any():
            numbers[long] = -1
            long &= np.isin(keys[0], self._long)
        if len(text.unusual):
            long |= np.searchsorted(text.unusual, starts) < np.searchsorted(text.unusual, ends)
        for place in np.flatnonzero(long).tolist():  # rare: words that a key cannot tell, or that fold in other ways
            word = text.original[starts[place] : ends[place]].tobytes().decode()
            numbers[place] = self._index.get(fold_word(word), -1)
        return numbers

    def _fill(self, numbers: Places) -> None:
        slots = _slots(self._keys, self._bits).tolist()
        table = self._table.tolist()
        mask = (1 << self._bits) - 1
        for number in numbers.tolist():
            slot = slots[number]
            while table[slot] >= 0:
                slot = (slot + 1) & mask
            table[slot] = number
        self._table = np.array(table, dtype=np.int32)

    def _probe(self, keys: tuple[Keys, Keys, Keys]) -> npt.NDArray[np.int32]:
        mask = (1 << self._bits) - 1
        slots = _slots(keys, self._bits)
        found = self._table[slots]
        waiting = np.flatnonzero(found >= 0)
        while True:
            held = found[waiting]
            wrong = np.zeros(len(waiting), dtype=bool)
            for mine, theirs in zip(self._keys, keys, strict=True):
                wrong |= mine[held] != theirs[waiting]
            waiting = waiting[wrong]
            if not len(waiting):
                return found
            slots[waiting] = (slots[waiting] + 1) & mask
            found[waiting] = self._table[slots[waiting]]
            waiting = waiting[found[waiting] >= 0]


def _padded(text: Bytes) -> Bytes:
    return np.concatenate([text, np.zeros(_KEY, dtype=np.uint8)])


def _keys(padded: Bytes, starts: Places, lengths: Places) -> tuple[Keys, Keys, Keys]:
    """The first 24 bytes of each span as three integers, with zeros where the span is shorter."""
    chunks = np.ndarray((len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,))
    first = chunks[starts] & _MASKS[np.minimum(lengths, 8)]
    second, third = np.zeros_like(first), np.zeros_like(first)
    for key, offset in ((second, 8), (third, 16)):
        longer = np.flatnonzero(lengths > offset)
        key[longer] = chunks[starts[longer] + offset] & _MASKS[np.minimum(lengths[longer] - offset, 8)]
    return first, second, third


def _slots(keys: tuple[Keys, Keys, Keys], bits: int) -> npt.NDArray[np.int64]:
    mixed = keys[0] * _FACTORS[0]
    mixed ^= (keys[1] + (mixed >> np.uint64(29))) * _FACTORS[1]
    mixed ^= (keys[2] + (mixed >> np.uint64(32))) * _FACTORS[2]
    slots: npt.NDArray[np.int64] = ((mixed * _FACTORS[0]) >> np.uint64(64 - bits)).astype(np.int64)
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


def fold_text(text: Bytes) -> FoldedText:
    """A buffer of valid UTF-8 in lower case."""
    folded = _padded(_ascii_lower()[text])
    wide = decode_wide(text)
    if wide is None:
        return FoldedText(text, folded, np.zeros(0, dtype=np.int64))
    lower = _lower_codes()[wide.codes]
    changed = np.flatnonzero((lower != wide.codes) & (lower >= 0))
    for step, byte in enumerate(_encode(lower[changed], wide.widths[changed])):
        reached = wide.widths[changed] > step
        folded[wide.leads[changed][reached] + step] = byte[reached]
    return FoldedText(text, folded, wide.leads[lower < 0])


def _encode(codes: Places, widths: Places) -> list[Bytes]:
    """The UTF-8 bytes of code points beyond ASCII, the first of all, the second of all, and so on."""
    prefix = np.array([0, 0, 0xC0, 0xE0, 0xF0])[widths]
    encoded = [(prefix | codes >> 6 * (widths - 1)).astype(np.uint8)]
    for step in range(1, 4):
        encoded.append((0x80 | (codes >> 6 * np.maximum(widths - 1 - step, 0)) & 0x3F).astype(np.uint8))
    return encoded


@cache
def _ascii_lower() -> Bytes:
    table = np.arange(256, dtype=np.uint8)
    table[ord("A") : ord("Z") + 1] += 32
    return table


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
