"""Finds units, each of which is masked as a whole: e-mail and IP addresses, bank and phone numbers, dates and the like.

Whether a span is a unit does not depend on which word of a vocabulary stands in it or beside it: if "March 5" were a
unit, masking it would tell March from the other words of its group. So a pattern consists of digits, separators and
places where any word may stand, and it ends where a word ends. The exceptions are words with digits, words of the
letters a to f in hexadecimal numbers, and LITERALS.

Each pattern takes linear time: whatever can repeat without end begins where no earlier attempt began, and never gives
back what it has matched. It reads one byte per character: ASCII, or its form for digits of other scripts, dashes and
spaces; 255 for any other letter, 2 for a degree sign, 1 for the rest. Most words are nowhere near a unit: array
operations pick the windows of the text that may have one, and only these are matched.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from custext_sql.arrays import Bytes, Flags, Places
from custext_sql.text.characters import INVISIBLE, unit_characters
from custext_sql.text.encoded_text import EncodedText, WideCharacters, begin_rows, count_removed, remove, spread_out

Pattern = tuple[re.Pattern[bytes], tuple[int, ...]]  # with the type of each group, by number

UNIT_TYPES = (  # of two that overlap, the first
    *("url", "email", "uuid", "iban", "ip", "mac", "coordinates", "ssn", "date", "card", "phone", "time"),
    *("handle", "hashtag", "id"),
)
SUFFIXES = (  # of hosts in URLs without a scheme: no common words
    *("com", "org", "net", "edu", "gov", "mil", "info", "biz", "io", "ai", "app", "dev", "xyz", "eu", "uk", "au", "nz"),
    *("ca", "za", "ie", "de", "ch", "fr", "lu", "nl", "es", "pt", "br", "ar", "cl", "co", "mx", "pe", "uy", "dk", "se"),
    *("fi", "ee", "lv", "lt", "pl", "cz", "sk", "hu", "ro", "bg", "gr", "hr", "si", "tr", "ua", "ru", "kz", "il", "ir"),
    *("cn", "tw", "hk", "jp", "kr", "sg", "th", "vn", "ph"),
)
LITERALS = ("www", *SUFFIXES, "n", "s", "e", "w")  # the words that patterns name; the last four are of coordinates
_SHORTEST_IBAN = 15  # characters
_DEGREE = 2  # the byte of a degree sign

_SUFFIX = "|".join(name for one in SUFFIXES for name in (one, one.upper()))
# Regular expressions and their pieces; <W> stands for the piece W, which comes before it.
_PIECES = {
    "W": r"[A-Za-z0-9_\xff]",
    "NO_WORD": r"(?!<W>)",
    "LOCAL": r"A-Za-z0-9._%+\-!#$&*/=?^{|}~\xff",
    "HOST": r"<W>(?:[A-Za-z0-9_\xff.\-]*<W>)?",
    "SCHEME": r"[A-Za-z0-9_+.\-\xff]",  # whatever a scheme is joined to is part of it: "...http", "1.http"
    "IN_URL": r"[^\s<>\"\x01\x02]",
    "LAST_IN_URL": r"[^\s<>\"\x01\x02'.,;:!?)\]}]",
    "URL": r"(?<!<SCHEME>)(?=[+.\-]*+<W>)<SCHEME>++://<IN_URL>*<LAST_IN_URL>",
    "EMAIL": r"(?<![<LOCAL>'])'*+[<LOCAL>][<LOCAL>']*+@<HOST>",
    "HANDLE": r"(?<!<W>)@<HOST>(?:@<HOST>)?",
    "HASHTAG": r"(?<![A-Za-z0-9_\xff&])(?:#(?=\d*+[A-Za-z_\xff])<W>++)++",
    "BARE_URL": rf"(?<![A-Za-z0-9_\xff.\-@])\.*+(?:[Ww]{{3}}\.<HOST>|(?:[A-Za-z0-9_\xff\-]++\.)+(?:{_SUFFIX})<NO_WORD>"
    r"(?!\.<W>))(?::\d++)?(?:[/?#]<IN_URL>*<LAST_IN_URL>)?",
    # A group of an IBAN has four characters, at least one of them a digit, and so no word of letters. Between two such
    # groups, one word may stand for the letters of a bank. The IBANs of Brazil and Russia end with any words.
    "IBAN_GROUP": r"[ -](?=[A-Za-z]{0,3}\d)[A-Za-z0-9]{4}<NO_WORD>",
    "BANK": r"(?:[ -][A-Za-z_\xff']++(?=<IBAN_GROUP>))?",
    "IBAN": r"(?<![A-Za-z0-9_\xff])(?:[Bb][Rr]\d\d(?:<IBAN_GROUP>){6}[ -]<W>++"
    r"|[Rr][Uu]\d\d(?:<IBAN_GROUP>){3}(?:[ -]<W>++){5}|[A-Za-z]{2}\d\d(?:[A-Za-z0-9]{11,30}<NO_WORD>"
    r"|<BANK>(?:<IBAN_GROUP><BANK>){2,7}(?:[ -]\d[A-Za-z0-9]{0,3}<NO_WORD>)?))",
    "HEX": r"[0-9A-Fa-f]",
    "IP_GROUP": r"<HEX>{1,4}",
    "ZONE": r"(?:%<HOST>)?",
    "LONG_IP": r"(?<![A-Za-z0-9_\xff:.])(?:(?:<IP_GROUP>:){7}<IP_GROUP>|(?=[A-Fa-f:]{0,39}\d)"
    r"(?:<IP_GROUP>(?::<IP_GROUP>){0,6})?::(?:<IP_GROUP>(?::<IP_GROUP>){0,6}+)?)(?!<W>|:[A-Za-z0-9_\xff:])<ZONE>",
    "MAC": r"(?<![A-Za-z0-9_\xff.])(?:<HEX>{2}(?::<HEX>{2}){5}(?!:<W>)"
    r"|<HEX>{2}(?:-<HEX>{2}){5}(?!-<HEX>{2}<NO_WORD>))<NO_WORD>",
    "UUID": r"(?<!<W>)<HEX>{8}(?:-<HEX>{4}){3}-<HEX>{12}<NO_WORD>",
    # Two angles, in degrees with at least four decimals or with signs; or one in degrees and minutes.
    "HEMISPHERE": r"(?: ?[NSEWnsew])?<NO_WORD>",
    "MINUTES": r" ?\d{1,2}(?:\.\d++)? ?'(?: ?\d{1,2}(?:\.\d++)? ?(?:\"|''))?",
    "ANGLE": r"[+-]?\d{1,3}(?:\.\d{4,}+(?: ?\x02)?|(?:\.\d++)? ?\x02(?:<MINUTES>)?)<HEMISPHERE>",
    "COORDINATES": r"(?<![A-Za-z0-9_\xff.])(?:<ANGLE>(?: ?[,;/] ?| )<ANGLE>|[+-]?\d{1,3} ?\x02<MINUTES><HEMISPHERE>)"
    r"(?!\.?\d)",
    # Numbers that separators join without a space are a chain. A unit takes the rest of its chain, whatever it looks
    # like, so that no part of it is left.
    "REST": r"(?:(?:[-./:+]|[Tt]|-[Ww]|[xX#])\d++)*+(?:[Zz](?![A-Za-z]))?",
    "IP": r"\d{1,3}(?:\.\d{1,3}){3}(?!\d|\.\d)(?:[:/]\d{1,5})?",
    "SSN": r"\d{3}(?: ?- ?\d\d ?- ?| \d\d )\d{4}(?!\d|[-./:]\d| {1,2}\d++<NO_WORD>)",
    "CLOCK": r"(?:[ Tt]\d{1,2}:\d{1,2}<REST>(?: [+-]\d{4}<NO_WORD>)?)?",
    "LAST": r"(?:(?<! )|(?!\d++[A-Za-z_\xff]))",  # before the last group of a date: after a space, "1st" is a word
    "DATE": r"(?:\d{1,4} ?/ ?\d{1,2} ?/ ?<LAST>\d{1,4}(?!\d|/\d)"
    r"|\d{1,4}(?: ?[-/] ?|\.)\d{1,2}(?: ?[-/] ?|\.)<LAST>\d{1,4}(?!\d|[-.]\d)|\d{1,2}\. \d{1,2}\. \d{2,4}<NO_WORD>"
    r"|\d{4}-[Ww]\d{1,2}|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d))<CLOCK>",
    "WORD_BEGINS": r"(?<![A-Za-z_\xff])",
    "BETWEEN": r"(?: {1,2}| ?- ?|\.)",  # two groups of four digits
    "CARD": r"(?:<WORD_BEGINS>\d{12,19}(?!\d)|\d{4}(?:<BETWEEN>\d{4}){2}<BETWEEN>\d{1,7}<NO_WORD>"
    r"(?:[ -]\d{1,4}<NO_WORD>)?|\d{4}[ -]\d{6}[ -]\d{4,5}<NO_WORD>)",
    # A phone number has groups with at least 7 digits in all, or 8 to 11 digits, or at least 7 after a plus sign. Two
    # numbers side by side, one of which may be a year, are none.
    "JOIN": r"(?>\)?(?: ?[-/] ?| {1,2}|\.)?\(?\+?)",
    "AFTER": r":\d|[A-WYZa-wyz_\xff]",  # what does not follow a group
    "OTHERS": r"(?!\d{4}-\d\d?-\d|\d\d?/\d\d?/\d|\d\d?\.\d\d?\.\d|\d{1,3}(?:\.\d{1,3}){3}(?!\d|\.\d))",
    "STEP": r"<JOIN>(?>(?<! )|<OTHERS>)",
    "GROUP": r"\d++(?!<AFTER>)",
    "GROUPS": r"(?:<STEP><GROUP>)",
    "DIGIT": r"\d(?!\d*+(?:<AFTER>))",
    "SEVEN": r"(?=[+(]{0,2}<DIGIT>(?:<STEP><DIGIT>){6})",
    "YEAR": r"(?:19|20)\d\d",
    "NO_YEAR": r"(?!<YEAR>\)? {1,2}\d++(?!<JOIN>\d)|\d++ {1,2}<YEAR>(?!\d|<JOIN>\d))",
    "EXTENSION": r"(?: ?(?:[xX]|# ?)\d{1,6}(?!\d))?",  # in "x 60", x is a word
    "PHONE": r"<WORD_BEGINS>(?:<SEVEN><NO_YEAR><GROUP><GROUPS>++|\d{8,11}(?!\d))<EXTENSION>",
    "MARKED_PHONE": r"(?=\+|\(\+?\d{1,5}\))<SEVEN>(?!\(<YEAR>\) ?\d++(?!<JOIN>\d))"
    r"[+(]{1,2}<GROUP><GROUPS>*+<EXTENSION>",
    "TIME": r"\d++:\d++",
    "SHORT_DATE": r"\d++[-/]\d++",
    "NO_RATING": r"(?!(?:[0-5](?:\.\d)?/5|(?:\d(?:\.\d)?|10)/10)(?!\d|[-./:]\d))",  # stars, or points out of ten
}


def _expand(pattern: str) -> str:
    return re.sub("<([A-Z_]+)>", lambda match: _PIECES[match[1]], pattern)


for _name, _piece in _PIECES.items():
    _PIECES[_name] = _expand(_piece)


def _compile(first: str = "", rest: str = "", **patterns: str) -> Pattern:
    """Return patterns (pieces by type) as one, with what comes before each and what each takes besides.

    The first that matches counts. A type may have a 2 at its end.
    """
    either = "|".join(f"(<{piece}>)" for piece in patterns.values())
    types = (0, *(UNIT_TYPES.index(name.rstrip("2")) for name in patterns))
    return re.compile(_expand(f"{first}(?:{either}){rest}").encode()), types


ADDRESSES = _compile(url="URL", email="EMAIL", handle="HANDLE", hashtag="HASHTAG", url2="BARE_URL")
IBANS = _compile(iban="IBAN")
HEX_CHAINS = _compile(ip="LONG_IP", mac="MAC", uuid="UUID")
COORDINATES = _compile(coordinates="COORDINATES")
# To be matched where a number begins: NUMBERS at the first digit of a chain, MARKED_PHONES at a sign before it.
_NUMBERS = {"ip": "IP", "ssn": "SSN", "card": "CARD", "date": "DATE", "time": "TIME", "phone": "PHONE"}
NUMBERS = _compile("<NO_RATING>", "<REST>", **_NUMBERS, date2="SHORT_DATE")
MARKED_PHONES = _compile("", "<REST>", phone="MARKED_PHONE")

Windows = tuple[Places, Places]  # where parts of texts begin and end that may contain units

_AROUND, _BETWEEN = 8, 18  # bytes that may matter around a number, and most bytes between two of its groups
_COMPACT = 7  # bytes of the shortest number that can be a unit without separators
_MARKS = (*b":-@#.", _DEGREE)
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


class Units(NamedTuple):
    """Where units begin and end, in ascending order, and their types, as numbers in `UNIT_TYPES`."""

    starts: Places
    ends: Places
    types: Places


def find_units(text: EncodedText, offsets: Places, starts: Places, ends: Places) -> Units | None:
    """Return the units of some texts; None if there are none. offsets: of the texts. starts, ends: of their words."""
    if text.wide is not None and (hidden := (text.wide.traits & INVISIBLE) != 0).any():
        return _look_through(text, text.wide.at(hidden), offsets, starts, ends)
    matched = [_match(text, windows, pattern) for pattern, windows in _find_windows(text, offsets, starts, ends)]
    return _join([units for units in matched if units is not None])


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
    before, second, third = (content.take(dots + step, mode="clip") for step in (-1, 1, 2))
    in_hosts = _BEGINS_SUFFIX[second, third] | (before | 0x20 == ord("w")) | (before >= 0x80)  # as in .com or www.
    anchors = (colons[(after == ord("/")) | (after >= 0x80)], signs, tags, dots[in_hosts])
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
    marks, wide = text.content.take(places), text.wide
    kinds = None if wide is None else unit_characters.find(wide.codes)
    for mark in _MARKS:
        found = places[marks == mark]
        yield found if wide is None else np.sort(np.concatenate([found, wide.leads[kinds == mark]]))


def _find_near(marks: Places, reach: int) -> Places:
    """Return marks that are followed by three others as closely as in MAC and IP addresses and in UUIDs."""
    gaps = np.diff(marks)
    near = (gaps > 1) & (gaps <= reach)
    return marks[:-3][near[:-2] & near[1:-1] & near[2:]]


def _have_digits(text: EncodedText, starts: Places, ends: Places) -> Flags:
    """Return which words begin or end with a digit, contain one of another script, or may be bank numbers."""
    content = text.content
    first = content.take(starts)
    found: Flags = (first - np.uint8(ord("0"))) < 10
    marked = (((first | 0x20) - np.uint8(ord("w"))) < 2).nonzero()[0]  # the W of a week, or the x of an extension
    found[marked] = (content.take(starts.take(marked) + 1, mode="clip") - np.uint8(ord("0"))) < 10
    found |= (content.take(ends - 1) - np.uint8(ord("0"))) < 10
    found |= ends - starts >= _SHORTEST_IBAN
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
    """Return the windows around some places, in ascending order, cut off at the ends of texts; join what overlaps."""
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
        matches = expression.finditer(characters.tobytes())
        found = [(match.start(), match.end(), types[match.lastindex or 0]) for match in matches]
    if not found:
        return None
    starts, ends, kinds = np.array(found, dtype=np.int64).T
    return Units(places[starts], places[ends], kinds)


def _match_numbers(characters: Bytes) -> list[tuple[int, int, int]]:
    """Return the start, end and type of each unit that is a number, where a chain of numbers begins."""
    text = characters.tobytes()
    found, end = [], 0
    for start, is_sign in _list_beginnings(characters):
        expression, types = MARKED_PHONES if is_sign else NUMBERS
        if start >= end and (match := expression.match(text, start)):
            end, kind = match.end(), types[match.lastindex or 0]
            joined = start > 1 and text[start - 1] in b"-/" and _IS_LETTER[text[start - 2]]  # ORD-2025-524501
            if joined and not is_sign and sum(48 <= byte < 58 for byte in text[start:end]) >= _ID_DIGITS:
                start, kind = start - 2, _ID
            found.append((start, end, kind))
    return found


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


def _join(found: list[Units]) -> Units | None:
    """Return units in ascending order; those that overlap are one, of the first of their types."""
    if len(found) < 2:
        return found[0] if found else None
    starts, ends, types = map(np.concatenate, zip(*found, strict=True))
    order = np.argsort(starts, kind="stable")
    starts, types, ends = starts[order], types[order], np.maximum.accumulate(ends[order])
    begins = np.append(True, starts[1:] >= ends[:-1]).nonzero()[0]
    return Units(starts[begins], np.maximum.reduceat(ends, begins), np.minimum.reduceat(types, begins))
