"""How likely a visible symbol is for each hidden symbol of its class, from verified tables."""

from itertools import pairwise

import numpy as np

from custext_sql.arrays import Flags, Floats, Numbers, Sizes, Units, Weights
from custext_sql.experiments.attacks.symbols import Alphabet
from custext_sql.mechanism.certified_table import certify
from custext_sql.text.encoded_text import spread_out

_CELLS = 1 << 19  # weights verified at a time, since this takes many times their memory


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
        self._width = int(alphabet.sizes.max())
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
            self._weights = _certify_in_parts(sizes, scores, epsilon, calibration)
            self.certain &= np.bincount(alphabet.classes, alphabet.drawn)[alphabet.classes] == 0.0

    def find(self, visible: Numbers) -> Floats:
        """Return a row for each visible symbol, with a column per symbol of its class, filled up with zeros."""
        alphabet = self._alphabet
        classes = alphabet.classes[visible]
        hidden = alphabet.list_symbols(classes, self._width)
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


def _certify_in_parts(sizes: Sizes, scores: Units, epsilon: float, calibration: str) -> Weights:
    """Return the verified weights of some groups."""
    ends = np.cumsum(sizes**2)
    bounds = np.append(0, np.flatnonzero(np.diff(ends // _CELLS, append=-1)) + 1)
    weights = np.empty(len(scores), dtype=np.uint64)
    for first, last in pairwise(bounds.tolist()):
        cells = slice(ends[first] - sizes[first] ** 2, ends[last - 1])
        weights[cells] = certify(sizes[first:last], scores[cells], epsilon, calibration).weights
    return weights
