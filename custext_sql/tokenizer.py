"""What a word is."""

import re
import sys
import unicodedata
from functools import cache


def fold_word(word: str) -> str:
    """The form in which a word is stored and looked up: lower case, with ' for the typographic apostrophe."""
    return word.lower().replace("\u2019", "'")


def is_word(token: str) -> bool:
    """Whether a text that consists of this token alone is one word.

    Words are runs of Unicode letters, digits, marks and underscores, with inner apostrophes joined.
    """
    return _word_pattern().fullmatch(token) is not None


@cache
def _word_pattern() -> re.Pattern[str]:
    run = f"[{_word_characters()}]+"
    return re.compile(f"{run}(?:['\u2019]{run})*")


def _word_characters() -> str:
    """The inside of a character class. Python's own \\w leaves out the marks that many scripts write vowels with."""
    kinds = "".join(unicodedata.category(chr(code))[0] for code in range(sys.maxunicode + 1))
    ranges = (match.span() for match in re.finditer("[LMN]+", kinds))
    return "_" + "".join(f"{re.escape(chr(start))}-{re.escape(chr(end - 1))}" for start, end in ranges)
