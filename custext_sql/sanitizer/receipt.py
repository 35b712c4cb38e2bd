"""The receipt of a run: how many words it replaced and kept, how much eps it spent, and what was verified."""

import math
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from custext_sql.kinds import Counted, Fate, list_treatments, spread_counts
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.sampler import Sampler
from custext_sql.mechanism.weights import check_epsilon
from custext_sql.parameters import count_of
from custext_sql.sanitizer.words import Vocabulary

_UNSAVED = ("replaced_unchanged", "texts_unchanged")
_ENOUGH_WORDS = 10  # to warn that the language may be wrong
_REMEMBERED = 100  # guarantees
_Case = tuple[tuple[float, ...], frozenset[bool], frozenset[str] | None]


@dataclass(frozen=True)
class Receipt(Counted):
    """The counts of one run. It is a private record: it describes the originals, so do not publish it with the texts.

    Protection is per word: a row with n replaced words has spent n * eps. Only replaced words spend eps. Every word is
    counted once: words = replaced + stopwords + unknown_kept + unknown_masked + unknown_random + numbers + endings +
    kept + units + alone_masked. These are attributes too, such as `receipt.replaced`.

    rows: rows with a text that is not NULL; outside of tables, each text is a row.
    words, counts: all words of the texts, and how many of them there are of each kind, by name:
        replaced: words replaced by a draw from their group, or at eps = 0 by its representative.
        stopwords: stopwords kept because of `plus`.
        unknown_kept, unknown_masked, unknown_random: words outside the vocabulary, by what the policy did with them.
        numbers: numbers outside the vocabulary; the policy decides whether they are masked, changed or kept.
        endings: English endings after an apostrophe, such as 's, which are kept.
        kept: words kept because they were not selected as sensitive, or because the policy lists them.
        units: e-mail addresses, numbers, dates and the like that were masked; each counts as one word.
        alone_masked: words masked because no other word of their group would be replaced, so nothing would hide them.
    replaced_unchanged: words replaced by themselves. It reveals something about the originals, so it must not be stored
        (see `to_dict`). None if it is unknown, because other processes made the release.
    characters_in_clear: characters of words that were kept, and so are in the clear.
    eps: the largest of `budgets`, which are all eps per word that were in use, in ascending order.
    largest_row_eps, mean_row_eps: the largest and the mean eps spent on one row.
    mapping, fingerprint: the mapping that the words were drawn from.
    worst_log_ratio, union_log_ratio, hides_among: what was verified, see `Guarantee`.
    symbols: characters that are kept and are neither words, spaces nor punctuation (pictures, control characters).
    unknown_distinct: the number of distinct words, ignoring case, that unknown_kept counts.
    texts_unchanged: texts that came out unchanged apart from case: all words were kept or replaced by themselves. In a
        table, each column of a row is a text. Like replaced_unchanged, it must not be stored beside the output.
    """

    rows: int
    words: int
    counts: dict[str, int]
    replaced_unchanged: int | None
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
    texts_unchanged: int = 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the output is shared, as sentences without a period."""
        found = []
        if self.texts_unchanged:
            whose = "its words were" if self.texts_unchanged == 1 else "their words were"
            found.append(
                f"{count_of(self.texts_unchanged, 'text')} came out unchanged: {whose} kept or replaced by themselves"
            )
        if self.unknown_kept:
            words = count_of(self.unknown_kept, "word")
            are = "is" if self.unknown_kept == 1 else f"({self.unknown_distinct:,} distinct) are"
            found.append(f"{words} {are} not in the vocabulary and passed unchanged")
        unknown = self.unknown_kept + self.unknown_masked + self.unknown_random
        decided = self.words - self.stopwords - self.endings - self.kept
        if decided >= _ENOUGH_WORDS and 2 * unknown > decided:
            found.append(
                f"most words ({unknown:,} of {decided:,}) are not in the vocabulary; the texts may be in a different "
                "language or script from the mapping"
            )
        return tuple(found)

    def describe(self) -> str:
        """Return the receipt in two or three lines, for people."""
        generalized, same = self.budgets == (0.0,), self.replaced_unchanged
        own = f"{'by' if generalized else 'drew'} {'itself' if same == 1 else 'themselves'}"
        how = f" ({same:,} {own})" if same else ""
        parts = [f"{self.replaced:,} replaced{how}"]
        for entry, one in list_treatments("mask"):  # the receipt does not know what became of numbers
            if one.fate is not Fate.REPLACED and (number := self.counts[one.name]):
                parts.append(count_of(number, entry.label + one.suffix, entry.labels + one.suffix))
        counted = count_of(self.words, "word") + (f": {', '.join(parts)}" if self.words else "")
        clear = f"{count_of(self.characters_in_clear, 'character')} in the clear"
        symbols = f"; {count_of(self.symbols, 'symbol')} passed" if self.symbols else ""
        if self.texts_unchanged:
            symbols += f"; {count_of(self.texts_unchanged, 'text')} unchanged"
        mapping = f"mapping {self.mapping} ({self.fingerprint[:12]})"
        if not self.replaced:
            return f"{counted}; {clear}{symbols}\nno eps was spent; {mapping}"
        most = "at most " if len(self.budgets) > 1 else ""
        if generalized:
            spent = "eps 0: each replaced word became the representative of its group"
        else:
            spent = f"eps {most}{self.eps:g} per replaced word, at most {self.largest_row_eps:g} per row"
        union = ""
        if self.union_log_ratio > self.worst_log_ratio:
            most = f"{self.union_log_ratio:.4g}" if math.isfinite(self.union_log_ratio) else "no bound"
            union = f" ({most} between words with different eps or plus)"
        return (
            f"{counted}; {clear}{symbols}\n"
            f"{spent}; certified log-ratio {self.worst_log_ratio:.4g}{union}; {mapping}\n"
            f"each replaced word hides among at least {count_of(self.hides_among, 'word')} of its group"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything that may be stored, ready for JSON: without `replaced_unchanged` and `texts_unchanged`.

        An infinite `union_log_ratio` is None, since JSON has no infinity.
        """
        found = {name: value for name, value in spread_counts(asdict(self)).items() if name not in _UNSAVED}
        return found | {"union_log_ratio": self.union_log_ratio if math.isfinite(self.union_log_ratio) else None}


