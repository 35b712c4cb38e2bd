"""Words that somebody listed, found in texts however they are written there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Flags
from custext_sql.errors import SettingError
from custext_sql.text.word_boundaries import are_words, fold_word, normalize_words, split_words


@dataclass(frozen=True)
class WordList:
    """A list of words, in any case. words: as they are looked up, in lower case."""

    words: frozenset[str]

    @classmethod
    def read(cls, words: Sequence[str]) -> "WordList":
        """Return the list of these words. Raise SettingError, which names a number, if one of them is no word."""
        if isinstance(words, str):
            raise SettingError("words must be a list of words; found a single string")
        wrong = [place for place, is_word in enumerate(are_words(words), start=1) if not is_word]
        if wrong:
            raise SettingError(f"words must each be one word, and number {wrong[0]} is none")
        return cls(frozenset(map(fold_word, words)) | frozenset(map(normalize_words, words)))

    def find_in(self, texts: Sequence[str]) -> Flags:
        """Tell for each text whether a listed word is in it, also as a part of a word with apostrophes."""
        found = [not self.words.isdisjoint(map(fold_word, words)) for words in split_words(texts)]
        return np.array(found, dtype=bool)
