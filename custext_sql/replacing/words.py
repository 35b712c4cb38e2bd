"""Finds the words of a text and the kind of each."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from custext_sql.arrays import Flags, Kinds, Places, WordNumbers
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.text.encoded_text import EncodedText, find_rows, spread_out
from custext_sql.text.lexicon import NOT_LISTED, fold_text
from custext_sql.text.units import Units, find_units
from custext_sql.text.word_boundaries import RULES, find_digits, find_parts


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
    earlier: Places | None = None  # earlier draws of the same text and number, unless in the order of these words

    @cached_property
    def rows(self) -> Places:
        """The row of each word."""
        return find_rows(self.starts, self.offsets)

    @property
    def units(self) -> Units | None:
        """The units among the words; None if there are none."""
        if self.unit_types is None:
            return None
        places = self.at(Kind.UNIT)
        return Units(self.starts[places], self.ends[places], self.unit_types)

    def find_unit_rows(self) -> tuple[Places, Places]:
        """Return the first and last row of each unit."""
        places = self.at(Kind.UNIT)
        first, last = (
            self.offsets.searchsorted(some, "right") - 1 for some in (self.starts[places], self.ends[places] - 1)
        )
        return first, last

    def find_touched_units(self, chosen: Flags) -> Flags:
        """Return for each unit whether it has a part in one of the chosen rows."""
        first, last = self.find_unit_rows()
        before = np.append(0, np.cumsum(chosen))
        touched: Flags = before[last + 1] > before[first]
        return touched

    def at(self, kind: Kind) -> Places:
        """Return the indices of the words of a kind."""
        return kind.find_in(self.kinds).nonzero()[0]


def find_words(
    text: EncodedText,
    offsets: Places,
    vocabulary: Vocabulary,
    *,
    plus: bool | Flags,
    rules: int = RULES,
    units: bool = False,
) -> FoundWords:
    """Return the words of some texts with their kinds. plus: whether stopwords are kept, for all rows or for each.

    units: whether to find units, each of which is one word of the result.

    A word that is not found in its own spelling is looked up in NFKC. If that is not found either, it is unknown.

    A word with apostrophes that is neither in the vocabulary nor a kept stopword is split: an English ending is kept,
    and every other part is a word of its own.
    """
    parts = find_parts(text, offsets, rules)
    folded, lexicon = fold_text(text), vocabulary.lexicon(rules)
    starts, ends = parts.starts, parts.ends
    first, last = _find_chains(parts.joined)
    words, whole = lexicon.find_both(folded, starts, ends, starts[first], ends[last])
    if rules > 1:
        lexicon.find_normalized(text, starts, ends, words)
        lexicon.find_normalized(text, starts[first], ends[last], whole)
    endings = first[:0]
    if len(first):
        known = ~Kind.UNKNOWN.find_in(vocabulary.find_kinds(whole, _at(plus, starts[first], offsets)))
        apart = last[~known]
        endings = apart[vocabulary.is_ending[words[apart]]]
        first, last = first[known], last[known]
        words[first], ends[first] = whole[known], ends[last]
        swallowed = spread_out(first + 1, last - first)
        endings -= np.searchsorted(swallowed, endings)
        kept = np.ones(len(starts), dtype=bool)
        kept[swallowed] = False
        places = kept.nonzero()[0]
        starts, ends, words = starts.take(places), ends.take(places), words.take(places)
    plus = _at(plus, starts, offsets)
    kinds = vocabulary.find_kinds(words, plus)
    strange = Kind.UNKNOWN.find_in(kinds).nonzero()[0]
    kinds[strange[find_digits(text, starts[strange], ends[strange])]] = Kind.NUMBER
    kinds[endings] = Kind.ENDING
    found = FoundWords(offsets, starts, ends, words, kinds, plus)
    return join_units(found, find_units(text, offsets, starts, ends)) if units else found


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
