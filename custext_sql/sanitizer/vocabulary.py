"""The words of a mapping and of a stopword list, in a form for fast lookup, and what was verified of their draws."""

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from custext_sql.arrays import Bytes, Flags, Kinds, Places, WordNumbers
from custext_sql.kinds import Kind
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import find_representatives
from custext_sql.mechanism.sampler import Sampler
from custext_sql.mechanism.weights import check_epsilon
from custext_sql.text.characters import LOWER, TITLE, UPPER
from custext_sql.text.encoded_text import join_texts
from custext_sql.text.lexicon import Lexicon, find_aliases

_REMEMBERED = 100  # guarantees
_Case = tuple[tuple[float, ...], frozenset[bool], frozenset[str] | None]
_ENDINGS = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})  # English endings after an apostrophe, which are kept


class Vocabulary:
    """The words of a mapping and of a stopword list, by number.

    The words of the mapping come first, in its order, then those of the stopwords, kept words and endings that it does
    not have. keep_words: words that are always kept.

    A replaced word hides only among the words of its group that are replaced too: not among words that are always kept,
    nor among stopwords if these are kept. If there is only one such word, nothing would hide it: its kind is
    Kind.ALONE, and it is masked.

    Words of the mapping that have an apostrophe may replace others, but are not looked up in texts: their parts are.
    Otherwise, if the mapping has "it's" but not "that's", a reader could tell these apart, even if "it" and "that" are
    in one group.
    """

    def __init__(self, mapping: Mapping, stopwords: Iterable[str], keep_words: Collection[str] = frozenset()) -> None:
        kept = frozenset(stopwords)
        listed = kept | _ENDINGS | frozenset(keep_words)
        numbers = {word: number for number, word in enumerate(mapping.words) if word in listed}
        words = [*mapping.words, *sorted(listed.difference(numbers))]
        self.size = len(mapping.words)
        numbers |= {word: number for number, word in enumerate(words[self.size :], start=self.size)}
        self._listed = words
        # by number; the last two are for DIGITS and NOT_LISTED, which are not words
        is_stopword, always = np.zeros(len(words), dtype=bool), np.zeros(len(words), dtype=bool)
        self.is_ending = np.zeros(len(words) + 2, dtype=bool)
        is_stopword[[numbers[word] for word in kept]] = True
        always[[numbers[word] for word in keep_words]] = True
        self.is_ending[[numbers[word] for word in _ENDINGS]] = True
        self._mapping = mapping
        self._alone: dict[tuple[bool, frozenset[str]], Flags] = {}
        self._representatives: dict[bool, Places] = {}
        self._spellings: dict[int, tuple[Bytes, Places]] = {}
        self._group_of = mapping.group_of
        looked_up = np.array(["'" not in word for word in mapping.words] + [False] * (len(words) - self.size))
        usual = np.where(always, Kind.KEPT, np.where(looked_up, Kind.REPLACED, Kind.UNKNOWN))
        plus = np.where(is_stopword & ~always, Kind.STOPWORD, usual)
        self._drawn: list[Flags] = []  # without and with `plus`, like the next two
        self._kinds: list[Kinds] = []
        self._hides_among: list[int] = []
        for kinds in (usual, plus):
            drawn = Kind.REPLACED.find_in(kinds[: self.size])
            together = np.bincount(self._group_of[drawn], minlength=len(mapping.sizes))
            kinds[: self.size][drawn & (together[self._group_of] == 1)] = Kind.ALONE
            self._drawn.append(drawn)
            self._kinds.append(np.append(kinds, [Kind.NUMBER, Kind.UNKNOWN]).astype(np.uint8))
            self._hides_among.append(int(together[together > 1].min()) if together.max() > 1 else 0)

    def drawn(self, plus: bool) -> Flags | None:
        """Return which words of the mapping are not kept, or None if all are. plus: whether stopwords are kept."""
        return None if self._drawn[plus].all() else self._drawn[plus]

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of the mapping and all others that are listed, with their NFKC forms."""
        return Lexicon(self._listed, find_aliases(self._listed))

    def find_kinds(self, words: WordNumbers, plus: bool | Flags) -> Kinds:
        """Return the kind of each word. STOPWORD occurs only if plus is true, for all words or for each."""
        if isinstance(plus, np.ndarray):
            return np.where(plus, self._kinds[True].take(words), self._kinds[False].take(words))
        return self._kinds[plus].take(words)

    def hides_among(self, plus: bool) -> int:
        """Return how many words, including itself, a replaced word hides among at least; 0 if none is replaced."""
        return self._hides_among[plus]

    def hides_among_listed(self, plus: bool, listed: frozenset[str]) -> int:
        """Return the same if only listed words are replaced. Those that are masked hide among each other."""
        together = self._count_listed(plus, listed)[1]
        sizes = together[together > 1]
        masked = int(self.find_alone(plus, listed).sum())
        return min([*sizes.tolist(), *([masked] if masked else [])], default=0)

    def find_alone(self, plus: bool, listed: frozenset[str]) -> Flags:
        """Return which words, by number, are masked because no other listed word of their group would be replaced."""
        alone = self._alone.get((plus, listed))
        if alone is None:
            drawn, together = self._count_listed(plus, listed)
            alone = np.zeros(len(self.is_ending), dtype=bool)
            alone[: self.size] = drawn & (together[self._group_of] == 1)
            self._alone = {(plus, listed): alone}
        return alone

    def _count_listed(self, plus: bool, listed: frozenset[str]) -> tuple[Flags, Places]:
        """Return which words of the mapping are listed and not kept, and how many of them each group has."""
        drawn = np.array([word in listed for word in self._mapping.words]) & self._drawn[plus]
        return drawn, np.bincount(self._group_of[drawn], minlength=len(self._mapping.sizes))

    def generalize(self, words: Places, plus: bool | Flags) -> Places:
        """Return the representative of the group of each word, which replaces it at eps = 0."""
        if isinstance(plus, np.ndarray):
            return np.where(plus, self.representatives(True).take(words), self.representatives(False).take(words))
        return self.representatives(plus).take(words)

    def representatives(self, plus: bool) -> Places:
        """Return the representative of the group of each word of the mapping: its most frequent word that is drawn."""
        if plus not in self._representatives:
            self._representatives[plus] = find_representatives(self._mapping, self.drawn(plus))
        return self._representatives[plus]

    def spell(self, case: int) -> tuple[Bytes, Places]:
        """Return the words of the mapping in that case, LOWER, TITLE or UPPER: end to end, and where each begins."""
        if case not in self._spellings:
            self._spellings[case] = join_texts(list(map(SPELLINGS[case], self._mapping.words)))
        return self._spellings[case]


def _capitalize(word: str) -> str:
    return word[:1].upper() + word[1:]


SPELLINGS: dict[int, Callable[[str], str]] = {LOWER: str, TITLE: _capitalize, UPPER: str.upper}  # of a folded word


@dataclass(frozen=True)
class Guarantee:
    """What was verified about the tables that a run draws from, for the words of a group that are replaced.

    budgets: every eps in use, in ascending order. worst_log_ratio: the largest of all groups, for each table alone.
    union_log_ratio: the same over all tables together, for two words of a group that may be drawn at different eps. It
    is infinite if one of them is 0 and another is not: any other word than the representative was then drawn.
    hides_among: the fewest words of a group that can be replaced, among groups that have any.
    """

    mapping: str
    fingerprint: str
    budgets: tuple[float, ...]
    worst_log_ratio: float
    union_log_ratio: float
    hides_among: int


class Guarantees:
    """A vocabulary, and a cache of what was verified for it under one calibration. Threads may share it."""

    def __init__(self, mapping: Mapping, vocabulary: Vocabulary, sampler: Sampler) -> None:
        self.vocabulary = vocabulary
        self._mapping, self._sampler = mapping, sampler
        self._found: dict[_Case, Guarantee] = {}

    def find(
        self, budgets: Collection[float], plus: Collection[bool], listed: frozenset[str] | None = None
    ) -> Guarantee:
        """Return the guarantee for words that are drawn at these eps, at each alone and at all together.

        plus: whether stopwords are kept; both values if rows differ, and then the guarantee holds in either case.
        listed: the only words that are replaced, if a list says so; a word then hides among the listed words of its
        group.
        """
        case = tuple(sorted(check_epsilon(epsilon) for epsilon in budgets)), frozenset(plus), listed
        found = self._found.get(case)
        if found is None:
            found = self._verify(*case)
            if len(self._found) >= _REMEMBERED:  # other threads may be looking: they hold what they found
                self._found.clear()
            self._found[case] = found
        return found

    def _verify(self, budgets: tuple[float, ...], plus: frozenset[bool], listed: frozenset[str] | None) -> Guarantee:
        vocabulary, sampler = self.vocabulary, self._sampler
        drawn = vocabulary.drawn(plus=False not in plus)
        tables = [epsilon for epsilon in budgets if epsilon]
        worst = max((sampler.worst_log_ratio([epsilon], drawn) for epsilon in tables), default=0.0)
        if len(tables) < len(budgets):
            union = self._compare_representatives(plus) if not tables else math.inf
        else:
            union = worst if len(budgets) == 1 else max(worst, sampler.worst_log_ratio(budgets, drawn))
        return Guarantee(
            mapping=self._mapping.info.name,
            fingerprint=self._mapping.info.fingerprint,
            budgets=budgets,
            worst_log_ratio=worst,
            union_log_ratio=union,
            hides_among=min(
                vocabulary.hides_among(keep) if listed is None else vocabulary.hides_among_listed(keep, listed)
                for keep in plus
            ),
        )

    def _compare_representatives(self, plus: frozenset[bool]) -> float:
        """Return the log-ratio at eps = 0 of two words of a group: infinite if kept stopwords change its output."""
        if len(plus) == 1:
            return 0.0
        kept, all_drawn = (self.vocabulary.representatives(keep) for keep in (True, False))
        drawn = self.vocabulary.drawn(plus=True)
        differ = kept != all_drawn
        return math.inf if (differ if drawn is None else differ[drawn]).any() else 0.0
