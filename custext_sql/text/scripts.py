"""The scripts that words are written in, such as Latin or Cyrillic."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache

_ASCII = frozenset({"LATIN"})
_LETTERS = ("Lu", "Ll", "Lt", "Lo")  # modifier letters occur in several scripts
_SAMPLE = 5000  # words that stand for all
_RARE = 0.01  # a smaller share of the words is loans and noise


def find_scripts(word: str) -> frozenset[str]:
    """Return the scripts of the letters of a word, by the first word of their Unicode names."""
    if word.isascii():
        return _ASCII if any(map(str.isalpha, word)) else frozenset()
    found = map(_find_script, unicodedata.normalize("NFKC", word))
    return frozenset(script for script in found if script is not None)


def find_usual_scripts(words: Sequence[str]) -> frozenset[str]:
    """Return the scripts in which at least one word of a hundred is written."""
    sample = words[:: max(1, len(words) // _SAMPLE)]
    counts = Counter(script for word in sample for script in find_scripts(word))
    return frozenset(script for script, count in counts.items() if count >= _RARE * len(sample))


@cache
def _find_script(character: str) -> str | None:
    if unicodedata.category(character) not in _LETTERS:
        return None
    return unicodedata.name(character, "UNNAMED").partition(" ")[0]
