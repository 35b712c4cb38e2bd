"""Trials of an experiment: a mechanism on the words of a mapping, at an eps, with a seed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from custext_sql.errors import SettingError
from custext_sql.experiments.mechanisms import (
    CUSTEXT,
    CUSTEXT_PLUS,
    DISTANCE_BASED,
    NEED_NO_EPSILON,
    ORIGINAL,
    MappingUnderTest,
    check_mechanism,
)
from custext_sql.mechanism.weights import check_epsilon
from custext_sql.parameters import check_at_least

Rows = Sequence[tuple[str, ...]]  # one or two texts per row


@dataclass(frozen=True)
class Trial:
    """One run of a mechanism on the words of a mapping, at an eps (None if it needs none), with a seed."""

    under_test: MappingUnderTest
    mechanism: str
    epsilon: float | None
    seed: int

    @property
    def uses_groups(self) -> bool:
        """Whether the mechanism draws within the groups of the mapping."""
        return self.mechanism in (CUSTEXT, CUSTEXT_PLUS)

    def sanitize(self, parts: Sequence[Rows]) -> list[Rows]:
        """Return the sanitized parts of the data, all in one run: some mechanisms do much work per distinct word."""
        opened = self.under_test.open(self.mechanism)
        flat = [text for part in parts for row in part for text in row]
        new = iter(opened.sanitize(flat, 1.0 if self.epsilon is None else self.epsilon, self.seed))
        return [[tuple(next(new) for _ in row) for row in part] for part in parts]

    @property
    def embedding(self) -> str | None:
        """The name of the embedding; None for "original"."""
        return None if self.mechanism == ORIGINAL else self.under_test.mapping.info.embedding

    @property
    def mapping(self) -> str | None:
        """The name of the mapping; None if the mechanism does not use groups."""
        return self.under_test.mapping.info.name if self.uses_groups else None

    @property
    def k(self) -> int | None:
        """The group size K; None if the mechanism does not use groups."""
        return self.under_test.mapping.info.k if self.uses_groups else None


def list_trials(
    mappings: Sequence[MappingUnderTest], mechanisms: Sequence[str], epsilons: Sequence[float], seeds: int
) -> list[Trial]:
    """Return all trials of a table. A trial that is the same for several eps or mappings is listed once."""
    if not mechanisms:
        raise SettingError("name at least one mechanism, such as custext")
    check_at_least(seeds, 1, "seeds")
    return [
        Trial(under_test, mechanism, epsilon, seed)
        for mechanism in map(check_mechanism, mechanisms)
        for grid in [_list_grid(mechanism, epsilons)]
        for under_test in _list_distinct(mappings, mechanism)
        for epsilon in grid
        for seed in range(1 if mechanism == ORIGINAL else seeds)
    ]


def _list_distinct(mappings: Sequence[MappingUnderTest], mechanism: str) -> Sequence[MappingUnderTest]:
    """Return mappings on which a mechanism differs: all if it uses groups, else one per embedding and set of words."""
    if mechanism == ORIGINAL:
        return mappings[:1]
    if mechanism in (CUSTEXT, CUSTEXT_PLUS):
        return mappings
    found: dict[tuple[str, frozenset[str]], MappingUnderTest] = {}
    for under_test in mappings:
        if mechanism in DISTANCE_BASED:
            _ = under_test.space  # an error about the vectors comes before hours of work
        found.setdefault((under_test.mapping.info.embedding, frozenset(under_test.mapping.words)), under_test)
    return list(found.values())


def _list_grid(mechanism: str, epsilons: Sequence[float]) -> list[float] | list[None]:
    """Return the eps of a mechanism. Only CusText's mechanisms have an eps of 0; SettingError if there is no other."""
    if mechanism in NEED_NO_EPSILON:
        return [None]
    checked = list(map(check_epsilon, epsilons))
    found = [epsilon for epsilon in checked if epsilon or mechanism in (CUSTEXT, CUSTEXT_PLUS)]
    if checked and not found:
        raise SettingError(f"eps = 0 is for {CUSTEXT} and {CUSTEXT_PLUS} only; give {mechanism} another eps, such as 1")
    return found


def list_epsilons(eps: float | Sequence[float]) -> list[float]:
    """Return one eps or several as a list without duplicates. SettingError if it is empty, or an eps is invalid."""
    is_one = isinstance(eps, (int, float, str, bytes)) or not isinstance(eps, Iterable)
    given: Any = [eps] if is_one else eps
    found = list(dict.fromkeys(map(check_epsilon, given)))
    if not found:
        raise SettingError("name at least one eps, such as 1.0")
    return found


def list_strings(strings: str | Sequence[str], parameter: str) -> list[str]:
    """Return one string or several as a list; SettingError, which names the parameter, if there is anything else."""
    found = list(strings) if isinstance(strings, Iterable) and not isinstance(strings, str) else [strings]
    for one in found:
        if not isinstance(one, str):
            raise SettingError(f"{parameter} must be a string or a sequence of strings; found {type(one).__name__}")
    return found


def list_once(names: str | Sequence[str], parameter: str) -> list[str]:
    """Return the same without duplicates."""
    return list(dict.fromkeys(list_strings(names, parameter)))
