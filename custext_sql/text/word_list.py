"""A list of words, and finding them in texts in any spelling."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Flags
from custext_sql.errors import SettingError
from custext_sql.text.word_boundaries import are_words, fold_word, normalize_words, split_words


@dataclass(frozen=True)
class WordList:
    """A list of words in any case. words: in lower case, as they are looked up."""

    words: frozenset[str]

    @classmethod
    def read(cls, words: Sequence[str]) -> "WordList":
        """Return the list of these words. Raise SettingError, which gives its position, if one is not a word."""
        if isinstance(words, str):
            raise SettingError("words must be a list of words; found a single string")
        wrong = [place for place, is_word in enumerate(are_words(words), start=1) if not is_word]
        if wrong:
            raise SettingError(f"each entry of words must be a single word; entry {wrong[0]} is not")
        return cls(frozenset(map(fold_word, words)) | frozenset(map(normalize_words, words)))

    def find_in(self, texts: Sequence[str]) -> Flags:
        """Return for each text whether it contains a listed word, also as part of a word with apostrophes."""
        found = [not self.words.isdisjoint(map(fold_word, words)) for words in split_words(texts)]
        return np.array(found, dtype=bool)
