"""Finds units in a column of texts: e-mail addresses, numbers, dates and the like, each of which is masked as a whole.

Most words are nowhere near a unit. The few that may be part of one are picked with array operations, and only these
windows of the text are matched against the patterns.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Bytes, Flags, Places
from custext_sql.text.characters import INVISIBLE, unit_characters
from custext_sql.text.encoded_text import EncodedText, WideCharacters, begin_rows, count_removed, remove, spread_out
from custext_sql.text.unit_patterns import (
    ADDRESSES,
    COORDINATES,
    DEGREE,
    HEX_CHAINS,
    IBANS,
    MARKED_PHONES,
    NUMBERS,
    SHORTEST_IBAN,
    SUFFIXES,
    UNIT_TYPES,
    Pattern,
)

Windows = tuple[Places, Places]  # where parts of texts begin and end that may contain units

_AROUND, _BETWEEN = 8, 18  # bytes that may matter around a number, and most bytes between two of its groups
_COMPACT = 7  # bytes of the shortest number that can be a unit without separators
_MARKS = (*b":-@#.", DEGREE)
_HEX_REACH = 5  # bytes from one mark of a hexadecimal number to the next
_DECIMALS = 4  # of coordinates without a degree sign
_ID, _ID_DIGITS = UNIT_TYPES.index("id"), 6  # digits that make a number an ID if it is joined to a word before it
_IN_CHAIN, _IN_JOIN, _IS_SIGN, _IS_SEPARATOR = (
    np.isin(np.arange(256), list(some)) for some in (b"-./:", b"0123456789 -./()+", b"+(", b" .-/:()+#")
)
_IS_SEPARATOR[0x80:] = True
_IS_LETTER = np.array([chr(code).isalpha() or code == ord("_") or code >= 0x80 for code in range(256)])
_BEGINS_SUFFIX = np.zeros((256, 256), dtype=bool)  # two bytes that SUFFIXES or other characters than ASCII begin with
_BEGINS_SUFFIX[0x80:] = _BEGINS_SUFFIX[:, 0x80:] = True
for _name in (name for suffix in SUFFIXES for name in (suffix, suffix.upper())):
    _BEGINS_SUFFIX[ord(_name[0]), ord(_name[1])] = True


@dataclass(frozen=True)
class Units:
    """Where units begin and end, in ascending order, and their types, as numbers in `UNIT_TYPES`."""

    starts: Places
    ends: Places
    types: Places


def find_units(text: EncodedText, offsets: Places, starts: Places, ends: Places) -> Units | None:
    """Return the units of some texts; None if there are none. offsets: of the texts. starts, ends: of their words."""
    if text.wide is not None and (hidden := (text.wide.traits & INVISIBLE) != 0).any():
        return _look_through(text, text.wide.at(hidden), offsets, starts, ends)
    matched = (_match(text, windows, pattern) for pattern, windows in _find_windows(text, offsets, starts, ends))
    found = [units for units in matched if units is not None]
    return _join(found) if found else None


def _look_through(
    text: EncodedText, hidden: WideCharacters, offsets: Places, starts: Places, ends: Places
) -> Units | None:
    """Return the units that a reader sees in texts with invisible characters, which a policy may keep."""
    seen, places = remove(text, hidden)
    rows, starts, ends = (spots - count_removed(hidden, spots) for spots in (offsets, starts, ends))
    some = (starts < ends).nonzero()[0]
    starts, ends = starts[some], ends[some]
    apart = (starts[1:] > ends[:-1]) | begin_rows(starts[1:], rows)  # what touches now is one word
    edges = np.concatenate([[0], apart.nonzero()[0] + 1])[: len(starts)]
    units = find_units(seen, rows, starts[edges], np.maximum.reduceat(ends, edges) if len(ends) else ends)
    if units is None:
        return None
    row = rows.searchsorted(units.starts, "right")
    return Units(places[units.starts], np.minimum(places[units.ends], offsets[row]), units.types)


def _find_windows(
    text: EncodedText, offsets: Places, starts: Places, ends: Places
) -> Iterator[tuple[Pattern, Windows]]:
    """Yield parts of the texts, cut off at the ends of texts, with the pattern that may match there."""
    content = text.content
    colons, dashes, signs, tags, dots, degrees = _find_marks(text)
    after = content.take(colons + 1, mode="clip")
    anchors = (colons[(after == ord("/")) | (after >= 0x80)], signs, tags, dots[_are_in_hosts(content, dots)])
    if sum(map(len, anchors)):
        yield ADDRESSES, _cut_at_spaces(text, np.sort(np.concatenate(anchors)), offsets)
    width, far = (1, _HEX_REACH) if text.wide is None else (3, 4 * _HEX_REACH)  # of a colon, and to the next mark
    chains = np.concatenate([colons[:-1][np.diff(colons) <= width], _find_near(colons, far), _find_near(dashes, far)])
    if len(chains):
        yield HEX_CHAINS, _cut_at_spaces(text, np.sort(chains), offsets)
    digits = _have_digits(text, starts, ends).nonzero()[0]
    if len(digits):
        first, last = starts.take(digits), ends.take(digits)
        decimals = first[last - first >= _DECIMALS]
        degrees = np.concatenate([degrees, decimals[content.take(decimals - 1, mode="clip") == ord(".")]])
        linked = _find_linked(content, first, last, offsets, digits)
        is_near = last - first >= _COMPACT
        is_near[linked] = is_near[linked + 1] = True
        near = is_near.nonzero()[0]
        if len(near):
            reach = last + _AROUND
            reach[linked] = np.maximum(reach[linked], first[linked + 1])
            yield NUMBERS, _cut(first[near] - _AROUND, reach[near], first[near], offsets)
        banks = first[_begin_ibans(content, first, last)]
        if len(banks):
            yield IBANS, _take_rows(banks, offsets)
    if len(degrees):
        yield COORDINATES, _take_rows(np.sort(degrees), offsets)


def _find_marks(text: EncodedText) -> Iterator[Places]:
    """Yield where each of : - @ # . and the degree sign is, or a character that stands for it."""
    places = ((text.content - np.uint8(ord("#"))) <= ord("@") - ord("#")).nonzero()[0]
    marks = text.content.take(places)
    if text.wide is not None:
        kinds = unit_characters.find(text.wide.codes)
        wide = np.isin(kinds, _MARKS).nonzero()[0]
        places = np.concatenate([places, text.wide.leads[wide]])
        marks = np.concatenate([marks, kinds[wide].astype(np.uint8)])
        order = np.argsort(places, kind="stable")
        places, marks = places[order], marks[order]
    return (places[marks == mark] for mark in _MARKS)


