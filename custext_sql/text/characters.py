"""Unicode properties of characters, each looked up once, when the character first occurs; and the scripts of words."""

import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Codes

LOWER, TITLE, UPPER = 0, 1, 2  # the case of a word; for a letter, TITLE means lowercase and UPPER a capital

_UNKNOWN = -2
_MINUS = "\u2212"
_SIGNS = {"\u2019": "'", "\u2032": "'", "\u2033": '"', "\u201d": '"', "\u00b0": "\2", "\u02da": "\2"}  # in units
_SIGMA = "\u03a3"  # its lowercase form depends on what follows

APOSTROPHES = "'`\u00b4\u2018\u2019\u201b\u2032\uff07"  # what people type within words: don't, don`t, don\u2019t

WORD, MARK, SYMBOL, OTHER, INVISIBLE, CHANGING, APOSTROPHE = (1 << bit for bit in range(7))  # the bits of `traits`
_TRAITS = {"L": WORD, "M": WORD | MARK, "N": WORD, "S": SYMBOL, "C": OTHER}  # by category

# Characters that programs do not show (Unicode's Default_Ignorable_Code_Point), except those of category Cf
_IGNORABLE = (
    *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2065, 0x2065), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF)),
)
# Braille, and white letters on black, which NFKC does not change; then emoji, also future ones
_LETTERLIKE = ((0x2800, 0x28FF), (0x1F150, 0x1F169), (0x1F170, 0x1F189))
_PICTOGRAPHS = ((0x1F000, 0x1FAFF), (0x1FC00, 0x1FFFD))
# Characters other than marks that can combine with the one before them: vowels and finals of Hangul, Kirat Rai
_COMPOSING = ((0x1161, 0x1175), (0x11A8, 0x11C2), (0x16D63, 0x16D63), (0x16D67, 0x16D67))

_RARE_SCRIPT = 0.01  # a smaller share of the words is loans and noise
_SAMPLE = 5000  # words that stand for all


class CharacterTable:
    """A property of characters, looked up by code point for a whole column at once."""

    def __init__(self, property_of: Callable[[str], int]) -> None:
        self._property_of = property_of
        self._values: npt.NDArray[np.int32] | None = None

    def find(self, codes: Codes) -> npt.NDArray[np.int32]:
        """Return the property of each code point."""
        values = self._values
        if values is None:  # another thread may do the same; each then continues with its own table
            values = self._values = np.full(sys.maxunicode + 1, _UNKNOWN, dtype=np.int32)
        found = values.take(codes)
        new = codes[found == _UNKNOWN]
        if len(new):
            for code in np.unique(new).tolist():
                values[code] = self._property_of(chr(code))
            found = values.take(codes)
        return found


def _find_traits(character: str) -> int:
    category = unicodedata.category(character)
    found = WORD if character == "_" or _carries_text(character, category) else _TRAITS.get(category[0], 0)
    if category in ("Cf", "Co") or _lies_in(character, _IGNORABLE):
        found |= INVISIBLE
    if found & MARK or _lies_in(character, _COMPOSING) or unicodedata.normalize("NFKC", character) != character:
        found |= CHANGING
    if character in APOSTROPHES:
        found |= APOSTROPHE
    return found


def _carries_text(character: str, category: str) -> bool:
    """Return whether people may read a character as a letter that Unicode does not classify as one.

    These are circled letters and the like, Braille, and characters that this Python does not know yet, which may be
    letters of a new script; new emoji are not among them.
    """
    if category == "So":
        equivalent = unicodedata.normalize("NFKC", character).strip("()")
        return _lies_in(character, _LETTERLIKE) or (len(equivalent) == 1 and equivalent.isalpha())
    return category == "Cn" and not _lies_in(character, (*_PICTOGRAPHS, *_IGNORABLE))


def _lies_in(character: str, ranges: Sequence[tuple[int, int]]) -> bool:
    return any(first <= ord(character) <= last for first, last in ranges)


def _letter_case(character: str) -> int:
    category = unicodedata.category(character)
    return UPPER if category in ("Lu", "Lt") else TITLE if category == "Ll" else LOWER


def _lower_case(character: str) -> int:
    lower = character.lower()
    same_width = len(lower) == 1 and len(lower.encode()) == len(character.encode())
    return ord(lower) if same_width and character != _SIGMA else -1


def _as_ascii(character: str) -> int:
    """Return the ASCII form that a character has in units.

    255 stands for any other letter, 2 for a degree sign, 1 for the rest.
    """
    category, equivalent = unicodedata.category(character), unicodedata.normalize("NFKC", character)
    if category == "Nd":
        return ord("0") + unicodedata.decimal(character)
    if category == "Pd" or character == _MINUS:
        return ord("-")
    if character in _SIGNS:
        return ord(_SIGNS[character])
    if len(equivalent) == 1 and " " <= equivalent <= "~":
        return ord(equivalent)
    return 255 if _find_traits(character) & WORD else ord(" ") if category == "Zs" else 1


# WORD: letters, digits, marks and underscores. MARK: marks. SYMBOL: Unicode category S. OTHER: controls, format
# characters, private use, unassigned. INVISIBLE: characters that a policy may drop. CHANGING: characters that NFKC may
# change. APOSTROPHE: characters that join the parts of a word.
traits = CharacterTable(_find_traits)
decimal_digits = CharacterTable(lambda character: unicodedata.category(character) == "Nd")  # of any script
letter_cases = CharacterTable(_letter_case)
unit_characters = CharacterTable(_as_ascii)
lower_cases = CharacterTable(_lower_case)  # -1 if its length in UTF-8 differs or it depends on context


def find_scripts(word: str) -> frozenset[str]:
    """Return the scripts of the letters of a word, by the first word of their Unicode names."""
    if word.isascii():
        return frozenset({"LATIN"} if any(map(str.isalpha, word)) else ())
    found = map(_find_script, unicodedata.normalize("NFKC", word))
    return frozenset(script for script in found if script is not None)


def find_usual_scripts(words: Sequence[str]) -> frozenset[str]:
    """Return the scripts in which at least one word of a hundred is written."""
    sample = words[:: max(1, len(words) // _SAMPLE)]
    counts = Counter(script for word in sample for script in find_scripts(word))
    return frozenset(script for script, count in counts.items() if count >= _RARE_SCRIPT * len(sample))


@cache
def _find_script(character: str) -> str | None:
    if unicodedata.category(character) not in ("Lu", "Ll", "Lt", "Lo"):  # modifier letters occur in several scripts
        return None
    return unicodedata.name(character, "UNNAMED").partition(" ")[0]
