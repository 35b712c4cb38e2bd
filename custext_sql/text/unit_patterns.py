"""The patterns of units: e-mail and IP addresses, URLs, bank, card, phone and social-security numbers, dates, times.

Patterns consist of digits, the letters of identifiers, separators, @ and ://, and of no words of a language: if "March
5" were a unit, masking it would tell March from the other words of its group. Each takes linear time: whatever can
repeat without end begins where no earlier attempt began, and never gives back what it has matched.

The text is ASCII with one byte per character. Byte 255 stands for a letter of another alphabet, 2 for a letter of a
script without cases, 1 for any other character, and ASCII forms for digits of other scripts, dashes and spaces.
"""

import re

Pattern = tuple[re.Pattern[bytes], tuple[int, ...]]  # with the type of each group, by number

UNIT_TYPES = ("url", "email", "iban", "ip", "ssn", "date", "card", "phone", "time")  # of two that overlap, the first
SHORTEST_IBAN, LONGEST_IBAN = 15, 44  # characters; the longest has separators

_LOCAL, _HOST = rb"A-Za-z0-9._%+\-!#$&*/=?^{|}~\xff", rb"[A-Za-z0-9_\xff]"
_SCHEME = rb"[A-Za-z0-9+.\-\xff]"  # whatever a scheme is joined to is part of it: "...http", "1.http"
_URL = rb"(?<!%b)(?=[0-9+.\-]*+[A-Za-z\xff])%b++://[^\s<>\"\x01\x02]*[^\s<>\"\x01\x02'.,;:!?)\]}]" % (_SCHEME, _SCHEME)
_EMAIL = rb"(?<![%b'])'*+[%b][%b']*+@%b(?:[A-Za-z0-9_\xff.\-]*%b)?" % (_LOCAL, _LOCAL, _LOCAL, _HOST, _HOST)

# In groups, the second may be the letters of a bank; others have a digit, or are capitals before a group with a digit.
_NO_WORD = rb"(?![A-Za-z0-9_\xff\x02])"  # after digits that are a group of their own, unlike those of "1st"
_IBAN_GROUP = rb"(?:(?=[A-Z]{0,3}\d)[A-Z0-9]{4}%b|[A-Z]{4}(?=[ -][A-Z]{0,3}\d))" % _NO_WORD
_IBAN = rb"(?<![A-Za-z0-9_\xff\x02])[A-Za-z]{2}\d\d(?:[A-Za-z0-9]{11,30}|(?:[ -]%b){2,7}(?:[ -]\d[A-Z0-9]{0,3}%b)?)" % (
    _IBAN_GROUP,
    _NO_WORD,
)

_HEX = rb"[0-9A-Fa-f]{1,4}"
_LONG_IP = rb"|".join(
    (
        rb"(?<![A-Za-z0-9:.])(?:%b:){7}%b(?![:\dA-Fa-f])" % (_HEX, _HEX),
        rb"(?<![A-Za-z0-9:.])(?=[A-Fa-f:]{0,39}\d)(?:%b(?::%b){0,6})?::(?:%b(?::%b){0,6}+)?(?![:\dA-Fa-f])"
        % (_HEX, _HEX, _HEX, _HEX),
    )
)

