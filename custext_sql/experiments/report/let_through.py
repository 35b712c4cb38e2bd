"""What becomes of the words of some texts: counts of replaced, masked and kept words."""

from collections.abc import Iterator
from dataclasses import asdict, replace

import numpy as np

from custext_sql.experiments.measurements import (
    ShareDone,
    Subject,
    describe_mapping,
    measure_or_reuse,
    write_settings,
)
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.report.contents import LetThrough, as_number
from custext_sql.experiments.text_files import Texts, name_texts, stream_texts
from custext_sql.replacing.policy import choose_policy
from custext_sql.replacing.receipt import Receipt
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizer import Sanitizer
from custext_sql.settings import Settings
from custext_sql.store.database import Database
from custext_sql.store.digests import TextDigest
from custext_sql.store.key_files import digest_stopwords
from custext_sql.text.columns import TextColumn
from custext_sql.text.word_boundaries import RULES

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
    "alone_masked",
    "symbols",
    "characters_in_clear",
)


def count_let_through(
    database: Database,
    under_test: MappingUnderTest,
    data: Texts,
    column: str | None,
    *,
    epsilon: float,
    plus: bool,
    policy: str,
) -> LetThrough:
    """Return what becomes of the words of some texts. column: their column in a file. policy: its name."""
    digest = _digest_texts(stream_texts(data, column))
    kept = digest_stopwords(under_test.stopwords) if plus else None
    about = replace(
        describe_mapping(under_test.mapping, "policy", "", None, None),
        dataset=name_texts(data),
        digest=digest,
        settings=write_settings(policy=asdict(choose_policy(policy)), rules=RULES, stopwords=kept),
    )
    made: list[Receipt] = []

    def measure(subject: Subject, tell: ShareDone) -> tuple[float, None]:
        if not made:
            sanitizer = Sanitizer(under_test.mapping, under_test.stopwords, Settings.settle(policy=policy))
            tally = Tally()
            for texts in stream_texts(data, column):
                sanitizer.sanitize_column(texts, epsilon, plus, tally=tally)
            made.append(sanitizer.receipt(tally, epsilon, plus))
        return float(getattr(made[0], subject.metric)), None

    subjects = [replace(about, metric=metric) for metric in _COUNTS]
    counts = zip(_COUNTS, map(as_number, measure_or_reuse(database, subjects, measure)), strict=True)
    return LetThrough(name_texts(data), policy, plus, dict(counts))


def _digest_texts(texts: Iterator[TextColumn]) -> str:
    found = TextDigest()
    for column in texts:
        found.update(column.text.tobytes())
        found.update(np.diff(column.offsets).astype("<i8").tobytes())
    return found.hexdigest()
