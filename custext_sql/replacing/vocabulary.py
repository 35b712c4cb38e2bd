"""The words of a mapping and of a stopword list, in a form for fast lookup and writing."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from custext_sql.arrays import Bytes, Flags, Kinds, Places, WordNumbers
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.generalization import find_representatives
from custext_sql.replacing.kinds import Kind
from custext_sql.text.characters import LOWER, TITLE, UPPER
from custext_sql.text.encoded_text import join_texts
from custext_sql.text.lexicon import Lexicon, find_aliases

_ENDINGS = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})  # English endings after an apostrophe, which are kept


@dataclass(frozen=True)
class Spelling:
    """Words end to end in UTF-8, and where each begins and ends."""

    text: Bytes
    offsets: Places


class Vocabulary:
    """The words of a mapping and of a stopword list, by number.

    The words of the mapping come first, in its order, then the stopwords and endings that it does not have.

    If stopwords are kept, a replaced word hides only among the words of its group that are not stopwords. If there is
    only one such word, nothing would hide it: its kind is Kind.ALONE, and it is masked.
    """

    def __init__(self, mapping: Mapping, stopwords: Iterable[str]) -> None:
        kept = frozenset(stopwords)
        listed = kept | _ENDINGS
        numbers = {word: number for number, word in enumerate(mapping.words) if word in listed}
        words = [*mapping.words, *sorted(listed.difference(numbers))]
        self.size = len(mapping.words)
        numbers |= {word: number for number, word in enumerate(words[self.size :], start=self.size)}
        self._listed = words
        self._aliases = find_aliases(words)
        # by number; the last two are for DIGITS and NOT_LISTED, which are not words
        is_stopword, self.is_ending = np.zeros(len(words), dtype=bool), np.zeros(len(words) + 2, dtype=bool)
        is_stopword[[numbers[word] for word in kept]] = True
        self.is_ending[[numbers[word] for word in _ENDINGS]] = True
        usual = np.where(np.arange(len(words)) < self.size, Kind.SAMPLED, Kind.UNKNOWN)
        self._kinds = np.append(usual, [Kind.NUMBER, Kind.UNKNOWN]).astype(np.uint8)
        self._words = mapping.words
        self._mapping = mapping
        self._representatives: dict[bool, Places] = {}
        self._spellings: dict[int, Spelling] = {}
        self.drawn_plus: Flags = ~is_stopword[: self.size]  # words of the mapping that are drawn if stopwords are kept
        group_of = np.repeat(np.arange(len(mapping.sizes)), mapping.sizes)
        together = np.bincount(group_of[self.drawn_plus], minlength=len(mapping.sizes))
        is_alone = np.append(self.drawn_plus & (together[group_of] == 1), np.zeros(len(words) - self.size, dtype=bool))
        plus = np.where(is_stopword, Kind.STOPWORD, np.where(is_alone, Kind.ALONE, usual))
        self._kinds_plus = np.append(plus, [Kind.NUMBER, Kind.UNKNOWN]).astype(np.uint8)
        hiding = together[together > 1]
        self._hides_among = (int(mapping.sizes.min()), int(hiding.min()) if len(hiding) else 0)
        self._group_of = group_of

    def lexicon(self, rules: int) -> Lexicon:
        """Return the lexicon for some rules. Rules 1 have no NFKC forms."""
        return self._stored if rules == 1 and self._aliases else self._lexicon

    @cached_property
    def _lexicon(self) -> Lexicon:
        return Lexicon(self._listed, self._aliases)

    @cached_property
    def _stored(self) -> Lexicon:
        return Lexicon(self._listed)

    def find_kinds(self, words: WordNumbers, plus: bool | Flags) -> Kinds:
        """Return the kind of each word. STOPWORD and ALONE occur only if plus is true, for all words or for each."""
        if isinstance(plus, np.ndarray):
            return np.where(plus, self._kinds_plus.take(words), self._kinds.take(words))
        return (self._kinds_plus if plus else self._kinds).take(words)

    def hides_among(self, plus: bool) -> int:
        """Return how many words, including itself, a replaced word hides among at least; 0 if none is replaced."""
        return self._hides_among[plus]

    def hides_among_listed(self, plus: bool, listed: Collection[str]) -> int:
        """Return the same if only listed words are replaced: 1 if one of them is the only one of its group."""
        drawn = np.array([word in listed for word in self._words]) & (self.drawn_plus | (not plus))
        return int(np.unique(self._group_of[drawn], return_counts=True)[1].min(initial=self.size)) if drawn.any() else 0

    def generalize(self, words: Places, plus: bool | Flags) -> Places:
        """Return the representative of the group of each word, which replaces it at eps = 0."""
        if isinstance(plus, np.ndarray):
            return np.where(plus, self.representatives(True).take(words), self.representatives(False).take(words))
        return self.representatives(plus).take(words)

    def representatives(self, plus: bool) -> Places:
        """Return the representative of the group of each word of the mapping: its most frequent word that is drawn."""
        if plus not in self._representatives:
            self._representatives[plus] = find_representatives(self._mapping, self.drawn_plus if plus else None)
        return self._representatives[plus]

    def spelling(self, case: int) -> Spelling:
        """Return the words of the mapping in that case: LOWER, TITLE or UPPER."""
        if case not in self._spellings:
            changes: dict[int, Callable[[str], str]] = {LOWER: str, TITLE: _capitalize, UPPER: str.upper}
            self._spellings[case] = Spelling(*join_texts(list(map(changes[case], self._words))))
        return self._spellings[case]


def _capitalize(word: str) -> str:
    return word[:1].upper() + word[1:]
