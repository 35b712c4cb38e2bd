"""What becomes of the words of some texts: counts of replaced, masked and kept words, also per text."""

from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Flags, Numbers
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.release.inputs.texts import Texts, name_texts, stream_texts
from custext_sql.replacing.counts import Counts
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.policy import name_policy
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizing.sanitizer import Sanitizer
from custext_sql.sanitizing.settings import Settings

_COUNTS = (
    "rows",
    "words",
    "sampled",
    "stopwords",
    "numbers",
    "unknown_kept",
    "unknown_masked",
    "unknown_random",
    "endings",
    "kept",
    "alone_masked",
    "units_masked",
    "symbols",
    "characters_in_clear",
)


@dataclass(frozen=True)
class LetThrough:
    """What becomes of the words of some texts.

    dataset: the name of the texts. policy: its name. plus: whether stopwords are kept. numbers: what becomes of numbers
    outside the vocabulary, as in a policy.
    counts: the counts of a `Receipt`, by name, such as "words", "sampled" and "characters_in_clear"; also the median
    and the largest number of replaced words of a text, "median_replaced" and "largest_replaced".
    """

    dataset: str
    policy: str
    plus: bool
    numbers: str
    counts: dict[str, float]


def count_let_through(
    under_test: MappingUnderTest, data: Texts, column: str | None, *, epsilon: float, plus: bool
) -> LetThrough:
    """Return what becomes of the words of some texts under the policy under test. column: that of the texts."""
    policy = under_test.policy
    sanitizer = Sanitizer(under_test.mapping, under_test.stopwords, Settings.settle(policy=policy))
    tally = _RowTally()
    for part in stream_texts(data, column):
        sanitizer.sanitize_column(part, epsilon, plus, tally=tally)
    receipt = sanitizer.receipt(tally, epsilon, plus)
    median, largest = tally.find_replaced()
    counts = {name: getattr(receipt, name) for name in _COUNTS}
    counts |= {"median_replaced": median, "largest_replaced": largest}
    return LetThrough(name_texts(data), name_policy(policy), plus, policy.numbers, counts)


class _RowTally(Tally):
    """A tally that also counts rows by the number of their replaced words."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: Numbers = np.zeros(1, dtype=np.int64)

    def add(self, counts: Counts, *, missing: Flags | None = None) -> None:
        """Add the counts of some texts."""
        super().add(counts, missing=missing)
        replaced = counts.by_kind[:, Kind.SAMPLED]
        new = np.bincount(replaced if missing is None else replaced[~missing], minlength=len(self._sizes))
        new[: len(self._sizes)] += self._sizes
        self._sizes = new

    def find_replaced(self) -> tuple[float, float]:
        """Return the median and the largest number of replaced words of a row; 0 without rows."""
        below, rows = np.cumsum(self._sizes), int(self._sizes.sum())
        low, high = (int(np.searchsorted(below, rank, side="right")) for rank in ((rows - 1) // 2, rows // 2))
        return ((low + high) / 2.0, float(self._sizes.nonzero()[0][-1])) if rows else (0.0, 0.0)
