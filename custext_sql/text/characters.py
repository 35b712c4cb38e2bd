"""Unicode properties of characters, each looked up once, when the character first occurs."""

import sys
import unicodedata
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from custext_sql.arrays import Codes

LOWER, TITLE, UPPER = 0, 1, 2  # the case of a word; for a letter, TITLE means lowercase and UPPER a capital

_UNKNOWN = -2
_MINUS, _APOSTROPHE = "\u2212", "\u2019"
_SIGMA = "\u03a3"  # its lowercase form depends on what follows

WORD, MARK, SYMBOL, OTHER, INVISIBLE, CHANGING = (1 << bit for bit in range(6))  # the bits of `traits`
_TRAITS = {"L": WORD, "M": WORD | MARK, "N": WORD, "S": SYMBOL, "C": OTHER}  # by category

# Characters that programs do not show (Unicode's Default_Ignorable_Code_Point), except those of category Cf
_IGNORABLE = (
    *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2065, 0x2065), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF)),
)
# Characters other than marks that can combine with the one before them: vowels and finals of Hangul, Kirat Rai
_COMPOSING = ((0x1161, 0x1175), (0x11A8, 0x11C2), (0x16D63, 0x16D63), (0x16D67, 0x16D67))


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
    found = WORD if character == "_" else _TRAITS.get(category[0], 0)
    if category in ("Cf", "Co") or _lies_in(character, _IGNORABLE):
        found |= INVISIBLE
    if found & MARK or _lies_in(character, _COMPOSING) or unicodedata.normalize("NFKC", character) != character:
        found |= CHANGING
    return found


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
    """Return the ASCII form that a character has in units; 255 for a letter of another alphabet.

    Other letters are 2: scripts without cases often surround an address without a space. Anything else is 1.
    """
    category, equivalent = unicodedata.category(character), unicodedata.normalize("NFKC", character)
    if category == "Nd":
        return ord("0") + unicodedata.decimal(character)
    if category == "Pd" or character == _MINUS:
        return ord("-")
    if character == _APOSTROPHE:
        return ord("'")
    if len(equivalent) == 1 and " " <= equivalent <= "~" and (category[0] in "LN" or not equivalent.isalnum()):
        return ord(equivalent)
    if category in ("Lu", "Ll", "Lt", "Mn"):
        return 255
    return 2 if category[0] in "LMN" else ord(" ") if category == "Zs" else 1


# WORD: letters, digits, marks and underscores. MARK: marks. SYMBOL: Unicode category S. OTHER: controls, format
# characters, private use, unassigned. INVISIBLE: characters that a policy may drop. CHANGING: characters that NFKC may
# change.
traits = CharacterTable(_find_traits)
decimal_digits = CharacterTable(lambda character: unicodedata.category(character) == "Nd")  # of any script
letter_cases = CharacterTable(_letter_case)
unit_characters = CharacterTable(_as_ascii)
lower_cases = CharacterTable(_lower_case)  # -1 if its length in UTF-8 differs or it depends on context
