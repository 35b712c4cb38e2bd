"""Finds the words of a text and the kind of each."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from custext_sql.arrays import Flags, Kinds, Places, WordNumbers
from custext_sql.kinds import Kind
from custext_sql.sanitizer.vocabulary import Vocabulary
from custext_sql.text.encoded_text import EncodedText, find_rows, spread_out
from custext_sql.text.lexicon import NOT_LISTED, fold_text
from custext_sql.text.units import Units, find_units
from custext_sql.text.word_boundaries import find_digits, find_parts


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
    text: EncodedText,
    offsets: Places,
    vocabulary: Vocabulary,
    *,
    plus: bool | Flags,
    units: bool = False,
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
