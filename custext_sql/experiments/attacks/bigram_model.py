"""A bigram model of public texts, smoothed by the groups of a mapping."""

from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Flags, Floats, Numbers, Places
from custext_sql.experiments.attacks.bigram_counts import ESTIMATES, BigramCounts, fit_smoothing
from custext_sql.experiments.attacks.symbols import Alphabet
from custext_sql.text.encoded_text import spread_out


@dataclass(frozen=True, eq=False)
class _Entries:
    """Numbers for pairs of classes, those of a pair together. firsts: where each pair begins, and the end."""

    firsts: Places
    lefts: Numbers  # symbols, or classes
    rights: Numbers
    values: Floats


@dataclass(frozen=True, eq=False)
class Steps:
    """The probabilities of steps from a word of a class to a word of another, for several pairs of classes.

    All arrays have one row per step and one column per word of the class, filled up with zeros. The step from word u to
    word v has the probability

        spare[u] * common[v] + toward[u] * within[v] + the value of the pair, if it is one of the entries.

    entry_lefts, entry_rights, values: the entries of all pairs of classes; columns of u and v, and values.
    firsts, counts: which entries belong to each step.
    """

    spare: Floats
    common: Floats
    toward: Floats
    within: Floats
    firsts: Places
    counts: Places


class BigramModel:
    """The probability of a symbol v after a symbol u, learned from public texts.

    Five estimates are mixed, with weights that depend on the count of u: how often v follows u; how often v follows
    words of the class of u; how often words of the class of v follow u, and how often they follow words of the class of
    u, both times the share of v in its class; and how frequent v is.

    chances: how frequent each symbol is; all are above 0. width: the largest number of words in a class.
    """

    def __init__(self, alphabet: Alphabet, symbols: Numbers, held_out: Flags) -> None:
        """Take the symbols of all texts. held_out: which of them are used to fit the smoothing."""
        self.alphabet = alphabet
        self.width = int(alphabet.sizes.max())
        lefts, rights, held = symbols[:-1], symbols[1:], held_out[:-1]
        known, rest = (BigramCounts(alphabet, lefts[some], rights[some]) for some in (~held, held))
        smoothing = fit_smoothing(alphabet, known, rest)
        counts = BigramCounts(alphabet, lefts, rights)
        classes = alphabet.classes
        self.chances = smoothing.find_chances(counts, alphabet)
        self._class_chances = np.bincount(classes, self.chances)
        mix = smoothing.weights[counts.buckets]
        mix[counts.left_classes[classes] == 0.0] = np.eye(ESTIMATES)[-1]  # nothing is known but frequencies
        self._mix = np.append(mix, np.zeros((1, ESTIMATES)), axis=0)
        self._within = np.append(self.chances / self._class_chances[classes], 0.0)
        pairs = counts.class_pairs
        self._pairs, self._pair_shares = pairs.codes, pairs.counts / counts.left_classes[pairs.lefts]
        self.columns = np.append(np.arange(alphabet.size) - alphabet.firsts[classes], 0)

        def sort(lefts: Numbers, rights: Numbers, values: Floats, class_codes: Numbers) -> _Entries:
            order = np.argsort(class_codes, kind="stable")
            firsts = class_codes[order].searchsorted(np.append(pairs.codes, len(alphabet.sizes) ** 2))
            return _Entries(firsts, self.columns[lefts[order]], self.columns[rights[order]], values[order])

        number = len(alphabet.sizes)
        left, right = counts.pairs.lefts, counts.pairs.rights
        values = mix[left, 0] * counts.pairs.counts / counts.lefts[left]
        self.entries = sort(left, right, values, classes[left] * number + classes[right])
        left, right = counts.class_words.lefts, counts.class_words.rights
        values = counts.class_words.counts / counts.left_classes[left]
        self._common = sort(right, right, values, left * number + classes[right])
        left, right = counts.word_classes.lefts, counts.word_classes.rights
        values = mix[left, 2] * counts.word_classes.counts / counts.lefts[left]
        self._toward = sort(left, left, values, classes[left] * number + right)

    def find_steps(self, lefts: Numbers, rights: Numbers) -> Steps:
        """Return the probabilities of steps from some classes to others."""
        codes = lefts * len(self.alphabet.sizes) + rights
        pairs = np.minimum(self._pairs.searchsorted(codes), len(self._pairs) - 1)
        seen = self._pairs[pairs] == codes
        from_words, to_words = self.list_words(lefts), self.list_words(rights)
        toward = self._fill(self._toward, pairs, seen)
        toward += self._mix[from_words, 3] * np.where(seen, self._pair_shares[pairs], 0.0)[:, None]
        toward += self._mix[from_words, 4] * self._class_chances[rights][:, None]
        firsts = self.entries.firsts
        return Steps(
            spare=self._mix[from_words, 1],
            common=self._fill(self._common, pairs, seen),
            toward=toward,
            within=self._within[to_words],
            firsts=firsts[pairs],
            counts=np.where(seen, firsts[pairs + 1] - firsts[pairs], 0),
        )

    def list_words(self, classes: Numbers) -> Numbers:
        """Return the symbols of each class, one row per class, filled up with a number that is no symbol."""
        columns = np.arange(self.width)
        symbols = self.alphabet.firsts[classes][:, None] + columns
        return np.where(columns < self.alphabet.sizes[classes][:, None], symbols, self.alphabet.size)

    def _fill(self, entries: _Entries, pairs: Places, seen: Flags) -> Floats:
        """Return the values of some pairs of classes as rows."""
        sizes = np.where(seen, entries.firsts[pairs + 1] - entries.firsts[pairs], 0)
        places = spread_out(entries.firsts[pairs], sizes)
        cells = np.arange(len(pairs)).repeat(sizes) * self.width + entries.lefts[places]
        filled = np.bincount(cells, entries.values[places], len(pairs) * self.width)
        return filled.reshape(len(pairs), self.width)
