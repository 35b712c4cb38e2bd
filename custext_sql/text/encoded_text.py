"""A buffer of UTF-8, with cached views of its characters and functions on spans of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Bytes, Flags, Hashes, Places
from custext_sql.text.characters import INVISIBLE, SYMBOL, traits

PADDING = 24  # zeros after a lowercase text, so that this many bytes can be read from any position
_STYLE = 0xFE0E  # after a symbol: show it as text; the next code point: show it as a picture
_ASCII_SYMBOLS = np.frombuffer(b"$+<=>^`|~", dtype=np.uint8)
_NEW_LINE = ord("\n")
FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype=np.uint64)  # masks for 0 to 8 bytes


@dataclass(frozen=True)
class WideCharacters:
    """The non-ASCII characters of a buffer: where each begins, its width in bytes, and its code point."""

    leads: Places
    widths: Places
    codes: Places

    @cached_property
    def traits(self) -> npt.NDArray[np.int32]:
        """The properties of each character, as bits of `characters.traits`."""
        return traits.find(self.codes)

    def at(self, places: Places | Flags) -> "WideCharacters":
        """Return some of the characters, by index or by flag."""
        return WideCharacters(self.leads[places], self.widths[places], self.codes[places])

    def spread(self, values: npt.NDArray[np.generic], target: npt.NDArray[np.generic]) -> None:
        """Write the value of each character to all of its bytes in `target`."""
        target[self.leads] = values
        target[self.leads + 1] = values
        for step in (2, 3):
            reached = (self.widths > step).nonzero()[0]
            if len(reached):
                target[self.leads[reached] + step] = values[reached]


@dataclass(frozen=True, eq=False)
class EncodedText:
    """Texts end to end in valid UTF-8."""

    content: Bytes

    @cached_property
    def wide(self) -> WideCharacters | None:
        """The non-ASCII characters; None if there are none."""
        if self.content.max(initial=0) < 0x80:
            return None
        leads, tail = (self.content >= 0xC0).nonzero()[0], self.content[self.content >= 0x80]
        codes = np.frombuffer(tail.tobytes().decode().encode("utf-32-le"), dtype="<u4").astype(np.int64)
        return WideCharacters(leads, 2 + (codes >= 0x800) + (codes >= 0x10000), codes)

    @cached_property
    def lowered(self) -> Bytes:
        """The content with ASCII letters in lower case and ' for `, followed by PADDING zeros."""
        lowered = np.zeros(len(self.content) + PADDING, dtype=np.uint8)
        capital = ((self.content - np.uint8(ord("A"))) < 26).view(np.uint8)
        np.left_shift(capital, 5, out=capital)
        np.bitwise_or(self.content, capital, out=lowered[: len(self.content)])
        np.putmask(lowered[: len(self.content)], self.content == ord("`"), ord("'"))
        return lowered

    def count(self, flags: Flags, starts: Places, ends: Places) -> Places:
        """Return how many flagged bytes each span contains. No span may be empty."""
        lengths = ends - starts
        if not len(lengths):
            return lengths
        begins = np.cumsum(lengths) - lengths
        return np.add.reduceat(flags.take(spread_out(starts, lengths)), begins, dtype=np.int64)

    def count_characters(self, starts: Places, ends: Places) -> Places:
        """Return the number of characters of each span. Spans are in ascending order."""
        counts = ends - starts
        if self.wide is not None and len(counts):
            span = np.searchsorted(starts, self.wide.leads, side="right") - 1
            within = np.flatnonzero((span >= 0) & (self.wide.leads < ends[span]))
            np.subtract.at(counts, span[within], self.wide.widths[within] - 1)
        return counts


def drop_invisible(text: EncodedText, offsets: Places, texts: Places) -> tuple[EncodedText, Places]:
    """Return the text without invisible and private-use characters, and the offsets moved accordingly.

    A variation selector after a symbol of the same text stays: it says how to show the symbol. texts: their bounds.
    """
    wide = text.wide
    if wide is None or not (dropped := (wide.traits & INVISIBLE) != 0).any():
        return text, offsets
    styles = ((wide.codes & ~1) == _STYLE).nonzero()[0]
    before = text.content[wide.leads[styles] - 1]
    on_symbol = np.where(before < 0x80, np.isin(before, _ASCII_SYMBOLS), (wide.traits[styles - 1] & SYMBOL) != 0)
    dropped[styles[on_symbol & ~begin_rows(wide.leads[styles], texts)]] = False
    gone = wide.at(dropped)
    return remove(text, gone)[0], offsets - count_removed(gone, offsets)


def remove(text: EncodedText, gone: WideCharacters) -> tuple[EncodedText, Places]:
    """Return the text without some of its characters, and where each remaining byte was, and the end of the text."""
    kept = np.ones(len(text.content) + 1, dtype=bool)
    gone.spread(np.zeros(len(gone.leads), dtype=bool), kept)
    return EncodedText(text.content[kept[:-1]]), kept.nonzero()[0]


