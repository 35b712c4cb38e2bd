"""What becomes of the words of some texts: counts of replaced, masked and kept words, also per text."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from custext_sql.arrays import Flags, Numbers
from custext_sql.experiments.measurements import (
    ShareDone,
    Subject,
    describe_mapping,
    measure_or_reuse,
    write_settings,
)
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.report.contents import LetThrough, as_number
from custext_sql.experiments.trials import describe_policy
from custext_sql.release.inputs.texts import Texts, name_texts, stream_texts
from custext_sql.replacing.counts import Counts
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.policy import name_policy
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizing.sanitizer import Sanitizer
from custext_sql.sanitizing.settings import Settings
from custext_sql.store.database import Database
from custext_sql.store.digests import TextDigest
from custext_sql.store.key_files import digest_stopwords
from custext_sql.text.columns import TextColumn

_PER_ROW = ("median_replaced", "largest_replaced")
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
    *_PER_ROW,
)


def count_let_through(
    database: Database,
    under_test: MappingUnderTest,
    data: Texts,
    column: str | None,
    *,
    epsilon: float,
    plus: bool,
) -> LetThrough:
    """Return what becomes of the words of some texts under the policy under test. column: that of the texts."""
    digest = _digest_texts(stream_texts(data, column))
    kept = digest_stopwords(under_test.stopwords) if plus else None
    policy = under_test.policy
    about = replace(
        describe_mapping(under_test.mapping, "policy", "", None, None),
        dataset=name_texts(data),
        digest=digest,
        settings=write_settings(policy=describe_policy(policy), stopwords=kept),
    )
    made: list[dict[str, float]] = []

    def measure(subject: Subject, tell: ShareDone) -> tuple[float, None]:
        if not made:
            made.append(_count(under_test, stream_texts(data, column), epsilon, plus))
        return made[0][subject.metric], None

    subjects = [replace(about, metric=metric) for metric in _COUNTS]
    counts = zip(_COUNTS, map(as_number, measure_or_reuse(database, subjects, measure)), strict=True)
    return LetThrough(name_texts(data), name_policy(policy), plus, policy.numbers, dict(counts))


def _count(under_test: MappingUnderTest, texts: Iterator[TextColumn], epsilon: float, plus: bool) -> dict[str, float]:
    sanitizer = Sanitizer(under_test.mapping, under_test.stopwords, Settings.settle(policy=under_test.policy))
    tally = _RowTally()
    for column in texts:
        sanitizer.sanitize_column(column, epsilon, plus, tally=tally)
    receipt = sanitizer.receipt(tally, epsilon, plus)
    counts = {name: float(getattr(receipt, name)) for name in _COUNTS if name not in _PER_ROW}
    return counts | dict(zip(_PER_ROW, tally.find_replaced(), strict=True))


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


def _digest_texts(texts: Iterator[TextColumn]) -> str:
    found = TextDigest()
    for column in texts:
        found.update(column.text.tobytes())
        found.update(np.diff(column.offsets).astype("<i8").tobytes())
        found.update(b"" if column.missing is None else np.packbits(column.missing).tobytes())
    return found.hexdigest()
