"""What was verified about the tables that a run draws from."""

import math
from collections.abc import Collection
from dataclasses import dataclass

from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.sampler import Sampler
from custext_sql.mechanism.weights import check_epsilon
from custext_sql.replacing.vocabulary import Vocabulary

_REMEMBERED = 100

_Case = tuple[tuple[float, ...], frozenset[bool], frozenset[str] | None]


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
    """A cache of the guarantees of one mapping under one calibration. Threads may share it."""

    def __init__(self, mapping: Mapping, vocabulary: Vocabulary, sampler: Sampler) -> None:
        self._mapping, self._vocabulary, self._sampler = mapping, vocabulary, sampler
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
            found = self._verify(*case)
            if len(self._found) >= _REMEMBERED:  # other threads may be looking: they hold what they found
                self._found.clear()
            self._found[case] = found
        return found

    def _verify(self, budgets: tuple[float, ...], plus: frozenset[bool], listed: frozenset[str] | None) -> Guarantee:
        vocabulary, sampler = self._vocabulary, self._sampler
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
            hides_among=min(
                vocabulary.hides_among(keep) if listed is None else vocabulary.hides_among_listed(keep, listed)
                for keep in plus
            ),
        )

    def _compare_representatives(self, plus: frozenset[bool]) -> float:
        """Return the log-ratio at eps = 0 of two words of a group: infinite if kept stopwords change its output."""
        if len(plus) == 1:
            return 0.0
        kept, all_drawn = (self._vocabulary.representatives(keep) for keep in (True, False))
        drawn = self._vocabulary.drawn(plus=True)
        differ = kept != all_drawn
        return math.inf if (differ if drawn is None else differ[drawn]).any() else 0.0
