"""A guesser that counts public texts: the word seen most often between two others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa

from custext_sql.arrays import Floats, Numbers, Places
from custext_sql.errors import SettingError
from custext_sql.parameters import count_of
from custext_sql.replacing.replacer import Piece
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.replacing.words import find_words
from custext_sql.text.columns import TextColumn, open_column
from custext_sql.text.encoded_text import EncodedText, find_rows, spread_out
from custext_sql.text.word_boundaries import fold_word

_TEXTS = 4096  # texts guessed at a time
_CANDIDATES = 1 << 22  # words weighed at a time
_BYTES = 1 << 24  # of public text split into words at a time


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The distinct pairs of a neighbor on one side and a word, sorted, and how often each occurs."""

    width: int  # larger than any number of a word
    codes: Numbers  # neighbor * width + word
    counts: Numbers
    firsts: Numbers  # where the pairs of each neighbor start, and the end
    favorites: Numbers  # the most frequent word next to each neighbor; -1 if there is none

    @classmethod
    def count(cls, neighbors: Numbers, words: Numbers, width: int) -> "_Pairs":
        """Return the pairs that occur."""
        codes, counts = np.unique(neighbors * width + words, return_counts=True)
        rows = codes // width
        favorites = np.full(width, -1, dtype=np.int64)
        best = _find_best(rows, counts.astype(np.float64))
        favorites[rows[best]] = codes[best] % width
        return cls(width, codes, counts, rows.searchsorted(np.arange(width + 1)), favorites)

    def sizes(self, neighbors: Numbers) -> Numbers:
        """Return how many distinct words occur next to each neighbor."""
        found: Numbers = self.firsts[neighbors + 1] - self.firsts[neighbors]
        return found

    def find(self, neighbors: Numbers, words: Numbers) -> Numbers:
        """Return how often each pair occurs."""
        codes = neighbors * self.width + words
        places = np.minimum(self.codes.searchsorted(codes), len(self.codes) - 1)
        return np.where(self.codes[places] == codes, self.counts[places], 0)


