"""A mapping and a stopword list, laid out for looking up and replacing words a column at a time."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from custext_sql.certified_table import CertifiedTable
from custext_sql.lexicon import Lexicon
from custext_sql.mapping import Mapping
from custext_sql.randomness import Draws
from custext_sql.tokenizer import LOWER, TITLE, UPPER, Bytes, Places, join_texts

Numbers = npt.NDArray[np.int64]


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
        self.is_stopword = np.array([word in kept for word in words], dtype=bool)
        self._words = mapping.words
        self._spellings: dict[int, Spelling] = {}
        group_of = np.repeat(np.arange(len(mapping.sizes)), mapping.sizes)
        self._group_sizes = mapping.sizes[group_of]
        self._group_firsts = mapping.word_starts[group_of]
        places = np.arange(self.size) - self._group_firsts
        self._row_starts = mapping.score_starts[group_of] + places * self._group_sizes

    def spelling(self, case: int) -> Spelling:
        """The words of the mapping, written in that case."""
        if case not in self._spellings:
            changes: dict[int, Callable[[str], str]] = {LOWER: str, TITLE: _capitalize, UPPER: str.upper}
            self._spellings[case] = Spelling(*join_texts(list(map(changes[case], self._words))))
        return self._spellings[case]

    def sample(self, table: CertifiedTable, words: Numbers, draws: Draws) -> Numbers:
        """The replacement of each word: the output to which its draw falls, by bisection of the word's row."""
        starts, last = self._row_starts[words], self._group_sizes[words] - 1
        before = np.zeros(len(words), dtype=np.int64)  # outputs of the row that lie wholly below the draw
        step = 1 << int(self._group_sizes.max() - 1).bit_length()
        while step := step >> 1:
            middle = np.minimum(before + (step - 1), last)
            middle += starts
            before += (draws > table.last_draws[middle]) * step
        chosen: Numbers = self._group_firsts[words] + before
        return chosen


def _capitalize(word: str) -> str:
    return word[:1].upper() + word[1:]
