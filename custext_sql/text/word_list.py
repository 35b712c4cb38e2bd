"""A list of words: reading it from a file, and finding its words in texts in any spelling."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from custext_sql.arrays import Flags
from custext_sql.errors import SettingError, SourceError
from custext_sql.parameters import check_path
from custext_sql.text.utf8 import decode_lines
from custext_sql.text.word_boundaries import are_words, fold_word, normalize_words, split_words

_LARGEST = 1 << 20  # bytes of a file


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


def read_word_file(path: str | os.PathLike[str]) -> list[str]:
    """Return the words in a UTF-8 file of one word per line, such as stopwords or words to keep. Skip empty lines.

    SourceError if the file cannot be read, is larger than 1 MB, or a line is not a single word.
    """
    check_path(path, "the file of words")
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "invalid file name"
        raise SourceError(f"cannot read {str(path)!r}: {reason}") from None
    if len(content) > _LARGEST:
        raise SourceError(f"{path}: expected a short list of words, one per line; found more than 1 MB")
    lines = [line.strip() for line in decode_lines(content, str(path))] if content.strip() else []
    if not any(lines):
        raise SourceError(f"{path}: expected one word per line; found none")
    for number, (line, is_word) in enumerate(zip(lines, are_words(lines), strict=True), start=1):
        if line and not is_word:
            raise SourceError(f"{path}, line {number}: expected a single word; found something else")
    return [line for line in lines if line]
