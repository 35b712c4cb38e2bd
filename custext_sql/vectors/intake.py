"""Decides which rows of a vector source to keep, by vocabulary, first occurrence of a word, and limit."""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from custext_sql.arrays import Points
from custext_sql.errors import SourceError
from custext_sql.parameters import count_of
from custext_sql.text.word_boundaries import fold_word
from custext_sql.vectors.source import Batch, VectorSource, read_all_lines
from custext_sql.vectors.text_files import find_header


def read_vocabulary(vocabulary: str | os.PathLike[str] | Iterable[str]) -> frozenset[str]:
    """Return the words of a vocabulary in lower case. From a file, take the first field of each line."""
    if not isinstance(vocabulary, str | os.PathLike):
        return frozenset(map(fold_word, vocabulary))
    label, lines = read_all_lines(Path(vocabulary))
    if find_header(lines[0].encode()) and any(len(line.split()) > 2 for line in lines[1:2]):
        del lines[0]  # the header of a word2vec or fastText file
    words = frozenset(fold_word(line.partition(" ")[0].partition("\t")[0]) for line in lines) - {""}
    if not words:
        raise SourceError(f"{label}: expected one word per line; found no words")
    return words


class Intake:
    """Decides row by row what to keep, and counts the rest.

    rows: all rows read. kept, folded, outside: rows that were kept, that repeat a word, and that are not wanted.
    """

    def __init__(self, source: VectorSource, wanted: frozenset[str] | None, limit: int | None) -> None:
        self._source, self._wanted, self._limit = source, wanted, limit
        self._seen: set[str] = set()
        self.dimension = 0
        self.rows = self.folded = self.outside = self.kept = 0

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached."""
        return self._limit is not None and self.kept >= self._limit

    def why_empty(self) -> str:
        """Return a remark for the message that no words were kept."""
        return f" ({count_of(self.outside, 'row')} not in the vocabulary)" if self.outside else ""

    def accept(self, batch: Batch) -> tuple[int, list[str], Points] | None:
        """Return the position of the first kept word, the kept words and their vectors; None if none is kept."""
        self._check(batch)
        words: list[str] = []
        rows: list[int] = []
        for row, raw in enumerate(batch.words):
            if self.kept + len(words) == self._limit:
                break
            self.rows += 1
            word = fold_word(raw)
            if not word:
                raise self._source.error(batch.first + row, "expected a word, found an empty field")
            if self._wanted is not None and word not in self._wanted:
                self.outside += 1
            elif word in self._seen:
                self.folded += 1
            else:
                self._seen.add(word)
                words.append(word)
                rows.append(row)
        self._check_unicode(batch, rows)
        start = self.kept
        self.kept += len(words)
        if not words:
            return None
        return start, words, batch.vectors if len(rows) == len(batch.vectors) else batch.vectors[rows]

    def _check_unicode(self, batch: Batch, rows: list[int]) -> None:
        for row in rows:
            try:
                batch.words[row].encode()
            except UnicodeEncodeError:
                raise self._source.error(batch.first + row, "expected valid Unicode, found a lone surrogate") from None

    def _check(self, batch: Batch) -> None:
        found = batch.vectors.shape[1]
        self.dimension = self.dimension or found
        if found == 0 or found != self.dimension:
            expected = count_of(self.dimension, "number") if self.dimension else "numbers"
            raise self._source.error(batch.first, f"expected {expected}, found {found or 'none'}")
        finite = np.isfinite(batch.vectors)
        if not finite.all():
            row, column = (int(index[0]) for index in np.nonzero(~finite))
            value = batch.vectors[row, column]
            raise self._source.error(
                batch.first + row, f"expected finite float32 numbers, found {value} as number {column + 1}"
            )
