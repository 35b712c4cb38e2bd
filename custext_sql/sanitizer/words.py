"""The words that are known, of a mapping and of lists; and the words of a text, with the kind of each."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from custext_sql.arrays import Bytes, Flags, Kinds, Places, WordNumbers
from custext_sql.kinds import Kind
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import find_representatives
from custext_sql.text.characters import LOWER, TITLE, UPPER
from custext_sql.text.encoded_text import EncodedText, find_rows, join_texts, spread_out
from custext_sql.text.lexicon import NOT_LISTED, Lexicon, find_aliases, fold_text
from custext_sql.text.units import Units, find_units
from custext_sql.text.word_boundaries import find_digits, find_parts

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

    def hides_among(self, plus: bool, listed: frozenset[str] | None = None) -> int:
        """Return how many words, including itself, a replaced word hides among at least; 0 if none is replaced.

        listed: the only words that are replaced, if there is a list. Those that are masked hide among each other.
        """
        if listed is None:
            return self._hides_among[plus]
        together, masked = self._count_listed(plus, listed)[1], int(self.find_alone(plus, listed).sum())
        sizes = together[together > 1].tolist()
        return min([*sizes, masked] if masked else sizes, default=0)

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
class FoundWords:
    """The words of a block: the position, number and kind of each."""

    offsets: Places  # of rows
    starts: Places
    ends: Places
    numbers: WordNumbers  # in the vocabulary
    kinds: Kinds
    plus: bool | Flags  # whether stopwords are kept, for all words or for each
    unit_types: Places | None = None  # of the words that are units, in their order

    @cached_property
    def rows(self) -> Places:
        """The row of each word."""
        return find_rows(self.starts, self.offsets)

    def find_firsts(self) -> Places:
        """Return the index of the first word of each row, and at the end the number of all words."""
        return self.starts.searchsorted(self.offsets)

    def at(self, kind: Kind) -> Places:
        """Return the indices of the words of a kind."""
        return kind.find_in(self.kinds).nonzero()[0]


def find_words(
    text: EncodedText, offsets: Places, vocabulary: Vocabulary, *, plus: bool | Flags, units: bool = False
) -> FoundWords:
    """Return the words of some texts with their kinds. plus: whether stopwords are kept, for all rows or for each.

    units: whether to find units, each of which is one word of the result.

    A word that is not found in its own spelling is looked up in NFKC. If that is not found either, it is unknown.

    A word with apostrophes is kept if it is listed as a stopword or a word to keep; else it is split. An English ending
    is kept, and every other part is looked up as a word. If there are several of these, as in O'Brien, none of them is
    a stopword or a word to keep: left as it is, it would give the name away.
    """
    parts = find_parts(text, offsets)
    folded, lexicon = fold_text(text), vocabulary.lexicon
    starts, ends = parts.starts, parts.ends
    first, last = _find_chains(parts.joined)
    chains = starts[first], ends[last]
    words, whole = lexicon.find(folded, starts, ends), lexicon.find(folded, *chains)
    lexicon.find_normalized(text, starts, ends, words)
    lexicon.find_normalized(text, *chains, whole)
    endings = inner = first[:0]
    if len(first):
        known = ~Kind.UNKNOWN.find_in(vocabulary.find_kinds(whole, _at(plus, starts[first], offsets)))
        apart, last_apart = first[~known], last[~known]
        ends_apart = vocabulary.is_ending[words[last_apart]]
        endings = last_apart[ends_apart]
        lengths = last_apart - apart + ~ends_apart  # without the endings
        inner = spread_out(apart[lengths > 1], lengths[lengths > 1])
        first, last = first[known], last[known]
        words[first], ends[first] = whole[known], ends[last]
        swallowed = spread_out(first + 1, last - first)
        endings, inner = (some - np.searchsorted(swallowed, some) for some in (endings, inner))
        kept = np.ones(len(starts), dtype=bool)
        kept[swallowed] = False
        places = kept.nonzero()[0]
        starts, ends, words = starts.take(places), ends.take(places), words.take(places)
    plus = _at(plus, starts, offsets)
    kinds = vocabulary.find_kinds(words, plus)
    if len(inner):
        kinds[inner[np.isin(kinds[inner], (Kind.STOPWORD, Kind.KEPT))]] = Kind.UNKNOWN
    strange = Kind.UNKNOWN.find_in(kinds).nonzero()[0]
    kinds[strange[find_digits(text, starts[strange], ends[strange])]] = Kind.NUMBER
    kinds[endings] = Kind.ENDING
    found = FoundWords(offsets, starts, ends, words, kinds, plus)
    return join_units(found, _take_chains(find_units(text, offsets, starts, ends), *chains)) if units else found


def _take_chains(units: Units | None, starts: Places, ends: Places) -> Units | None:
    """Return units with the whole of each word with apostrophes that is partly in them. starts, ends: of these words.

    Otherwise #it's and #he's would differ if only one of these words is listed.
    """
    if units is None or not len(starts):
        return units
    before, after = ends.searchsorted(units.starts, "right"), starts.searchsorted(units.ends) - 1
    begins, stops = starts.take(before, mode="clip"), ends.take(after, mode="clip")
    touches = (before < len(starts)) & (begins < units.ends), (after >= 0) & (stops > units.starts)
    return Units(
        np.where(touches[0], np.minimum(begins, units.starts), units.starts),
        np.where(touches[1], np.maximum(stops, units.ends), units.ends),
        units.types,
    )


def join_units(found: FoundWords, units: Units | None) -> FoundWords:
    """Return the words with a single one for each unit. A word that is partly in a unit belongs to it as a whole."""
    if units is None:
        return found
    first = found.ends.searchsorted(units.starts, "right")
    last = found.starts.searchsorted(units.ends) - 1
    if (first > last).any():  # a sign and a mark alone may look like an address, but have no word
        some = first <= last
        return join_units(found, Units(units.starts[some], units.ends[some], units.types[some]) if some.any() else None)
    apart = np.append(True, first[1:] > np.maximum.accumulate(last)[:-1])  # units that share a word are one
    begins = apart.nonzero()[0]
    first, last = first[begins], np.maximum.reduceat(last, begins)
    kept = np.ones(len(found.starts), dtype=bool)
    kept[spread_out(first + 1, last - first)] = False
    places = kept.nonzero()[0]
    unit = places.searchsorted(first)
    starts, ends = found.starts.take(places), found.ends.take(places)
    starts[unit] = np.minimum(found.starts[first], units.starts[begins])
    ends[unit] = np.maximum(found.ends[last], np.maximum.reduceat(units.ends, begins))
    kinds, numbers = found.kinds.take(places), found.numbers.take(places)
    kinds[unit], numbers[unit] = Kind.UNIT, NOT_LISTED
    plus = found.plus.take(places) if isinstance(found.plus, np.ndarray) else found.plus
    return FoundWords(found.offsets, starts, ends, numbers, kinds, plus, units.types[begins])


def _find_chains(joined: Places) -> tuple[Places, Places]:
    """Return the first and last part of each word of several parts. joined: parts that are joined to the next."""
    goes_on = joined[1:] - joined[:-1] == 1
    ends, begins = np.ones(len(joined), dtype=bool), np.ones(len(joined), dtype=bool)
    begins[1:] = ends[:-1] = ~goes_on
    return joined[begins], joined[ends] + 1


def _at(plus: bool | Flags, starts: Places, offsets: Places) -> bool | Flags:
    return plus[find_rows(starts, offsets)] if isinstance(plus, np.ndarray) else plus
