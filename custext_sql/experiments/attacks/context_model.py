"""The model of the context attack: texts as symbols, a bigram model of public texts, and posteriors of hidden words."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from custext_sql.arrays import Bytes, Flags, Floats, Numbers, Places, Weights
from custext_sql.experiments.mechanisms import cut
from custext_sql.kinds import Kind
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import certify
from custext_sql.sanitizer.replacer import Replacer
from custext_sql.sanitizer.words import FoundWords
from custext_sql.text.columns import TextColumn
from custext_sql.text.encoded_text import find_rows, spread_out
from custext_sql.text.units import UNIT_TYPES

_PUNCTUATION = (b"-/&", b'"()[]{}', b",;:", b".!?")  # classes of characters between words; the last ones prevail
_ZIPF = 100.0  # added to ranks in Zipf's law, for words that the public texts lack
_LIMITS = (1.0, 2.0, 3.0)  # of what is subtracted from a count of 1, of 2, and of 3 or more
_GRID = np.linspace(0.05, 0.95, 19)  # tried, as a share of these limits
_SHARES = 10.0 ** np.linspace(-5.0, -0.5, 19)  # of Zipf's law, tried
_ROUNDS = 2
_HELD_OUT = 10  # every tenth text
_CELLS = 1 << 20  # places times words of a group, worked on at a time


@dataclass(frozen=True, eq=False)
class SymbolText:
    """Texts as one sequence of symbols, with the symbol for an end before, between and after them."""

    symbols: Numbers
    words: FoundWords
    places: Places  # where each word is in the sequence


class Alphabet:
    """The symbols of texts whose words are replaced within the groups of a mapping.

    The first symbols are the words of the mapping, in its order. Then come kept stopwords outside the mapping, and
    endings such as 's. All other words that are not drawn have one symbol, all numbers one, and the ends of texts one;
    there is one per class of punctuation, and one per type of units that the policy masks. A class is a group of the
    mapping, or any other symbol alone.

    plus: whether stopwords are kept. drawn: which symbols are words that are replaced by a draw.
    representatives: what each symbol becomes at eps = 0, if it is a word that is replaced.
    classes: the class of each symbol. firsts, sizes: the first symbol of each class, and its number of symbols. width:
    the largest of these sizes. columns: the place of each symbol in its class.
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
        self.sizes = np.append(mapping.sizes, np.ones(others, dtype=np.int64))
        self.width, self.firsts = int(self.sizes.max()), np.cumsum(self.sizes) - self.sizes
        self.classes = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.columns = np.arange(self.size) - self.firsts[self.classes]
        self.ranks = np.append(mapping.ranks, np.full(others, int(mapping.ranks.max()) + 1))
        kinds = vocabulary.find_kinds(np.arange(vocabulary.size, dtype=np.int32), plus)
        self.drawn: Flags = np.append(Kind.REPLACED.find_in(kinds), np.zeros(others, dtype=bool))
        self.representatives: Numbers = np.append(
            vocabulary.representatives(plus), np.arange(vocabulary.size, self.size)
        )

    def list_symbols(self, classes: Numbers) -> Numbers:
        """Return the symbols of each class, one row per class, padded with a number that is not a symbol."""
        columns = np.arange(self.width)
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


