"""How likely each visible word is for each hidden word of its group, from verified tables."""

import numpy as np

from custext_sql.arrays import Flags, Floats, Numbers, Weights
from custext_sql.experiments.attacks.symbols import Alphabet
from custext_sql.mechanism.certified_table import certify


class OutputLikelihoods:
    """The probability of a visible symbol for each word of its class.

    A drawn word becomes a word of its group, by the verified tables at an eps; at eps = 0, it becomes the
    representative. Every other symbol stays: a visible stopword may be a kept one or a draw.

    certain: of each symbol, whether it can only be itself if it is visible.
    """

    def __init__(self, alphabet: Alphabet, epsilon: float, calibration: str = "paper") -> None:
        mapping = alphabet.mapping
        self._alphabet = alphabet
        self._width = int(alphabet.sizes.max())
        self._weights: Weights | None = None
        if epsilon > 0.0:
            self._weights = certify(mapping.sizes, mapping.scores, epsilon, calibration).weights
        self._matrices = np.append(mapping.score_starts, np.zeros(len(alphabet.sizes) - len(mapping.sizes), np.int64))
        others = alphabet.size - len(mapping.words)
        self._drawn: Flags = np.append(alphabet.drawn, np.zeros(others + 1, dtype=bool))  # also of no symbol
        self._representatives = find_representatives(alphabet)
        together = np.bincount(alphabet.classes, self._drawn[:-1])  # drawn words of each class
        self.certain: Flags = ~self._drawn[:-1] & (together[alphabet.classes] == 0)
        if self._weights is None:
            self.certain = ~self._drawn[:-1]

    def find(self, visible: Numbers) -> Floats:
        """Return a row for each visible symbol, with a column per word of its class, filled up with zeros."""
        alphabet = self._alphabet
        classes = alphabet.classes[visible]
        firsts, sizes = alphabet.firsts[classes][:, None], alphabet.sizes[classes][:, None]
        columns = np.arange(self._width)
        inside = columns < sizes
        hidden = np.where(inside, firsts + columns, alphabet.size)
        found: Floats = (self._drawn[hidden]).astype(np.float64)
        if self._weights is None:
            found *= (self._representatives[classes] == visible)[:, None]
        else:
            cells = self._matrices[classes][:, None] + columns * sizes + (visible - firsts[:, 0])[:, None]
            found *= self._weights[np.where(found > 0.0, cells, 0)] / 2.0**64
        found[hidden == visible[:, None]] = np.where(
            self._drawn[visible], found[hidden == visible[:, None]], 1.0
        )
        return found


def find_representatives(alphabet: Alphabet) -> Numbers:
    """Return the representative of each class: its most frequent drawn word, or its first symbol if none is drawn."""
    drawn = np.append(alphabet.drawn, np.zeros(alphabet.size - len(alphabet.drawn), dtype=bool))
    order = np.lexsort((alphabet.ranks, ~drawn, alphabet.classes))
    return order[alphabet.firsts]