def _are_in_hosts(content: Bytes, dots: Places) -> Flags:
    """Return which dots follow a w, as in www, or come before what a suffix may begin with."""
    before, first, second = (content.take(dots + step, mode="clip") for step in (-1, 1, 2))
    found: Flags = _BEGINS_SUFFIX[first, second] | (before | 0x20 == ord("w")) | (before >= 0x80)
    return found


def _find_near(marks: Places, reach: int) -> Places:
    """Return marks that are followed by three others as closely as in MAC and IP addresses and in UUIDs."""
    gaps = np.diff(marks)
    near = (gaps > 1) & (gaps <= reach)
    return marks[:-3][near[:-2] & near[1:-1] & near[2:]]


def _have_digits(text: EncodedText, starts: Places, ends: Places) -> Flags:
    """Return which words begin or end with a digit, contain one of another script, or may be bank numbers.

    A letter may come first: the W of a week, or the x of an extension.
    """
    content = text.content
    first = content.take(starts)
    found: Flags = (first - np.uint8(ord("0"))) < 10
    marked = (((first | 0x20) - np.uint8(ord("w"))) < 2).nonzero()[0]
    found[marked] = (content.take(starts.take(marked) + 1, mode="clip") - np.uint8(ord("0"))) < 10
    found |= (content.take(ends - 1) - np.uint8(ord("0"))) < 10
    found |= ends - starts >= SHORTEST_IBAN
    if text.wide is not None:
        kinds = unit_characters.find(text.wide.codes)
        wide = text.wide.leads[(kinds >= ord("0")) & (kinds <= ord("9"))]
        word = starts.searchsorted(wide, "right") - 1
        found[word[(word >= 0) & (wide < ends.take(word, mode="clip"))]] = True
    return found


def _find_linked(content: Bytes, first: Places, last: Places, offsets: Places, digits: Places) -> Places:
    """Return which words with digits are followed by another one of the same text, with only separators between."""
    gaps = first[1:] - last[:-1]
    linked: Places = ((gaps <= _BETWEEN) & (digits[1:] - digits[:-1] == 1)).nonzero()[0]
    for step in range(int(gaps[linked].max(initial=0))):
        inside = gaps.take(linked) > step
        linked = linked[~inside | _IS_SEPARATOR[content.take(last.take(linked) + step, mode="clip")]]
    rows = (offsets.searchsorted(first.take(some), "right") for some in (linked, linked + 1))
    return linked[np.equal(*rows)]


def _begin_ibans(content: Bytes, first: Places, last: Places) -> Flags:
    """Return which words begin with two letters and two digits, or with other characters than ASCII."""
    found = last - first >= 4
    for step in range(4):
        byte = content.take(first + step, mode="clip")
        fits = ((byte | 0x20) - np.uint8(ord("a"))) < 26 if step < 2 else (byte - np.uint8(ord("0"))) < 10
        found &= fits | (byte >= 0x80)
    return found | (content.take(first) >= 0x80)


def _cut_at_spaces(text: EncodedText, places: Places, offsets: Places) -> Windows:
    """Return windows from space to space around some places, in ascending order, cut off at the ends of texts."""
    rows = offsets.searchsorted(places, "right")
    rows = rows[np.append(True, rows[1:] != rows[:-1])]
    spots = spread_out(offsets[rows - 1], offsets[rows] - offsets[rows - 1])  # only of these texts, often very few
    spaces = np.concatenate([[-1], spots[text.content.take(spots) <= ord(" ")], [len(text.content)]])
    next_space = spaces.searchsorted(places)
    return _cut(spaces[next_space - 1] + 1, spaces[next_space], places, offsets)