@dataclass(frozen=True)
class Guarantee:
    """What was verified about the tables that a run draws from, for the words of a group that are replaced.

    budgets: every eps in use, in ascending order. worst_log_ratio: the largest of all groups, for each table alone.
    union_log_ratio: the same over all tables together, for two words of a group that may be drawn at different eps. It
    is infinite if one of them is 0 and another is not: any other word than the representative was then drawn.
    hides_among: the fewest words of a group that can be replaced, among groups that have any.
    """

    mapping: str
    fingerprint: str
    budgets: tuple[float, ...]
    worst_log_ratio: float
    union_log_ratio: float
    hides_among: int


class Guarantees:
    """A vocabulary, and a cache of what was verified for it under one calibration. Threads may share it."""

    def __init__(self, mapping: Mapping, vocabulary: Vocabulary, sampler: Sampler) -> None:
        self.vocabulary = vocabulary
        self._mapping, self._sampler = mapping, sampler
        self._found: dict[_Case, Guarantee] = {}

    def find(
        self, budgets: Collection[float], plus: Collection[bool], listed: frozenset[str] | None = None
    ) -> Guarantee:
        """Return the guarantee for words that are drawn at these eps, at each alone and at all together.

        plus: whether stopwords are kept; both values if rows differ, and then the guarantee holds in either case.
        listed: the only words that are replaced, if a list says so; a word then hides among the listed words of its
        group.
        """
        case = tuple(sorted(check_epsilon(epsilon) for epsilon in budgets)), frozenset(plus), listed
        found = self._found.get(case)
        if found is None:
            if len(self._found) >= _REMEMBERED:
                self._found.clear()
            found = self._found[case] = self._verify(*case)
        return found

    def _verify(self, budgets: tuple[float, ...], plus: frozenset[bool], listed: frozenset[str] | None) -> Guarantee:
        vocabulary, sampler = self.vocabulary, self._sampler
        drawn = vocabulary.drawn(plus=False not in plus)
        tables = [epsilon for epsilon in budgets if epsilon]
        worst = max((sampler.worst_log_ratio([epsilon], drawn) for epsilon in tables), default=0.0)
        if len(tables) < len(budgets):
            union = self._compare_representatives(plus) if not tables else math.inf
        else:
            union = worst if len(budgets) == 1 else max(worst, sampler.worst_log_ratio(budgets, drawn))
        return Guarantee(
            mapping=self._mapping.info.name,
            fingerprint=self._mapping.info.fingerprint,
            budgets=budgets,
            worst_log_ratio=worst,
            union_log_ratio=union,
            hides_among=min(vocabulary.hides_among(keep, listed) for keep in plus),
        )

    def _compare_representatives(self, plus: frozenset[bool]) -> float:
        """Return the log-ratio at eps = 0 of two words of a group: infinite if kept stopwords change its output."""
        if len(plus) == 1:
            return 0.0
        kept, all_drawn = (self.vocabulary.representatives(keep) for keep in (True, False))
        drawn = self.vocabulary.drawn(plus=True)
        differ = kept != all_drawn
        return math.inf if (differ if drawn is None else differ[drawn]).any() else 0.0
