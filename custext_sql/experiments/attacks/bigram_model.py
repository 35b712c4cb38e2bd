"""A bigram model of public texts, with Kneser-Ney smoothing that is fitted on texts that are held out."""

from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Flags, Floats, Numbers, Places
from custext_sql.experiments.attacks.symbols import Alphabet

_ZIPF = 100.0  # added to ranks in Zipf's law, for words that the public texts lack
_LIMITS = (1.0, 2.0, 3.0)  # of what is subtracted from a count of 1, of 2, and of 3 or more
_GRID = np.linspace(0.05, 0.95, 19)  # tried, as a share of these limits
_SHARES = 10.0 ** np.linspace(-5.0, -0.5, 19)  # of Zipf's law, tried
_ROUNDS = 2
_HELD_OUT = 10  # every tenth text


class _Counts:
    """How often pairs of symbols occur in some texts.

    lefts, rights, counts: the distinct pairs, and how often each occurs. totals: how often each symbol is on the left.
    kinds: how many distinct pairs with a count of 1, of 2, and of 3 or more each symbol begins.
    frequency: the share of each symbol among all. variety: its share among the right sides of distinct pairs.
    """

    def __init__(self, size: int, lefts: Numbers, rights: Numbers) -> None:
        codes, counts = np.unique(lefts * size + rights, return_counts=True)
        self._size, self._codes = size, codes
        self.lefts, self.rights, self.counts = codes // size, codes % size, counts.astype(np.float64)
        self.totals = np.bincount(self.lefts, self.counts, size)
        kinds = self.lefts * 3 + np.minimum(counts, 3) - 1
        self.kinds = np.bincount(kinds, minlength=3 * size).reshape(size, 3).astype(np.float64)
        self.frequency = np.bincount(self.rights, self.counts, size) / max(self.counts.sum(), 1.0)
        self.variety = np.bincount(self.rights, minlength=size) / max(len(codes), 1)

    def find(self, lefts: Numbers, rights: Numbers) -> Floats:
        """Return how often some pairs occur."""
        if not len(self._codes):
            return np.zeros(len(lefts))
        codes = lefts * self._size + rights
        places = np.minimum(self._codes.searchsorted(codes), len(self._codes) - 1)
        return np.where(self._codes[places] == codes, self.counts[places], 0.0)

    def find_spare(self, discounts: Floats) -> Floats:
        """Return the probability after each symbol that is left for other symbols than those seen after it."""
        found: Floats = np.where(self.totals > 0.0, self.kinds @ discounts / np.maximum(self.totals, 1.0), 1.0)
        return found


@dataclass(frozen=True, eq=False)
class Smoothing:
    """What was fitted on texts that are held out.

    discounts: what is subtracted from a count of 1, of 2, and of 3 or more. zipf_after, zipf_alone: the shares of
    Zipf's law in the probability of a symbol that was not seen after another, and in the frequency of symbols.
    """

    discounts: Floats
    zipf_after: float
    zipf_alone: float


@dataclass(frozen=True, eq=False)
class Entries:
    """The pairs that occur, those of the same two classes together, in the order of their codes.

    lefts, rights: the places of both symbols in their classes. values: the discounted share among all pairs with the
    same left symbol.
    """

    lefts: Numbers
    rights: Numbers
    values: Floats


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps from one class of symbols to another, several at once: a row per step, a column per symbol of the class.

    The probability of a step from u to v is spare[u] * novel[v], plus the value of the entry of u and v, if any. Rows
    are filled up with zeros. firsts, counts: the entries of each step.
    """

    spare: Floats
    novel: Floats
    firsts: Places
    counts: Places


class BigramModel:
    """The probability of each symbol after another, learned from public texts. All are above 0.

    chances: how frequent each symbol is. width: the largest size of a class. columns: the place of each symbol in its
    class. entries: the pairs that occur. smoothing: what was fitted.
    """

    def __init__(self, alphabet: Alphabet, symbols: Numbers) -> None:
        """Take the symbols of all texts, as `Alphabet.read` returns them."""
        self.alphabet = alphabet
        self.width = int(alphabet.sizes.max())
        lefts, rights = symbols[:-1], symbols[1:]
        held = _hold_out(symbols == alphabet.end)[:-1]
        known, rest = (_Counts(alphabet.size, lefts[some], rights[some]) for some in (~held, held))
        zipf = 1.0 / (alphabet.ranks + _ZIPF)
        zipf /= zipf.sum()
        self.smoothing = _fit(known, rest, zipf)
        counts = _Counts(alphabet.size, lefts, rights)
        self.chances = _mix(self.smoothing.zipf_alone, zipf, counts.frequency)
        self._chances = np.append(self.chances, 0.0)  # filled up, as rows of symbols are
        self.columns = np.arange(alphabet.size) - alphabet.firsts[alphabet.classes]
        self._spare = np.append(counts.find_spare(self.smoothing.discounts), 0.0)
        self._novel = np.append(_mix(self.smoothing.zipf_after, zipf, counts.variety), 0.0)
        left, right = counts.lefts, counts.rights
        codes = self._find_codes(alphabet.classes[left], alphabet.classes[right])
        values = _discount(counts.counts, self.smoothing.discounts) / counts.totals[left]
        order = np.argsort(codes, kind="stable")
        self.entries = Entries(self.columns[left[order]], self.columns[right[order]], values[order])
        self._codes, self._firsts = np.unique(codes[order], return_index=True)
        self._firsts = np.append(self._firsts, len(order))

    def find_steps(self, lefts: Numbers, rights: Numbers) -> Steps:
        """Return steps from some classes to others."""
        codes = self._find_codes(lefts, rights)
        places = np.minimum(self._codes.searchsorted(codes), len(self._codes) - 1)
        firsts, ends = self._firsts[places], self._firsts[places + 1]
        return Steps(
            spare=self._spare[self.list_symbols(lefts)],
            novel=self._novel[self.list_symbols(rights)],
            firsts=firsts,
            counts=np.where(self._codes[places] == codes, ends - firsts, 0),
        )

    def list_symbols(self, classes: Numbers) -> Numbers:
        """Return the symbols of each class, one row per class, padded with a number that is not a symbol."""
        return self.alphabet.list_symbols(classes, self.width)

    def find_chances(self, classes: Numbers) -> Floats:
        """Return how frequent the symbols of each class are, one row per class, filled up with zeros."""
        return self._chances[self.list_symbols(classes)]

    def _find_codes(self, lefts: Numbers, rights: Numbers) -> Numbers:
        """Return a number for each pair of classes."""
        return lefts * len(self.alphabet.sizes) + rights


def _hold_out(ends: Flags) -> Flags:
    """Return which symbols are held out: every tenth text, or the last tenth of all if there are fewer texts."""
    texts = np.cumsum(ends)
    if texts[-1] > _HELD_OUT:
        tenth: Flags = texts % _HELD_OUT == 0
        return tenth
    found: Flags = np.arange(len(ends)) >= len(ends) - len(ends) // _HELD_OUT
    return found


def _fit(known: _Counts, held_out: _Counts, zipf: Floats) -> Smoothing:
    """Return the smoothing under which the texts that are held out are the most likely, given what is known."""
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

    return Smoothing(discounts, share, max(_SHARES.tolist(), key=weigh_alone))


def _discount(counts: Floats, discounts: Floats) -> Floats:
    """Return counts less what is subtracted from them."""
    return np.maximum(counts - discounts[np.clip(counts.astype(np.int64) - 1, 0, 2)], 0.0)


def _mix(share: float, zipf: Floats, counted: Floats) -> Floats:
    return share * zipf + (1.0 - share) * counted
