"""What Unicode says of characters. Each is asked about once, when it first occurs."""

import sys
import unicodedata
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]

LOWER, TITLE, UPPER = 0, 1, 2  # how a word is written; of a letter, TITLE is small and UPPER a capital

_UNASKED = -2
_SIGMA = "\u03a3"  # its lower case depends on what follows


class CharacterTable:
    """A property of characters, looked up by code point a column at a time."""

    def __init__(self, property_of: Callable[[str], int]) -> None:
        self._property_of = property_of
        self._values: npt.NDArray[np.int32] | None = None

    def find(self, codes: Codes) -> npt.NDArray[np.int32]:
        values = self._values
        if values is None:  # another thread may do the same; each then goes on with a table of its own
            values = self._values = np.full(sys.maxunicode + 1, _UNASKED, dtype=np.int32)
        found = values.take(codes)
        new = codes[found == _UNASKED]
        if len(new):
            for code in np.unique(new).tolist():
                values[code] = self._property_of(chr(code))
            found = values.take(codes)
        return found


def _is_word_character(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN" or character == "_"


def _letter_case(character: str) -> int:
    category = unicodedata.category(character)
    return UPPER if category in ("Lu", "Lt") else TITLE if category == "Ll" else LOWER


def _lower_case(character: str) -> int:
    lower = character.lower()
    same_width = len(lower) == 1 and len(lower.encode()) == len(character.encode())
    return ord(lower) if same_width and character != _SIGMA else -1


word_characters = CharacterTable(_is_word_character)  # letters, digits, marks and underscores
decimal_digits = CharacterTable(lambda character: unicodedata.category(character) == "Nd")  # of any script
letter_cases = CharacterTable(_letter_case)
lower_cases = CharacterTable(_lower_case)  # -1 where it is wider or narrower in UTF-8, or depends on the context