def _take_rows(places: Places, offsets: Places) -> Windows:
    """Return whole texts as windows: those of some places, in ascending order."""
    rows = np.unique(offsets.searchsorted(places, "right"))
    return offsets[rows - 1], offsets[rows]


def _cut(starts: Places, ends: Places, places: Places, offsets: Places) -> Windows:
    """Return windows in ascending order, cut off at the ends of the texts of some places; windows that overlap are one.

    starts, ends: of the windows, each of which contains a place, in ascending order.
    """
    row = offsets.searchsorted(places, "right")
    starts, ends = np.maximum(starts, offsets[row - 1]), np.minimum(ends, offsets[row])
    begins = np.append(True, starts[1:] >= ends[:-1])
    return starts[begins], ends[np.append(begins[1:], True)]


def _match(text: EncodedText, windows: Windows, pattern: Pattern) -> Units | None:
    """Return the units in some windows."""
    characters, places = _read(text, windows)
    expression, types = pattern
    if pattern is NUMBERS:
        found = _match_numbers(characters)
    else:
        found = [
            (match.start(), match.end(), types[match.lastindex or 0])
            for match in expression.finditer(characters.tobytes())
        ]
    if not found:
        return None
    starts, ends, kinds = np.array(found, dtype=np.int64).T
    return Units(places[starts], places[ends], kinds)


def _match_numbers(characters: Bytes) -> list[tuple[int, int, int]]:
    """Return the start, end and type of each unit that is a number, where a chain of numbers begins."""
    text = characters.tobytes()
    (numbers, types), (marked, marked_types) = NUMBERS, MARKED_PHONES
    found, end = [], 0
    for start, is_sign in _list_beginnings(characters):
        if start >= end:
            match = (marked if is_sign else numbers).match(text, start)
            if match is not None:
                end, kind = match.end(), (marked_types if is_sign else types)[match.lastindex or 0]
                if not is_sign and _names_thing(text, start, end):
                    start, kind = start - 2, _ID
                found.append((start, end, kind))
    return found


def _names_thing(text: bytes, start: int, end: int) -> bool:
    """Return whether a number is joined to a word before it, as in ORD-2025-524501."""
    joined = start > 1 and text[start - 1] in b"-/" and bool(_IS_LETTER[text[start - 2]])
    return joined and sum(48 <= byte < 58 for byte in text[start:end]) >= _ID_DIGITS


def _list_beginnings(characters: Bytes) -> Iterator[tuple[int, bool]]:
    """Yield where a chain of numbers begins that may be a unit, or a sign before it; and whether it is the sign."""
    is_digit = (characters - np.uint8(ord("0"))) < 10
    edges = np.diff(np.concatenate([[False], is_digit, [False]]).view(np.int8)).nonzero()[0]
    first, end = edges[0::2], edges[1::2]
    before, second = characters.take(first - 1, mode="wrap"), characters.take(first - 2, mode="wrap")
    begins = ~(_IN_CHAIN[before] & (np.append(-1, end[:-1]) == first - 1))
    after, then = characters.take(end, mode="clip"), characters.take(end + 1, mode="clip")
    begins &= _IN_CHAIN[after] | (_IN_JOIN[after] & _IN_JOIN[then]) | (end - first >= _COMPACT)
    signs = _IS_SIGN[before]
    more = first[signs & _IS_SIGN[second]] - 2
    places = np.concatenate([first[begins], first[signs] - 1, more])
    is_sign = np.arange(len(places)) >= int(begins.sum())
    order = np.argsort(places, kind="stable")
    return zip(places[order].tolist(), is_sign[order].tolist(), strict=True)


def _read(text: EncodedText, windows: Windows) -> tuple[Bytes, Places]:
    """Return windows as lines with one byte per character, and where each character is in the text."""
    lengths = windows[1] - windows[0] + 1  # with the character after the window, for the end of its line
    places = spread_out(windows[0], lengths)
    ends = np.cumsum(lengths) - 1
    characters = text.content.take(places, mode="clip")
    if text.wide is None:
        characters[ends] = ord("\n")
        return characters, places
    leads = (characters >= 0xC0).nonzero()[0]
    codes = text.wide.codes.take(text.wide.leads.searchsorted(places[leads]), mode="clip")
    whole = (characters & 0xC0) != 0x80
    whole[ends] = True
    characters[leads] = unit_characters.find(codes)
    characters[ends] = ord("\n")
    return characters[whole], places[whole]


def _join(found: list[Units]) -> Units:
    """Return units in ascending order; those that overlap are one, of the first of their types."""
    if len(found) == 1:
        return found[0]
    starts, ends, types = (
        np.concatenate(parts) for parts in zip(*((one.starts, one.ends, one.types) for one in found), strict=True)
    )
    order = np.argsort(starts, kind="stable")
    starts, types, ends = starts[order], types[order], np.maximum.accumulate(ends[order])
    begins = np.append(True, starts[1:] >= ends[:-1]).nonzero()[0]
    return Units(starts[begins], np.maximum.reduceat(ends, begins), np.minimum.reduceat(types, begins))
