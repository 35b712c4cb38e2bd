"""What a run did, as a value: how many words it drew, how many it let through, and what it spent."""

from dataclasses import asdict, dataclass
from typing import Any

_ENOUGH_WORDS = 10  # to judge a language by


@dataclass(frozen=True)
class Receipt:
    """Counts of one run. Protection is per word: a row with n sampled words has spent n * eps, and only these spend.

    words = sampled + stopwords + numbers + unknown_kept + unknown_masked + unknown_random + endings + kept +
    alone_masked. kept: words that a choice of what is sensitive left as they are. alone_masked: words that were masked,
    being the only ones of their group that would be drawn. sampled_unchanged: sampled words that drew themselves; it
    tells about the originals, so it is for the operator alone (see `to_dict`). characters_in_clear: of words that came
    out as they were without being drawn. symbols: characters that are neither words, spaces nor punctuation (pictures,
    circled letters, control characters) and stand in the output as they were. unknown_distinct: how many words
    unknown_kept counts, each counted once, whatever its case. eps: the largest of `budgets`.

    What is promised holds among the words of a group that are drawn, as verified: no log-ratio is above
    worst_log_ratio within the table of one budget, or above union_log_ratio over those of all budgets, for two words of
    a group that were drawn at different ones. A drawn word hides among at least `hides_among` words, itself included.
    """

    rows: int
    words: int
    sampled: int
    stopwords: int
    numbers: int
    unknown_kept: int
    unknown_masked: int
    unknown_random: int
    endings: int
    kept: int
    alone_masked: int
    sampled_unchanged: int
    characters_in_clear: int
    eps: float
    budgets: tuple[float, ...]
    largest_row_eps: float
    mean_row_eps: float
    mapping: str
    fingerprint: str
    worst_log_ratio: float
    union_log_ratio: float
    hides_among: int
    symbols: int = 0
    unknown_distinct: int = 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what somebody should know before the output is given away, as sentences without a full stop."""
        found = []
        if self.unknown_kept:
            words, are = ("word", "is") if self.unknown_kept == 1 else ("words", "are")
            found.append(
                f"{self.unknown_kept:,} {words} ({self.unknown_distinct:,} distinct) {are} not in the vocabulary and "
                "passed unchanged"
            )
        unknown = self.unknown_kept + self.unknown_masked + self.unknown_random
        decided = self.words - self.stopwords - self.endings - self.kept
        if decided >= _ENOUGH_WORDS and 2 * unknown > decided:
            found.append(
                f"most words ({unknown:,} of {decided:,}) are not in the vocabulary; the texts may be in another "
                "language or script than the mapping"
            )
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return what may stand beside the text: everything but `sampled_unchanged`."""
        return {name: value for name, value in asdict(self).items() if name != "sampled_unchanged"}