class _Counts:
    """How often pairs of symbols occur in some texts."""

    def __init__(self, size: int, lefts: Numbers, rights: Numbers) -> None:
        self._codes, counts = np.unique(lefts * size + rights, return_counts=True)
        # the distinct pairs, how often each occurs, and how often each symbol is on the left
        (self.lefts, self.rights), self.counts = np.divmod(self._codes, size), counts.astype(np.float64)
        self.totals = np.bincount(self.lefts, self.counts, size)
        # how many distinct pairs with a count of 1, of 2, and of 3 or more each symbol begins
        kinds = self.lefts * 3 + np.minimum(counts, 3) - 1
        self.kinds = np.bincount(kinds, minlength=3 * size).reshape(size, 3).astype(np.float64)
        # the share of each symbol among all, and among the right sides of distinct pairs
        self.frequency = np.bincount(self.rights, self.counts, size) / max(self.counts.sum(), 1.0)
        self.variety = np.bincount(self.rights, minlength=size) / max(len(counts), 1)

    def find(self, lefts: Numbers, rights: Numbers) -> Floats:
        """Return how often some pairs occur."""
        asked = lefts * len(self.totals) + rights
        places = self._codes.searchsorted(asked)
        return np.where(np.append(self._codes, -1)[places] == asked, np.append(self.counts, 0.0)[places], 0.0)


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps from one class of symbols to another, several at once: a row per step, a column per symbol of the class.

    The probability of a step from u to v is spare[u] * novel[v], plus the value of the pair u, v, if it occurs. Rows
    are filled up with zeros. firsts, counts: the pairs of each step, among those of the model.
    """

    spare: Floats
    novel: Floats
    firsts: Places
    counts: Places


class BigramModel:
    """The probability of each symbol after another, learned from public texts. All are above 0.

    width, columns, list_symbols: those of the alphabet.
    lefts, rights, values: the pairs that occur, those of the same two classes together: the places of both symbols in
    their classes, and the discounted share among all pairs with the same left symbol.
    discounts: what is subtracted from a count of 1, of 2, and of 3 or more. novelty: the share of Zipf's law in the
    probability of a symbol that was not seen after another. Both are fitted on texts that are held out.
    """

    def __init__(self, alphabet: Alphabet, symbols: Numbers) -> None:
        """Take the symbols of all texts, as `Alphabet.read` returns them."""
        self.alphabet, self.width, self.columns = alphabet, alphabet.width, alphabet.columns
        self.list_symbols = alphabet.list_symbols
        lefts, rights = symbols[:-1], symbols[1:]
        held = _hold_out(symbols == alphabet.end)[:-1]
        known, rest = (_Counts(alphabet.size, lefts[some], rights[some]) for some in (~held, held))
        zipf = 1.0 / (alphabet.ranks + _ZIPF)
        zipf /= zipf.sum()
        self.discounts, self.novelty, share = _fit(known, rest, zipf)
        counts = _Counts(alphabet.size, lefts, rights)
        left, right, totals = counts.lefts, counts.rights, counts.totals
        spare = np.where(totals > 0.0, counts.kinds @ self.discounts / np.maximum(totals, 1.0), 1.0)
        novel, chances = _mix(self.novelty, zipf, counts.variety), _mix(share, zipf, counts.frequency)
        # a 0 at the end, for the number with which rows of symbols are filled up
        self._spare, self._novel, self._chances = (np.append(some, 0.0) for some in (spare, novel, chances))
        codes = alphabet.classes[left] * len(alphabet.sizes) + alphabet.classes[right]
        order = np.argsort(codes, kind="stable")
        self.lefts, self.rights = self.columns[left[order]], self.columns[right[order]]
        self.values = (_discount(counts.counts, self.discounts) / totals[left])[order]
        self._codes, firsts = np.unique(codes[order], return_index=True)
        self._firsts = np.append(firsts, len(order))

    def find_steps(self, lefts: Numbers, rights: Numbers) -> Steps:
        """Return steps from some classes to others."""
        codes = lefts * len(self.alphabet.sizes) + rights
        places = np.minimum(self._codes.searchsorted(codes), len(self._codes) - 1)
        firsts, ends = self._firsts[places], self._firsts[places + 1]
        return Steps(
            spare=self._spare[self.list_symbols(lefts)],
            novel=self._novel[self.list_symbols(rights)],
            firsts=firsts,
            counts=np.where(self._codes[places] == codes, ends - firsts, 0),
        )

    def find_chances(self, classes: Numbers) -> Floats:
        """Return how frequent the symbols of each class are, one row per class, filled up with zeros."""
        return self._chances[self.list_symbols(classes)]


def _hold_out(ends: Flags) -> Flags:
    """Return which symbols are held out: every tenth text, or the last tenth of all if there are fewer texts."""
    texts, count = np.cumsum(ends), len(ends)
    held: Flags = np.arange(count) >= count - count // _HELD_OUT
    if texts[-1] > _HELD_OUT:
        held = texts % _HELD_OUT == 0
    return held


def _fit(known: _Counts, held_out: _Counts, zipf: Floats) -> tuple[Floats, float, float]:
    """Return the smoothing under which the texts that are held out are the most likely, given what is known.

    It consists of the discounts, and of the shares of Zipf's law after another symbol and in the frequency of symbols.
    """
    left, right, counts = held_out.lefts, held_out.rights, held_out.counts
    seen, totals = known.find(left, right), np.maximum(known.totals[left], 1.0)
    kinds, is_new = known.kinds[left], known.totals[left] == 0.0

    def weigh(discounts: Floats, share: float) -> float:
        spare = np.where(is_new, 1.0, kinds @ discounts / totals)
        novel = _mix(share, zipf[right], known.variety[right])
        return float(counts @ np.log(_discount(seen, discounts) / totals + spare * novel))

    discounts, share = np.array(_LIMITS) / 2.0, 0.01
    for _ in range(_ROUNDS):
        for place, limit in enumerate(_LIMITS):
            tried = np.where(np.arange(3) == place, (_GRID * limit)[:, None], discounts)
            discounts = max(tried, key=lambda some: weigh(some, share))
        share = max(_SHARES.tolist(), key=lambda some: weigh(discounts, some))

    def weigh_alone(share: float) -> float:
        return float(held_out.frequency @ np.log(_mix(share, zipf, known.frequency)))

    return discounts, share, max(_SHARES.tolist(), key=weigh_alone)


def _discount(counts: Floats, discounts: Floats) -> Floats:
    """Return counts less what is subtracted from them."""
    return np.maximum(counts - discounts[np.clip(counts.astype(np.int64) - 1, 0, 2)], 0.0)


def _mix(share: float, zipf: Floats, counted: Floats) -> Floats:
    return share * zipf + (1.0 - share) * counted


class OutputLikelihoods:
    """The probability of a visible symbol for each hidden symbol of its class, at one eps.

    A replaced word becomes a word of its group, as the verified tables say; at eps = 0, it becomes the representative.
    Everything else stays as it is. So a visible stopword may have been kept, or it may replace another word.

    classes: the only classes that `find` will be asked about; by default all. certain: of each symbol, whether it can
    only stand for itself.
    """

    def __init__(
        self, alphabet: Alphabet, epsilon: float, calibration: str = "paper", classes: Numbers | None = None
    ) -> None:
        mapping = alphabet.mapping
        self._alphabet = alphabet
        self._drawn = np.append(alphabet.drawn, False)  # filled up, as rows of symbols are
        self._weights: Weights | None = None
        self.certain: Flags = ~alphabet.drawn
        if epsilon > 0.0:
            sizes, scores, self._starts = mapping.sizes, mapping.scores, mapping.score_starts
            if classes is not None:
                groups = np.unique(classes[classes < len(sizes)])  # all other classes are single symbols
                starts, sizes = self._starts[groups], sizes[groups]
                scores = scores[spread_out(starts, sizes**2)]
                self._starts = np.full(len(mapping.sizes), -1)
                self._starts[groups] = np.cumsum(sizes**2) - sizes**2
            self._weights = certify(sizes, scores, epsilon, calibration).weights
            self.certain &= np.bincount(alphabet.classes, alphabet.drawn)[alphabet.classes] == 0.0

    def find(self, visible: Numbers) -> Floats:
        """Return a row for each visible symbol, with a column per symbol of its class, filled up with zeros."""
        alphabet = self._alphabet
        classes = alphabet.classes[visible]
        hidden = alphabet.list_symbols(classes)
        found = self._drawn[hidden].astype(np.float64)
        rows, columns = found.nonzero()
        if self._weights is None:
            found[rows, columns] = alphabet.representatives[hidden[rows, columns]] == visible[rows]
        else:
            groups = classes[rows]  # only words of groups are drawn
            places = visible[rows] - alphabet.firsts[groups]
            assert not len(groups) or self._starts[groups].min() >= 0
            cells = self._starts[groups] + columns * alphabet.sizes[groups] + places
            found[rows, columns] = self._weights[cells] / 2.0**64
        kept = (~alphabet.drawn[visible]).nonzero()[0]
        found[kept, visible[kept] - alphabet.firsts[classes[kept]]] = 1.0
        return found


def find_posteriors(
    model: BigramModel, likelihoods: OutputLikelihoods, visible: Numbers
) -> Iterator[tuple[Places, Floats]]:
    """Yield places of a visible sequence, and the posterior probability of each word of the class at each of them.

    This is the forward-backward algorithm. A certain symbol separates what is before it from what is behind it, so the
    runs between two of them are independent. Runs of similar lengths are worked on together, step by step. The first
    and the last symbol must be certain.
    """
    certain = likelihoods.certain[visible]
    begins = (certain[:-1] & ~certain[1:]).nonzero()[0]
    lengths = (~certain[:-1] & certain[1:]).nonzero()[0] - begins
    order = np.argsort(-lengths, kind="stable")
    begins, lengths = begins[order], lengths[order]
    for some in cut((lengths + 1) * model.width, _CELLS):
        places = spread_out(begins[some] + 1, lengths[some])
        yield places, _pass_runs(model, visible, begins[some], lengths[some], likelihoods.find(visible[places]))


def _pass_runs(model: BigramModel, visible: Numbers, begins: Places, lengths: Places, likelihoods: Floats) -> Floats:
    """Return the posteriors in runs of hidden words between certain symbols, a row per place; the longest run first.

    begins, lengths: the certain symbol before each run, and the number of its places. likelihoods: a row per place.
    """
    before, classes = spread_out(begins, lengths + 1), model.alphabet.classes  # a run has one step more than places
    known = model.find_steps(classes[visible[before]], classes[visible[before + 1]])
    marks = np.eye(model.width)

    def carry(give: Floats, take: Floats, sources: Numbers, targets: Numbers, state: Floats, steps: Places) -> Floats:
        """Return the weights of the words on one side of some steps, from those on the other side."""
        counts = known.counts[steps]
        seen = spread_out(known.firsts[steps], counts)
        rows = np.arange(0, state.size, state.shape[1]).repeat(counts)
        moved = np.bincount(rows + targets[seen], state.take(rows + sources[seen]) * model.values[seen], state.size)
        novel: Floats = np.einsum("ij,ij->i", state, give[steps])[:, None] * take[steps]
        return novel + moved.reshape(state.shape)

    go_on = partial(carry, known.spare, known.novel, model.lefts, model.rights)
    go_back = partial(carry, known.novel, known.spare, model.rights, model.lefts)
    firsts = np.cumsum(lengths) - lengths  # the first place of each run
    first_steps, longest = firsts + np.arange(len(lengths)), int(lengths[0])
    active = np.searchsorted(-lengths, -np.arange(longest + 1), "right")  # runs of at least each length
    found, state = np.empty_like(likelihoods), marks[model.columns[visible[begins]]]
    for step in range(longest):
        count = int(active[step + 1])
        places = firsts[:count] + step
        state = go_on(state[:count], first_steps[:count] + step) * likelihoods[places]
        state /= state.sum(axis=1, keepdims=True)
        found[places] = state
    behind, state = marks[model.columns[visible[begins + lengths + 1]]], state[:0]
    for step in range(longest, 0, -1):
        count = int(active[step])
        state = go_back(np.append(state, behind[len(state) : count], axis=0), first_steps[:count] + step)
        places = firsts[:count] + step - 1
        found[places] *= state
        state *= likelihoods[places]
        state /= state.sum(axis=1, keepdims=True)
    found /= found.sum(axis=1, keepdims=True)
    return found
