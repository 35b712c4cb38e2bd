"""What a word is, and where words lie in a column of texts.

Words are runs of Unicode letters, digits, marks and underscores, joined by inner apostrophes (' and \u2019). The texts
of a column lie end to end in one buffer of UTF-8; all work is done on the whole buffer at once.
"""

import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]

LOWER, TITLE, UPPER = 0, 1, 2  # how a word is written

_OTHER, _WORD, _APOSTROPHE = 0, 1, 2


@dataclass(frozen=True)
class Parts:
    """Runs of word characters, in order: where each begins and ends in the buffer, and the row it lies in.

    joined: whether a single apostrophe, of the same row, stands between this part and the next.
    """

    starts: Places
    ends: Places
    rows: Places
    joined: npt.NDArray[np.bool_]

    @property
    def is_last(self) -> npt.NDArray[np.bool_]:
        """Whether a word ends with this part."""
        return ~self.joined

    @property
    def is_first(self) -> npt.NDArray[np.bool_]:
        """Whether a word begins with this part."""
        return np.concatenate([np.ones(min(1, len(self.joined)), dtype=bool), ~self.joined[:-1]])


def fold_word(word: str) -> str:
    """The form in which a word is stored and looked up: lower case, with ' for the typographic apostrophe."""
    return word.lower().replace("\u2019", "'")


def join_texts(texts: Sequence[str]) -> tuple[Bytes, Places]:
    """Texts end to end in UTF-8, and where each begins and ends."""
    encoded = [text.encode() for text in texts]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def find_parts(text: Bytes, offsets: Places) -> Parts:
    """The parts of words in a buffer of valid UTF-8, whose row i lies from offsets[i] to offsets[i + 1]."""
    classes = _classify(text)
    is_word = classes == _WORD
    follows, precedes = np.zeros_like(is_word), np.zeros_like(is_word)
    follows[1:], precedes[:-1] = is_word[:-1], is_word[1:]
    inner = offsets[(offsets > 0) & (offsets < len(text))]  # a word does not reach from one row into the next
    follows[inner], precedes[inner - 1] = False, False
    starts = np.flatnonzero(is_word & ~follows)
    ends = np.flatnonzero(is_word & ~precedes) + 1
    rows = np.searchsorted(offsets, starts, side="right") - 1
    return Parts(starts, ends, rows, _are_joined(text, classes, starts, ends, rows))


def are_words(tokens: Sequence[str]) -> npt.NDArray[np.bool_]:
    """For each token whether a text that consists of it alone is one word."""
    text, offsets = join_texts(tokens)
    parts = find_parts(text, offsets)
    first, last = parts.is_first, parts.is_last
    words = np.bincount(parts.rows[first], minlength=len(tokens))
    covered = np.zeros(len(tokens), dtype=np.int64)
    np.add.at(covered, parts.rows[first], parts.ends[last] - parts.starts[first])
    return np.asarray((words == 1) & (covered == np.diff(offsets)))


def _are_joined(
    text: Bytes, classes: npt.NDArray[np.uint8], starts: Places, ends: Places, rows: Places
) -> npt.NDArray[np.bool_]:
    joined = np.zeros(len(starts), dtype=bool)
    if len(starts) > 1:
        gaps = starts[1:] - ends[:-1]
        after = ends[:-1]
        width = np.where(text[after] == ord("'"), 1, 3)  # the other apostrophe takes three bytes
        joined[:-1] = (classes[after] == _APOSTROPHE) & (gaps == width) & (rows[1:] == rows[:-1])
    return joined


def find_digits(text: Bytes, starts: Places, ends: Places) -> npt.NDArray[np.bool_]:
    """For each span whether it consists of decimal digits only, of any script."""
    is_digit = (text >= ord("0")) & (text <= ord("9"))
    wide = decode_wide(text)
    if wide is not None:
        digits = np.isin(wide.codes, _wide_digits())
        for step in range(4):
            reached = digits & (wide.widths > step)
            is_digit[wide.leads[reached] + step] = True
    return np.asarray(_sums(is_digit, starts, ends) == ends - starts)