# Numbers that separators join without a space are a chain. A unit takes the rest of its chain, whatever it looks like,
# so that no part of it is left.
_REST = rb"(?:(?:[-./:+]|[Tt]|-[Ww]|[xX#])\d++)*+(?:[Zz](?![A-Za-z]))?"
_IP = rb"\d{1,3}(?:\.\d{1,3}){3}(?!\d|\.\d)(?:[:/]\d{1,5})?"
_SSN = rb"\d{3}(?: ?- ?\d\d ?- ?| \d\d )\d{4}(?!\d|[-./:]\d| {1,2}\d++%b)" % _NO_WORD
_CLOCK = rb"(?:[ Tt]\d{1,2}:\d{1,2}%b(?: [+-]\d{4}%b)?)?" % (_REST, _NO_WORD)
_LAST = rb"(?:(?<! )|(?!\d++[A-Za-z_\xff\x02]))"  # before the last group of a date: after a space, "1st" is a word
_DATE = (
    rb"(?:\d{1,4} ?/ ?\d{1,2} ?/ ?%b\d{1,4}(?!\d|/\d)"
    rb"|\d{1,4}(?: ?[-/] ?|\.)\d{1,2}(?: ?[-/] ?|\.)%b\d{1,4}(?!\d|[-.]\d)"
    rb"|\d{1,2}\. \d{1,2}\. \d{2,4}%b|\d{4}-[Ww]\d{1,2})%b" % (_LAST, _LAST, _NO_WORD, _CLOCK)
)
_WORD_BEGINS = rb"(?<![A-Za-z_\xff\x02])"
_BETWEEN_FOURS = rb"(?: {1,2}| ?- ?|\.)"
_CARD = rb"(?:%b\d{12,19}(?!\d)|\d{4}(?:%b\d{4}){2}%b\d{1,7}%b(?:[ -]\d{1,4}%b)?|\d{4}[ -]\d{6}[ -]\d{4,5}%b)" % (
    _WORD_BEGINS,
    _BETWEEN_FOURS,
    _BETWEEN_FOURS,
    _NO_WORD,
    _NO_WORD,
    _NO_WORD,
)
# A phone number has groups with at least 7 digits in all, or 10 or 11 digits, or at least 7 after a plus sign. Two
# numbers side by side, one of which may be a year, are none.
_JOIN = rb"(?>\)?(?: ?[-/] ?| {1,2}|\.)?\(?\+?)"
_AFTER = rb":\d|[A-WYZa-wyz_\xff\x02]"  # what does not follow a group
_OTHERS = rb"(?!\d{4}-\d\d?-\d|\d\d?/\d\d?/\d|\d\d?\.\d\d?\.\d|\d{1,3}(?:\.\d{1,3}){3}(?!\d|\.\d))"
_STEP = rb"%b(?>(?<! )|%b)" % (_JOIN, _OTHERS)
_GROUP = rb"\d++(?!%b)" % _AFTER
_GROUPS = rb"(?:%b%b)" % (_STEP, _GROUP)
_DIGIT = rb"\d(?!\d*+(?:%b))" % _AFTER
_SEVEN = rb"(?=[+(]{0,2}%b(?:%b%b){6})" % (_DIGIT, _STEP, _DIGIT)
_YEAR = rb"(?:19|20)\d\d"
_NO_YEAR = rb"(?!%b\)? {1,2}\d++(?!%b\d)|\d++ {1,2}%b(?!\d|%b\d))" % (_YEAR, _JOIN, _YEAR, _JOIN)
_EXTENSION = rb"(?: ?(?:[xX]|# ?)\d{1,6}(?!\d))?"  # in "x 60", x is a word
_PHONE = rb"%b(?:%b%b%b%b++|\d{10,11}(?!\d))%b" % (
    *(_WORD_BEGINS, _SEVEN, _NO_YEAR),
    *(_GROUP, _GROUPS, _EXTENSION),
)
_MARKED_PHONE = rb"(?=\+|\(\+?\d{1,5}\))%b(?!\(%b\) ?\d++(?!%b\d))[+(]{1,2}%b%b*+%b" % (
    *(_SEVEN, _YEAR, _JOIN),
    *(_GROUP, _GROUPS, _EXTENSION),
)


def _compile(patterns: dict[str, bytes], rest: bytes = b"") -> Pattern:
    """Return patterns as one, of which the first that matches counts. rest: what each of them takes besides."""
    types = (0, *(UNIT_TYPES.index(name.removeprefix("short ")) for name in patterns))
    return re.compile(rb"(?:%b)%b" % (rb"|".join(rb"(%b)" % one for one in patterns.values()), rest)), types


ADDRESSES = _compile({"url": _URL, "email": _EMAIL})
IBANS = _compile({"iban": _IBAN})
LONG_IPS = _compile({"ip": _LONG_IP})
# To be matched where a number begins: NUMBERS at the first digit of a chain, MARKED_PHONES at a sign before it.
NUMBERS = _compile(
    {
        "ip": _IP,
        "ssn": _SSN,
        "card": _CARD,
        "date": _DATE,
        "time": rb"\d++:\d++",
        "phone": _PHONE,
        "short date": rb"\d++[-/]\d++",
    },
    _REST,
)
MARKED_PHONES = _compile({"phone": _MARKED_PHONE}, _REST)
