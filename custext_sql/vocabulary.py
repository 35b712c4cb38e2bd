"""The words of a mapping and of a stopword list, laid out for looking up and writing a column at a time."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from custext_sql.encoded_text import Bytes, Places, join_texts
from custext_sql.lexicon import Lexicon
from custext_sql.mapping import Mapping
from custext_sql.tokenizer import LOWER, TITLE, UPPER


@dataclass(frozen=True)
class Spelling:
    """Words end to end in UTF-8, and where each begins and ends."""

    text: Bytes
    offsets: Places


class Vocabulary:
    """Words have numbers: those of the mapping first, in its order, then stopwords that it does not have."""

    def __init__(self, mapping: Mapping, stopwords: Iterable[str]) -> None:
        kept = frozenset(stopwords)
        words = [*mapping.words, *sorted(kept.difference(mapping.words))]
        self.size = len(mapping.words)
        self.lexicon = Lexicon(words)
        self.is_stopword = np.array([*(word in kept for word in words), False])  # the last is for -1, no word
        self._words = mapping.words
        self._spellings: dict[int, Spelling] = {}

    def spelling(self, case: int) -> Spelling:
        """The words of the mapping, written in that case."""
        if case not in self._spellings:
            changes: dict[int, Callable[[str], str]] = {LOWER: str, TITLE: _capitalize, UPPER: str.upper}
            self._spellings[case] = Spelling(*join_texts(list(map(changes[case], self._words))))
        return self._spellings[case]


def _capitalize(word: str) -> str:
    return word[:1].upper() + word[1:]