def find_cases(text: Bytes, starts: Places, ends: Places) -> npt.NDArray[np.int64]:
    """How each span is written: UPPER with two capitals or more and no small letter, TITLE with a capital first."""
    kinds = _letter_kinds()
    written = np.concatenate([kinds[:128], np.zeros(128, dtype=np.uint8)])[text]
    wide = decode_wide(text)
    if wide is not None:
        written[wide.leads] = kinds[wide.codes]
    capitals, small = _sums(written == UPPER, starts, ends), _sums(written == TITLE, starts, ends)
    title = np.where(written[starts] == UPPER, TITLE, LOWER)
    return np.where((capitals > 1) & (small == 0), UPPER, title)


def count_characters(text: Bytes, starts: Places, ends: Places) -> Places:
    """How many characters each span has."""
    return _sums((text & 0xC0) != 0x80, starts, ends)


def _sums(flags: npt.NDArray[np.bool_], starts: Places, ends: Places) -> Places:
    """How many flags are set within each span, none of which is empty."""
    lengths = ends - starts
    if not len(lengths):
        return lengths
    begins = np.cumsum(lengths) - lengths
    places = np.repeat(starts - begins, lengths)
    places += np.arange(len(places))
    return np.add.reduceat(flags[places], begins, dtype=np.int64)


@dataclass(frozen=True)
class WideCharacters:
    """The characters beyond ASCII in a buffer: where each begins, how many bytes it takes, and its code point."""

    leads: Places
    widths: Places
    codes: Places


def decode_wide(text: Bytes) -> WideCharacters | None:
    """All characters beyond ASCII of valid UTF-8; None if there is none."""
    leads = np.flatnonzero(text >= 0xC0)
    if not len(leads):
        return None
    padded = np.concatenate([text, np.zeros(3, dtype=np.uint8)])
    first, second, third, fourth = (padded[leads + step].astype(np.int64) for step in range(4))
    second, third, fourth = second & 0x3F, third & 0x3F, fourth & 0x3F
    widths = np.where(first < 0xE0, 2, np.where(first < 0xF0, 3, 4))
    two = (first & 0x1F) << 6 | second
    three = (first & 0x0F) << 12 | second << 6 | third
    four = (first & 0x07) << 18 | second << 12 | third << 6 | fourth
    return WideCharacters(leads, widths, np.where(widths == 2, two, np.where(widths == 3, three, four)))


def _classify(text: Bytes) -> npt.NDArray[np.uint8]:
    """The class of the character that each byte belongs to."""
    table = _character_classes()
    classes = np.concatenate([table[:128], np.zeros(128, dtype=np.uint8)])[text]
    wide = decode_wide(text)
    if wide is not None:
        found = table[wide.codes]
        for step in range(4):
            reached = wide.widths > step
            classes[wide.leads[reached] + step] = found[reached]
    return classes


@cache
def _letter_kinds() -> npt.NDArray[np.uint8]:
    """UPPER for capitals, TITLE for small letters, LOWER for all else: of every code point."""
    kinds = [unicodedata.category(chr(code)) for code in range(sys.maxunicode + 1)]
    return np.array([UPPER if kind in ("Lu", "Lt") else TITLE if kind == "Ll" else LOWER for kind in kinds], np.uint8)


@cache
def _wide_digits() -> Places:
    """Decimal digits beyond ASCII."""
    return np.array([code for code in range(128, sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Nd"])


@cache
def _character_classes() -> npt.NDArray[np.uint8]:
    """The class of every code point."""
    kinds = "".join(unicodedata.category(chr(code))[0] for code in range(sys.maxunicode + 1))
    table = np.isin(np.frombuffer(kinds.encode(), dtype=np.uint8), np.frombuffer(b"LMN", dtype=np.uint8))
    classes = np.where(table, np.uint8(_WORD), np.uint8(_OTHER))
    classes[ord("_")] = _WORD
    classes[[ord("'"), 0x2019]] = _APOSTROPHE
    return classes
