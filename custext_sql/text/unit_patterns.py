"""The patterns of units: e-mail and IP addresses, URLs, bank, card and phone numbers, dates, times and the like.

Whether a span is a unit does not depend on which word of a vocabulary stands in it or beside it: if "March 5" were a
unit, masking it would tell March from the other words of its group. So a pattern consists of digits, separators and
places where any word may stand, and it ends where a word ends. The exceptions are words with digits, words of the
letters a to f in hexadecimal numbers, and LITERALS.

Each pattern takes linear time: whatever can repeat without end begins where no earlier attempt began, and never gives
back what it has matched. The text is ASCII with one byte per character. Byte 255 stands for any other letter, 2 for a
degree sign, 1 for any other character, and ASCII forms for digits of other scripts, dashes and spaces.
"""

import re

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
SHORTEST_IBAN = 15  # characters

DEGREE = 2  # the byte of a degree sign

_W = rb"[A-Za-z0-9_\xff]"
_NO_WORD = rb"(?!%b)" % _W
_LOCAL = rb"A-Za-z0-9._%+\-!#$&*/=?^{|}~\xff"
_HOST = rb"%b(?:[A-Za-z0-9_\xff.\-]*%b)?" % (_W, _W)
_SCHEME = rb"[A-Za-z0-9_+.\-\xff]"  # whatever a scheme is joined to is part of it: "...http", "1.http"
_IN_URL, _LAST_IN_URL = rb"[^\s<>\"\x01\x02]", rb"[^\s<>\"\x01\x02'.,;:!?)\]}]"
_URL = rb"(?<!%b)(?=[+.\-]*+%b)%b++://%b*%b" % (_SCHEME, _W, _SCHEME, _IN_URL, _LAST_IN_URL)
_EMAIL = rb"(?<![%b'])'*+[%b][%b']*+@%b" % (_LOCAL, _LOCAL, _LOCAL, _HOST)
_HANDLE = rb"(?<!%b)@%b(?:@%b)?" % (_W, _HOST, _HOST)
_HASHTAG = rb"(?<![A-Za-z0-9_\xff&])(?:#(?=\d*+[A-Za-z_\xff])%b++)++" % _W
_SUFFIX = b"|".join(name.encode() for one in SUFFIXES for name in (one, one.upper()))
_BARE_URL = (
    rb"(?<![A-Za-z0-9_\xff.\-@])\.*+(?:[Ww]{3}\.%b|(?:[A-Za-z0-9_\xff\-]++\.)+(?:%b)%b%b)(?::\d++)?(?:[/?#]%b*%b)?"
    % (
        *(_HOST, _SUFFIX, _NO_WORD, rb"(?!\.%b)" % _W),
        *(_IN_URL, _LAST_IN_URL),
    )
)

# A group of an IBAN has four characters, at least one of them a digit, and so no word of letters. Between two such
# groups, one word may stand for the letters of a bank. The IBANs of Brazil and Russia end with any words.
_IBAN_GROUP = rb"[ -](?=[A-Za-z]{0,3}\d)[A-Za-z0-9]{4}%b" % _NO_WORD
_BANK = rb"(?:[ -][A-Za-z_\xff']++(?=%b))?" % _IBAN_GROUP
_IBAN = (
    rb"(?<![A-Za-z0-9_\xff])(?:[Bb][Rr]\d\d(?:%b){6}[ -]%b++|[Rr][Uu]\d\d(?:%b){3}(?:[ -]%b++){5}"
    rb"|[A-Za-z]{2}\d\d(?:[A-Za-z0-9]{11,30}%b|%b(?:%b%b){2,7}(?:[ -]\d[A-Za-z0-9]{0,3}%b)?))"
) % (_IBAN_GROUP, _W, _IBAN_GROUP, _W, _NO_WORD, _BANK, _IBAN_GROUP, _BANK, _NO_WORD)

_HEX = rb"[0-9A-Fa-f]"
_CHAIN_BEGINS = rb"(?<![A-Za-z0-9_\xff:.])"
_IP_GROUP = rb"%b{1,4}" % _HEX
_LONG_IP = (
    rb"%b(?:(?:%b:){7}%b|(?=[A-Fa-f:]{0,39}\d)(?:%b(?::%b){0,6})?::(?:%b(?::%b){0,6}+)?)(?!%b|:[A-Za-z0-9_\xff:])%b"
    % (
        *(_CHAIN_BEGINS, _IP_GROUP, _IP_GROUP),
        *(_IP_GROUP, _IP_GROUP, _IP_GROUP, _IP_GROUP, _W),
        rb"(?:%%%b)?" % _HOST,  # the zone
    )
)
_MAC = rb"(?<![A-Za-z0-9_\xff.])(?:%b{2}(?::%b{2}){5}(?!:%b)|%b{2}(?:-%b{2}){5}(?!-%b{2}%b))%b" % (
    *(_HEX, _HEX, _W),
    *(_HEX, _HEX, _HEX, _NO_WORD, _NO_WORD),
)
_UUID = rb"(?<!%b)%b{8}(?:-%b{4}){3}-%b{12}%b" % (_W, *(_HEX,) * 3, _NO_WORD)

# Two angles, in degrees with at least four decimals or with signs; or one in degrees and minutes.
_HEMISPHERE = rb"(?: ?[NSEWnsew])?%b" % _NO_WORD
_MINUTES = rb" ?\d{1,2}(?:\.\d++)? ?'(?: ?\d{1,2}(?:\.\d++)? ?(?:\"|''))?"
_ANGLE = rb"[+-]?\d{1,3}(?:\.\d{4,}+(?: ?\x02)?|(?:\.\d++)? ?\x02(?:%b)?)%b" % (_MINUTES, _HEMISPHERE)
_COORDINATES = rb"(?<![A-Za-z0-9_\xff.])(?:%b(?: ?[,;/] ?| )%b|[+-]?\d{1,3} ?\x02%b%b)(?!\.?\d)" % (
    *(_ANGLE, _ANGLE, _MINUTES, _HEMISPHERE),
)

