"""The words of a mapping and of a stopword list, laid out for looking up and writing a column at a time."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from custext_sql.characters import LOWER, TITLE, UPPER
from custext_sql.encoded_text import Bytes, Flags, Places, join_texts
from custext_sql.lexicon import Lexicon
from custext_sql.mapping import Mapping

KINDS = 6  # what a word is; KEPT is one that somebody chose to leave as it is
SAMPLED, STOPWORD, NUMBER, UNKNOWN, ENDING, KEPT = range(KINDS)

_ENDINGS = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})  # of English, behind an apostrophe: they stay


@dataclass(frozen=True)
class Spelling:
    """Words end to end in UTF-8, and where each begins and ends."""

    text: Bytes
    offsets: Places


class Vocabulary:
    """Words have numbers: those of the mapping first, in its order, then the stopwords and endings it does not have."""

    def __init__(self, mapping: Mapping, stopwords: Iterable[str]) -> None:
        kept = frozenset(stopwords)
        words = [*mapping.words, *sorted((kept | _ENDINGS).difference(mapping.words))]
        self.size = len(mapping.words)
        # by number; the last is for -1, which is no word
        self.lexicon = Lexicon(words)
        is_stopword = np.array([word in kept for word in words])
        self.is_ending = np.array([*(word in _ENDINGS for word in words), False])
        usual = np.where(np.arange(len(words)) < self.size, SAMPLED, UNKNOWN)
        self._kinds = np.append(usual, UNKNOWN).astype(np.uint8)
        self._kinds_plus = np.append(np.where(is_stopword, STOPWORD, usual), UNKNOWN).astype(np.uint8)
        self._words = mapping.words
        self._spellings: dict[int, Spelling] = {}

    def find_kinds(self, words: npt.NDArray[np.int32], plus: bool | Flags) -> npt.NDArray[np.uint8]:
        """SAMPLED, STOPWORD (if plus, for all words or for each), or UNKNOWN."""
        if isinstance(plus, np.ndarray):
            return np.where(plus, self._kinds_plus.take(words), self._kinds.take(words))
        return (self._kinds_plus if plus else self._kinds).take(words)

    def spelling(self, case: int) -> Spelling:
        """The words of the mapping, written in that case."""
        if case not in self._spellings:
            changes: dict[int, Callable[[str], str]] = {LOWER: str, TITLE: _capitalize, UPPER: str.upper}
            self._spellings[case] = Spelling(*join_texts(list(map(changes[case], self._words))))
        return self._spellings[case]


def _capitalize(word: str) -> str:
    return word[:1].upper() + word[1:]
