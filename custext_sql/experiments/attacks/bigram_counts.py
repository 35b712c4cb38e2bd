"""Counts of bigrams of public texts, and how to smooth them, fitted on texts that are held out."""

from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Floats, Numbers
from custext_sql.experiments.attacks.symbols import Alphabet

ESTIMATES = 5  # that are mixed, see `BigramModel`
_ROUNDS = 30  # of expectation maximization
_LEAST = 1e-6  # of every weight of the last estimate, so that every symbol is possible after every other
_BUCKETS = 40  # of symbols with similar counts, by powers of two
_FLAT = 100.0  # added to ranks in Zipf's law


@dataclass(frozen=True, eq=False)
class Table:
    """Counts of pairs. codes: left * width + right, sorted."""

    width: int
    codes: Numbers
    counts: Floats

    @classmethod
    def count(cls, lefts: Numbers, rights: Numbers, counts: Floats, width: int) -> "Table":
        """Return the counts of the pairs that occur. width: larger than every right."""
        codes, places = np.unique(lefts * width + rights, return_inverse=True)
        return cls(width, codes, np.bincount(places, counts, len(codes)))

    @property
    def lefts(self) -> Numbers:
        """The left of each pair."""
        return self.codes // self.width

    @property
    def rights(self) -> Numbers:
        """The right of each pair."""
        return self.codes % self.width

    def find(self, lefts: Numbers, rights: Numbers) -> Floats:
        """Return the count of each of some pairs; 0 if it does not occur."""
        if not len(self.codes):
            return np.zeros(len(lefts))
        codes = lefts * self.width + rights
        places = np.minimum(self.codes.searchsorted(codes), len(self.codes) - 1)
        return np.where(self.codes[places] == codes, self.counts[places], 0.0)


class BigramCounts:
    """How often symbols and their classes follow each other.

    pairs: symbol, symbol. class_words: class, symbol. word_classes: symbol, class. class_pairs: class, class.
    lefts, rights: how often each symbol is the first or the second of a pair. left_classes: the same of classes.
    """

    def __init__(self, alphabet: Alphabet, lefts: Numbers, rights: Numbers) -> None:
        size, classes, number = alphabet.size, alphabet.classes, len(alphabet.sizes)
        self.pairs = Table.count(lefts, rights, np.ones(len(lefts)), size)
        left, right, counts = self.pairs.lefts, self.pairs.rights, self.pairs.counts
        self.class_words = Table.count(classes[left], right, counts, size)
        self.word_classes = Table.count(left, classes[right], counts, number)
        self.class_pairs = Table.count(classes[left], classes[right], counts, number)
        self.lefts = np.bincount(left, counts, size)
        self.rights = np.bincount(right, counts, size)
        self.left_classes = np.bincount(classes[left], counts, number)

    @property
    def buckets(self) -> Numbers:
        """The bucket of each symbol, by its count."""
        found: Numbers = np.minimum(np.log2(self.lefts + 1.0).astype(np.int64), _BUCKETS - 1)
        return found


@dataclass(frozen=True, eq=False)
class Smoothing:
    """How to smooth counts.

    zipf: the share of Zipf's law in the frequency of single symbols. weights: of the estimates, a row per bucket.
    """

    zipf: float
    weights: Floats

    def find_chances(self, counts: BigramCounts, alphabet: Alphabet) -> Floats:
        """Return how frequent each symbol is."""
        found: Floats = self.zipf * _follow_zipf(alphabet) + (1.0 - self.zipf) * _divide(
            counts.rights, counts.rights.sum()
        )
        return found


def fit_smoothing(alphabet: Alphabet, known: BigramCounts, held_out: BigramCounts) -> Smoothing:
    """Return the smoothing under which the texts that were held out are the most likely, by what is known."""
    chances = np.stack([_follow_zipf(alphabet), _divide(known.rights, known.rights.sum())], axis=1)
    shares = np.full((1, 2), 0.5)
    for _ in range(_ROUNDS):
        shares = _fit_once(shares, np.zeros(alphabet.size, dtype=np.int64), chances, held_out.rights)
    smoothing = Smoothing(max(float(shares[0, 0]), _LEAST), np.zeros((0, 0)))
    pairs = held_out.pairs
    estimates = _estimate(alphabet, known, pairs, smoothing.find_chances(known, alphabet))
    buckets = known.buckets[pairs.lefts]
    weights = np.full((_BUCKETS, ESTIMATES), 1.0 / ESTIMATES)
    weights[0] = [0.0, 1.0 / 3.0, 0.0, 1.0 / 3.0, 1.0 / 3.0]  # nothing is known of these symbols themselves
    for _ in range(_ROUNDS):
        weights = _fit_once(weights, buckets, estimates, pairs.counts)
    weights[:, -1] = np.maximum(weights[:, -1], _LEAST)
    return Smoothing(smoothing.zipf, weights)


def _estimate(alphabet: Alphabet, known: BigramCounts, pairs: Table, chances: Floats) -> Floats:
    """Return the five estimates of each pair."""
    classes = alphabet.classes
    left, right = pairs.lefts, pairs.rights
    from_class, to_class = classes[left], classes[right]
    within = chances[right] / np.bincount(classes, chances)[to_class]
    words, groups = known.lefts[left], known.left_classes[from_class]
    return np.stack(
        [
            _divide(known.pairs.find(left, right), words),
            _divide(known.class_words.find(from_class, right), groups),
            _divide(known.word_classes.find(left, to_class), words) * within,
            _divide(known.class_pairs.find(from_class, to_class), groups) * within,
            chances[right],
        ],
        axis=1,
    )


def _fit_once(weights: Floats, buckets: Numbers, estimates: Floats, counts: Floats) -> Floats:
    """Return weights under which the counted events are more likely. Buckets without events keep their weights."""
    parts = weights[buckets] * estimates
    parts *= _divide(counts, parts.sum(axis=1))[:, None]
    sums = np.stack([np.bincount(buckets, part, len(weights)) for part in parts.T], axis=1)
    totals = sums.sum(axis=1, keepdims=True)
    found: Floats = np.where(totals > 0.0, sums / np.maximum(totals, 1e-300), weights)
    return found


def _follow_zipf(alphabet: Alphabet) -> Floats:
    found: Floats = 1.0 / (alphabet.ranks + _FLAT)
    return found / found.sum()


def _divide(counts: Floats, totals: Floats | float) -> Floats:
    """Return quotients; 0 where the divisor is 0."""
    return np.divide(counts, totals, out=np.zeros(len(counts)), where=np.asarray(totals) > 0.0)