# Numbers that separators join without a space are a chain. A unit takes the rest of its chain, whatever it looks like,
# so that no part of it is left.
_REST = rb"(?:(?:[-./:+]|[Tt]|-[Ww]|[xX#])\d++)*+(?:[Zz](?![A-Za-z]))?"
_IP = rb"\d{1,3}(?:\.\d{1,3}){3}(?!\d|\.\d)(?:[:/]\d{1,5})?"
_SSN = rb"\d{3}(?: ?- ?\d\d ?- ?| \d\d )\d{4}(?!\d|[-./:]\d| {1,2}\d++%b)" % _NO_WORD
_CLOCK = rb"(?:[ Tt]\d{1,2}:\d{1,2}%b(?: [+-]\d{4}%b)?)?" % (_REST, _NO_WORD)
_LAST = rb"(?:(?<! )|(?!\d++[A-Za-z_\xff]))"  # before the last group of a date: after a space, "1st" is a word
_DATE = (
    rb"(?:\d{1,4} ?/ ?\d{1,2} ?/ ?%b\d{1,4}(?!\d|/\d)"
    rb"|\d{1,4}(?: ?[-/] ?|\.)\d{1,2}(?: ?[-/] ?|\.)%b\d{1,4}(?!\d|[-.]\d)"
    rb"|\d{1,2}\. \d{1,2}\. \d{2,4}%b|\d{4}-[Ww]\d{1,2}|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d))%b"
    % (_LAST, _LAST, _NO_WORD, _CLOCK)
)
_WORD_BEGINS = rb"(?<![A-Za-z_\xff])"
_BETWEEN_FOURS = rb"(?: {1,2}| ?- ?|\.)"
_CARD = rb"(?:%b\d{12,19}(?!\d)|\d{4}(?:%b\d{4}){2}%b\d{1,7}%b(?:[ -]\d{1,4}%b)?|\d{4}[ -]\d{6}[ -]\d{4,5}%b)" % (
    _WORD_BEGINS,
    _BETWEEN_FOURS,
    _BETWEEN_FOURS,
    _NO_WORD,
    _NO_WORD,
    _NO_WORD,
)
# A phone number has groups with at least 7 digits in all, or 8 to 11 digits, or at least 7 after a plus sign. Two
# numbers side by side, one of which may be a year, are none.
_JOIN = rb"(?>\)?(?: ?[-/] ?| {1,2}|\.)?\(?\+?)"
_AFTER = rb":\d|[A-WYZa-wyz_\xff]"  # what does not follow a group
_OTHERS = rb"(?!\d{4}-\d\d?-\d|\d\d?/\d\d?/\d|\d\d?\.\d\d?\.\d|\d{1,3}(?:\.\d{1,3}){3}(?!\d|\.\d))"
_STEP = rb"%b(?>(?<! )|%b)" % (_JOIN, _OTHERS)
_GROUP = rb"\d++(?!%b)" % _AFTER
_GROUPS = rb"(?:%b%b)" % (_STEP, _GROUP)
_DIGIT = rb"\d(?!\d*+(?:%b))" % _AFTER
_SEVEN = rb"(?=[+(]{0,2}%b(?:%b%b){6})" % (_DIGIT, _STEP, _DIGIT)
_YEAR = rb"(?:19|20)\d\d"
_RATING = rb"(?:[0-5](?:\.\d)?/5|(?:\d(?:\.\d)?|10)/10)(?!\d|[-./:]\d)"  # stars, or points out of ten
_NO_YEAR = rb"(?!%b\)? {1,2}\d++(?!%b\d)|\d++ {1,2}%b(?!\d|%b\d))" % (_YEAR, _JOIN, _YEAR, _JOIN)
_EXTENSION = rb"(?: ?(?:[xX]|# ?)\d{1,6}(?!\d))?"  # in "x 60", x is a word
_PHONE = rb"%b(?:%b%b%b%b++|\d{8,11}(?!\d))%b" % (
    *(_WORD_BEGINS, _SEVEN, _NO_YEAR),
    *(_GROUP, _GROUPS, _EXTENSION),
)
_MARKED_PHONE = rb"(?=\+|\(\+?\d{1,5}\))%b(?!\(%b\) ?\d++(?!%b\d))[+(]{1,2}%b%b*+%b" % (
    *(_SEVEN, _YEAR, _JOIN),
    *(_GROUP, _GROUPS, _EXTENSION),
)


def _compile(patterns: dict[str, bytes], rest: bytes = b"", first: bytes = b"") -> Pattern:
    """Return patterns as one, of which the first that matches counts.

    rest: what each of them takes besides. first: what comes before each of them.
    """
    types = (0, *(UNIT_TYPES.index(name.split()[-1]) for name in patterns))
    expression = rb"%b(?:%b)%b" % (first, rb"|".join(rb"(%b)" % one for one in patterns.values()), rest)
    return re.compile(expression), types


ADDRESSES = _compile({"url": _URL, "email": _EMAIL, "handle": _HANDLE, "hashtag": _HASHTAG, "bare url": _BARE_URL})
IBANS = _compile({"iban": _IBAN})
HEX_CHAINS = _compile({"ip": _LONG_IP, "mac": _MAC, "uuid": _UUID})
COORDINATES = _compile({"coordinates": _COORDINATES})
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
    rb"(?!%b)" % _RATING,
)
MARKED_PHONES = _compile({"phone": _MARKED_PHONE}, _REST)