@dataclass(frozen=True, eq=False)
class _Triples:
    """The pairs of neighbors, sorted, and the most frequent word between them."""

    width: int
    codes: Numbers  # left * width + right
    favorites: Numbers

    @classmethod
    def count(cls, lefts: Numbers, words: Numbers, rights: Numbers, width: int) -> "_Triples":
        """Return the pairs of neighbors that occur."""
        codes, places = np.unique(lefts * width + rights, return_inverse=True)
        triples, counts = np.unique(places * width + words, return_counts=True)
        best = _find_best(triples // width, counts.astype(np.float64))
        return cls(width, codes, triples[best] % width)

    def find(self, lefts: Numbers, rights: Numbers) -> Numbers:
        """Return the most frequent word between each two neighbors; -1 if they were never seen around a word."""
        codes = lefts * self.width + rights
        places = np.minimum(self.codes.searchsorted(codes), len(self.codes) - 1)
        return np.where(self.codes[places] == codes, self.favorites[places], -1)


class NgramGuesser:
    """A guesser of a word from its two neighbors, by counts of public texts. Made by `learn_ngrams`.

    The guess is the most frequent word between the neighbors. If there is none, it is the word with the largest
    count(left, word) * count(word, right) / count(word), among words seen both after the left and before the right
    neighbor; then the most frequent word after the left one, before the right one, or of all. Ties go to the word that
    occurred first. The ends of a text count as neighbors.
    """

    def __init__(self, words: Sequence[str], numbers: Numbers, texts: Numbers) -> None:
        """Take the distinct folded words in order of first occurrence, and the word and the text of each occurrence."""
        self._words = words
        self._index = {word: number for number, word in enumerate(words)}
        self._end, self._unknown = len(words), len(words) + 1
        width = len(words) + 2
        lefts, rights = self._find_neighbors(numbers, texts)
        self._behind = _Pairs.count(lefts, numbers, width)
        self._before = _Pairs.count(rights, numbers, width)
        self._between = _Triples.count(lefts, numbers, rights, width)
        self._counts = np.bincount(numbers, minlength=len(words))
        self._commonest = int(self._counts.argmax())

    def guess(self, texts: Sequence[Sequence[Piece]]) -> Iterator[list[str]]:
        """Yield a list per text with a guess for each of its words."""
        for start in range(0, len(texts), _TEXTS):
            block = texts[start : start + _TEXTS]
            words = [[fold_word(piece.after) for piece in pieces if piece.kind is not None] for pieces in block]
            numbers = np.array(
                [self._index.get(word, self._unknown) for text in words for word in text], dtype=np.int64
            )
            rows = np.arange(len(words)).repeat([len(text) for text in words])
            found = iter(self._guess_between(*self._find_neighbors(numbers, rows)).tolist())
            for text in words:
                yield [self._words[number] for number in islice(found, len(text))]

    def _find_neighbors(self, numbers: Numbers, texts: Numbers) -> tuple[Numbers, Numbers]:
        """Return the neighbors left and right of each word, within its text."""
        lefts, rights = np.full(len(numbers), self._end), np.full(len(numbers), self._end)
        together = (texts[1:] == texts[:-1]).nonzero()[0]
        lefts[together + 1], rights[together] = numbers[together], numbers[together + 1]
        return lefts, rights

    def _guess_between(self, lefts: Numbers, rights: Numbers) -> Numbers:
        width = self._between.width
        asked, places = np.unique(lefts * width + rights, return_inverse=True)
        lefts, rights = asked // width, asked % width
        guesses = self._between.find(lefts, rights)
        rest = (guesses < 0).nonzero()[0]
        sizes = np.minimum(self._behind.sizes(lefts[rest]), self._before.sizes(rights[rest]))
        for part in _cut(sizes):
            guesses[rest[part]] = self._weigh(lefts[rest[part]], rights[rest[part]])
        for fallback in (self._behind.favorites[lefts], self._before.favorites[rights], self._commonest):
            guesses = np.where(guesses < 0, fallback, guesses)
        return guesses[places]

    def _weigh(self, lefts: Numbers, rights: Numbers) -> Numbers:
        """Return the most likely of the words seen next to both neighbors; -1 if there is none."""
        guesses = np.full(len(lefts), -1)
        left_is_rarer = self._behind.sizes(lefts) <= self._before.sizes(rights)
        for chosen, pairs, others, near, far in (
            (left_is_rarer, self._behind, self._before, lefts, rights),
            (~left_is_rarer, self._before, self._behind, rights, lefts),
        ):
            asked = chosen.nonzero()[0]
            sizes = pairs.sizes(near[asked])
            candidates = spread_out(pairs.firsts[near[asked]], sizes)
            words, asked = pairs.codes[candidates] % pairs.width, asked.repeat(sizes)
            counts = others.find(far[asked], words)
            both = counts.nonzero()[0]
            words, asked = words[both], asked[both]
            scores = pairs.counts[candidates[both]] * counts[both] / self._counts[words]
            best = _find_best(asked, scores)
            guesses[asked[best]] = words[best]
        return guesses


def learn_ngrams(texts: Sequence[str | None], vocabulary: Vocabulary, *, plus: bool = False) -> NgramGuesser:
    """Return a guesser that has counted the words of public texts and their neighbors.

    vocabulary, plus: words with apostrophes are split as a sanitizer with this vocabulary splits them. SettingError if
    the texts contain no words.
    """
    column = open_column(texts)[0]
    index: dict[str, int] = {}
    numbers, rows = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    start = 0
    while start < len(column):
        end = int(column.offsets.searchsorted(column.offsets[start] + _BYTES, "right")) - 1
        block = slice(start, max(start + 1, end))
        spelled, places = _spell_words(column[block], vocabulary, plus=plus)
        encoded = spelled.dictionary_encode()
        folded = [index.setdefault(fold_word(word), len(index)) for word in encoded.dictionary.to_pylist()]
        numbers.append(np.array(folded, dtype=np.int64)[encoded.indices.to_numpy()])
        rows.append(places + start)
        start = block.stop
    if not index:
        raise SettingError(
            f"the model ngram learns from the words of public texts; found no words in {count_of(len(column), 'text')}"
        )
    return NgramGuesser(list(index), np.concatenate(numbers), np.concatenate(rows))


def _spell_words(column: TextColumn, vocabulary: Vocabulary, *, plus: bool) -> tuple[pa.Array, Numbers]:
    """Return all words as written, in order, and the text of each."""
    text = EncodedText(column.text)
    found = find_words(text, column.offsets, vocabulary, plus=plus)
    starts, ends = found.starts, found.ends
    lengths: Places = ends - starts
    offsets = np.append(0, np.cumsum(lengths))
    content = text.content.take(spread_out(starts, lengths))
    spelled = pa.LargeStringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(content))
    return spelled, find_rows(starts, column.offsets)


def _find_best(rows: Numbers, scores: Floats) -> Numbers:
    """Return the place of the largest score of each row; of equal scores, the first."""
    order = np.lexsort((-scores, rows))
    ordered = rows[order]
    found: Numbers = order[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def _cut(sizes: Numbers) -> Iterator[slice]:
    """Yield slices of consecutive sizes that add up to about _CANDIDATES."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        behind = int(ends.searchsorted(ends[start] + _CANDIDATES, "right"))
        yield slice(start, behind)
        start = behind