def count_removed(gone: WideCharacters, places: Places) -> Places:
    """Return how many bytes before each place belong to removed characters."""
    before: Places = np.append(0, np.cumsum(gone.widths))[gone.leads.searchsorted(places)]
    return before


def join_lines(content: Bytes, starts: Places, ends: Places) -> str:
    """Return spans as lines, each ended by a newline. No span may contain a newline."""
    lengths = ends - starts + 1
    lines = content.take(spread_out(starts, lengths), mode="clip")
    lines[np.cumsum(lengths) - 1] = _NEW_LINE
    return lines.tobytes().decode()


def split_lines(lines: str) -> tuple[EncodedText, Places]:
    """Return lines end to end, without newlines, and where each begins and ends."""
    content = np.frombuffer(lines.encode(), dtype=np.uint8)
    breaks = (content == _NEW_LINE).nonzero()[0]
    return EncodedText(content[content != _NEW_LINE]), np.append(0, breaks - np.arange(len(breaks)))


def overlapping_chunks(padded: Bytes) -> Hashes:
    """Return the eight bytes from each position on, as an integer: a view, in which nothing is copied."""
    return np.ndarray((len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,))


def hash_spans(padded: Bytes, starts: Places, ends: Places) -> Hashes:
    """Return a 64-bit hash of each span of a text with PADDING, valid only in this process."""
    lengths = ends - starts
    chunks = overlapping_chunks(padded)
    hashes = _scramble(chunks[starts] & FIRST_BYTES.take(np.minimum(lengths, 8)))
    for step in range(8, PADDING, 8):
        longer = (lengths > step).nonzero()[0]
        keys = chunks[starts[longer] + step] & FIRST_BYTES.take(np.minimum(lengths[longer] - step, 8))
        hashes[longer] = _scramble(hashes[longer] ^ keys)
    for place in (lengths > PADDING).nonzero()[0].tolist():  # rare
        hashes[place] = hash(padded[starts[place] : ends[place]].tobytes()) & ((1 << 64) - 1)
    return hashes


def _scramble(numbers: Hashes) -> Hashes:
    """Return SplitMix64 of each number."""
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def join_texts(texts: Sequence[str]) -> tuple[Bytes, Places]:
    """Return texts end to end in UTF-8, and where each begins and ends."""
    encoded = [text.encode() for text in texts]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def find_rows(starts: Places, offsets: Places) -> Places:
    """Return the row in which each span begins. Spans are in ascending order."""
    before = starts.searchsorted(offsets)
    return np.arange(len(offsets) - 1).repeat(before[1:] - before[:-1])


def begin_rows(places: Places, offsets: Places) -> Flags:
    """Return for each position whether a row begins there. Positions lie within the rows."""
    found: Flags = offsets[offsets.searchsorted(places)] == places
    return found


def spread_out(starts: Places, lengths: Places) -> Places:
    """Return every position within the spans, one span after the other. A span may be empty.

    The starts 4 9 2 and lengths 3 0 2 give 4 5 6 2 3.
    """
    if not lengths.all():
        some = np.flatnonzero(lengths)
        starts, lengths = starts.take(some), lengths.take(some)
    if not len(lengths):
        return lengths
    ends = np.cumsum(lengths)
    steps = np.ones(int(ends[-1]), dtype=np.int64)  # between positions; a cumulative sum is faster than repeat
    steps[0], steps[ends[:-1]] = starts[0], starts[1:] - starts[:-1] - lengths[:-1] + 1
    return np.cumsum(steps, out=steps)


class DistinctSpans(NamedTuple):
    """Distinct spans end to end, where each begins and ends, and the number of the distinct span of each given one."""

    content: Bytes
    offsets: Places
    numbers: Places


def find_distinct(content: Bytes, starts: Places, ends: Places) -> DistinctSpans:
    """Return the distinct ones of some spans, in order of first occurrence, so that slow work is done once for each.

    In `to be to`, the spans of the three words give `tobe`, offsets 0 2 4 and numbers 0 1 0.
    """
    import pyarrow as pa  # slow to load, and spaCy loads this module into every pipeline

    lengths = ends - starts
    given = np.append(0, np.cumsum(lengths)), content.take(spread_out(starts, lengths))
    buffers = [None, *map(pa.py_buffer, given)]
    encoded = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(starts), buffers).dictionary_encode()
    _, bounds, different = encoded.dictionary.buffers()
    offsets = np.frombuffer(bounds, dtype=np.int64)[: len(encoded.dictionary) + 1]
    numbers = encoded.indices.to_numpy().astype(np.int64)
    return DistinctSpans(np.frombuffer(different or b"", dtype=np.uint8)[: offsets[-1]], offsets, numbers)
