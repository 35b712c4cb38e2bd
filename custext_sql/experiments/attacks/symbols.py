"""Texts as an attacker reads them: sequences of symbols for words, punctuation and the ends of texts."""

from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Bytes, Flags, Numbers, Places
from custext_sql.mapping.mapping import Mapping
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.replacer import Replacer
from custext_sql.replacing.words import FoundWords
from custext_sql.text.columns import TextColumn
from custext_sql.text.encoded_text import find_rows
from custext_sql.text.unit_patterns import UNIT_TYPES

_PUNCTUATION = (b"-/&", b'"()[]{}', b",;:", b".!?")  # classes of characters between words; the last ones prevail


@dataclass(frozen=True, eq=False)
class SymbolText:
    """Texts as one sequence of symbols, with the symbol for an end before, between and after them.

    symbols: the sequence. words: the words of the texts. places: where each word is in the sequence.
    """

    symbols: Numbers
    words: FoundWords
    places: Places


class Alphabet:
    """The symbols of texts whose words are replaced within the groups of a mapping.

    The first symbols are the words of the mapping, in its order. Then come kept stopwords outside the mapping, and
    endings such as 's. All other words that are not drawn have one symbol, all numbers one, and the ends of texts one;
    there is one per class of punctuation, and one per type of units that the policy masks. A class is a group of the
    mapping, or any other symbol alone.

    plus: whether stopwords are kept. drawn: which symbols are words that are replaced by a draw.
    representatives: what each symbol becomes at eps = 0, if it is a word that is replaced.
    classes: the class of each symbol. firsts, sizes: the first symbol of each class, and its number of symbols.
    ranks: the place of each word in the vector file; all other symbols come last.
    """

    def __init__(self, mapping: Mapping, replacer: Replacer, *, plus: bool) -> None:
        vocabulary = replacer.vocabulary
        self.mapping, self.plus, self._replacer = mapping, plus, replacer
        self._endings = vocabulary.is_ending[:-2].nonzero()[0]  # the last two stand for no listed word
        self._first_ending = len(vocabulary.is_ending) - 2
        self._unknown = self._first_ending + len(self._endings)
        self._number, self.end, self._first_mark = self._unknown + 1, self._unknown + 2, self._unknown + 3
        self._first_unit = self._first_mark + len(_PUNCTUATION)
        self.size = self._first_unit + (len(UNIT_TYPES) if replacer.policy.units == "mask" else 0)
        others = self.size - vocabulary.size
        groups = len(mapping.sizes)
        self.sizes = np.append(mapping.sizes, np.ones(others, dtype=np.int64))
        self.firsts = np.cumsum(self.sizes) - self.sizes
        self.classes = np.repeat(np.arange(groups + others), self.sizes)
        self.ranks = np.append(mapping.ranks, np.full(others, int(mapping.ranks.max()) + 1))
        kinds = vocabulary.find_kinds(np.arange(vocabulary.size, dtype=np.int32), plus)
        self.drawn: Flags = np.append(Kind.SAMPLED.find_in(kinds), np.zeros(others, dtype=bool))
        self.representatives: Numbers = np.append(
            vocabulary.representatives(plus), np.arange(vocabulary.size, self.size)
        )

    def list_symbols(self, classes: Numbers, width: int) -> Numbers:
        """Return the symbols of each class, one row per class, padded with a number that is not a symbol."""
        columns = np.arange(width)
        symbols = self.firsts[classes][:, None] + columns
        return np.where(columns < self.sizes[classes][:, None], symbols, self.size)

    def read(self, column: TextColumn) -> SymbolText:
        """Return some texts as symbols."""
        text, offsets = self._replacer.open_text(column.text, column.offsets)
        found = self._replacer.find_words(text, offsets, plus=self.plus)
        words = found.numbers.astype(np.int64)
        words[found.at(Kind.NUMBER)] = self._number
        for kind in (Kind.UNKNOWN, Kind.ALONE):
            words[found.at(kind)] = self._unknown
        if found.unit_types is not None:
            words[found.at(Kind.UNIT)] = self._first_unit + found.unit_types
        endings = found.at(Kind.ENDING)
        words[endings] = self._first_ending + self._endings.searchsorted(words[endings])
        places, marks = _find_marks(text.content, found)
        ends = np.full(len(offsets), self.end)
        order = np.argsort(np.concatenate([offsets, found.starts, places]), kind="stable")
        inverse = np.empty_like(order)
        inverse[order] = np.arange(len(order))
        symbols = np.concatenate([ends, words, self._first_mark + marks])[order]
        return SymbolText(symbols, found, inverse[len(offsets) : len(offsets) + len(words)])


def _find_marks(content: Bytes, found: FoundWords) -> tuple[Places, Numbers]:
    """Return where there is punctuation between words, and its class; one per gap, the class that prevails."""
    classes = np.zeros(256, dtype=np.int64)
    for number, signs in enumerate(_PUNCTUATION, start=1):
        classes[np.frombuffer(signs, dtype=np.uint8)] = number
    kinds = classes[content]
    places = kinds.nonzero()[0]
    before = found.starts.searchsorted(places, "right")
    ends = np.append(0, found.ends)
    places, before = (some[places >= ends[before]] for some in (places, before))
    if not len(places):
        return places, places
    gaps = before + find_rows(places, found.offsets)  # a new number after each word and in each text
    starts = np.append(True, gaps[1:] != gaps[:-1]).nonzero()[0]
    return places[starts], np.maximum.reduceat(kinds[places], starts) - 1
