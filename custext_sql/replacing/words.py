"""Finds the words of a text and the kind of each."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from custext_sql.arrays import Flags, Kinds, Places, WordNumbers
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.text.encoded_text import EncodedText, find_rows, spread_out
from custext_sql.text.lexicon import fold_text
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
    earlier: Places | None = None  # earlier draws of the same text and number, unless in the order of these words

    @cached_property
    def rows(self) -> Places:
        """The row of each word."""
        return find_rows(self.starts, self.offsets)

    def at(self, kind: Kind) -> Places:
        """Return the indices of the words of a kind."""
        return kind.find_in(self.kinds).nonzero()[0]


def find_words(
    text: EncodedText, offsets: Places, vocabulary: Vocabulary, *, plus: bool | Flags, rules: int = RULES
) -> FoundWords:
    """Return the words of some texts with their kinds. plus: whether stopwords are kept, for all rows or for each.

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
    return FoundWords(offsets, starts, ends, words, kinds, plus)


def _find_chains(joined: Places) -> tuple[Places, Places]:
    """Return the first and last part of each word of several parts. joined: parts that are joined to the next."""
    goes_on = joined[1:] - joined[:-1] == 1
    ends, begins = np.ones(len(joined), dtype=bool), np.ones(len(joined), dtype=bool)
    begins[1:] = ends[:-1] = ~goes_on
    return joined[begins], joined[ends] + 1


def _at(plus: bool | Flags, starts: Places, offsets: Places) -> bool | Flags:
    return plus[find_rows(starts, offsets)] if isinstance(plus, np.ndarray) else plus
