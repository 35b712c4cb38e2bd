"""A buffer of UTF-8 and what is asked of it more than once: its characters beyond ASCII, and counts within spans."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

PADDING = 24  # zeros behind a text in lower case, so that as many bytes can be read from any place


@dataclass(frozen=True)
class WideCharacters:
    """The characters beyond ASCII in a buffer: where each begins, how many bytes it takes, and its code point."""

    leads: Places
    widths: Places
    codes: Places

    def spread(self, values: npt.NDArray[np.generic], target: npt.NDArray[np.generic]) -> None:
        """Write the value of each character to all its bytes."""
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
        """The characters beyond ASCII; None if there is none."""
        return _decode_wide(self.content) if self.content.max(initial=0) >= 0x80 else None

    @cached_property
    def lowered(self) -> Bytes:
        """The content with ASCII letters in lower case, and some zeros behind it."""
        lowered = np.zeros(len(self.content) + PADDING, dtype=np.uint8)
        capital = ((self.content - np.uint8(ord("A"))) < 26).view(np.uint8)
        np.left_shift(capital, 5, out=capital)
        np.bitwise_or(self.content, capital, out=lowered[: len(self.content)])
        return lowered

    def count(self, flags: Flags, starts: Places, ends: Places) -> Places:
        """How many bytes with a flag lie within each span, none of which is empty."""
        lengths = ends - starts
        if not len(lengths):
            return lengths
        begins = np.cumsum(lengths) - lengths
        return np.add.reduceat(flags.take(spread_out(starts, lengths)), begins, dtype=np.int64)

    def count_characters(self, starts: Places, ends: Places) -> Places:
        """How many characters each span has; spans are in order."""
        counts = ends - starts
        if self.wide is not None and len(counts):
            span = np.searchsorted(starts, self.wide.leads, side="right") - 1
            within = np.flatnonzero((span >= 0) & (self.wide.leads < ends[span]))
            np.subtract.at(counts, span[within], self.wide.widths[within] - 1)
        return counts


def join_texts(texts: Sequence[str]) -> tuple[Bytes, Places]:
    """Texts end to end in UTF-8, and where each begins and ends."""
    encoded = [text.encode() for text in texts]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def find_rows(starts: Places, offsets: Places) -> Places:
    """The row in which each span begins; spans are in order."""
    before = starts.searchsorted(offsets)
    return np.arange(len(offsets) - 1).repeat(before[1:] - before[:-1])


def spread_out(starts: Places, lengths: Places) -> Places:
    """Every place within spans, one span after the other; a span may be empty."""
    if not lengths.all():
        some = np.flatnonzero(lengths)
        starts, lengths = starts.take(some), lengths.take(some)
    if not len(lengths):
        return lengths
    ends = np.cumsum(lengths)
    steps = np.ones(int(ends[-1]), dtype=np.int64)  # from one place to the next; a cumulative sum is faster than repeat
    steps[0], steps[ends[:-1]] = starts[0], starts[1:] - starts[:-1] - lengths[:-1] + 1
    return np.cumsum(steps, out=steps)


def _decode_wide(text: Bytes) -> WideCharacters:
    leads = np.flatnonzero(text >= 0xC0)
    padded = np.concatenate([text, np.zeros(3, dtype=np.uint8)])
    first, second, third, fourth = (padded[leads + step].astype(np.int64) for step in range(4))
    second, third, fourth = second & 0x3F, third & 0x3F, fourth & 0x3F
    widths = np.where(first < 0xE0, 2, np.where(first < 0xF0, 3, 4))
    two = (first & 0x1F) << 6 | second
    three = (first & 0x0F) << 12 | second << 6 | third
    four = (first & 0x07) << 18 | second << 12 | third << 6 | fourth
    return WideCharacters(leads, widths, np.where(widths == 2, two, np.where(widths == 3, three, four)))
