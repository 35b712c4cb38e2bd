"""The cells of an experiment: which mechanism, on which words, at which eps, with which seed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from custext_sql.errors import SettingError
from custext_sql.experiments.measurements import Subject
from custext_sql.experiments.mechanisms import (
    CUSTEXT,
    CUSTEXT_PLUS,
    METRIC,
    ORIGINAL,
    RANDOM,
    WITHOUT_EPSILON,
    Arena,
    check_contender,
)
from custext_sql.mechanism.weights import check_epsilon
from custext_sql.store.key_files import digest_stopwords
from custext_sql.text.word_boundaries import RULES

Rows = Sequence[tuple[str, ...]]  # of one text each, or of two


@dataclass(frozen=True)
class Cell:
    """One training: which mechanism, on the words of which arena, at which eps, with which seed."""

    arena: Arena
    mechanism: str
    epsilon: float | None
    seed: int

    @property
    def uses_groups(self) -> bool:
        return self.mechanism in (CUSTEXT, CUSTEXT_PLUS)

    def sanitize(self, parts: Sequence[Rows]) -> list[Rows]:
        """All texts of some parts of the data, in one go: some mechanisms prepare much for each distinct word."""
        contender = self.arena.open(self.mechanism)
        flat = [text for part in parts for row in part for text in row]
        new = iter(contender.sanitize(flat, 1.0 if self.epsilon is None else self.epsilon, self.seed))
        return [[tuple(next(new) for _ in row) for row in part] for part in parts]

    def describe(self, kind: str, metric: str) -> Subject:
        """What is measured in it. Only CusText's mechanisms depend on groups, the others on vectors alone."""
        info = self.arena.mapping.info
        subject = Subject(kind, metric, mechanism=self.mechanism, eps=self.epsilon, seed=self.seed)
        if self.mechanism == ORIGINAL:
            return subject
        subject = replace(subject, embedding=info.embedding)
        if not self.uses_groups:
            digest = self.arena.words_digest if self.mechanism == RANDOM else self.arena.space_digest
            return replace(subject, fingerprint=digest)
        return replace(
            subject,
            mapping=info.name,
            fingerprint=info.fingerprint,
            k=info.k,
            calibration=self.arena.calibration,
        )

    @property
    def handling(self) -> dict[str, Any]:
        """How it treats words, as far as it is not said by `describe`."""
        if self.mechanism == ORIGINAL:
            return {}
        policy = self.arena.policy
        handling: dict[str, Any] = asdict(policy) | {"rules": RULES}
        if self.mechanism in METRIC:
            handling["converted"] = self.arena.converted
        if self.mechanism == CUSTEXT_PLUS:
            handling["stopwords"] = digest_stopwords(self.arena.stopwords)
        return handling


def list_cells(arenas: Sequence[Arena], mechanisms: Sequence[str], epsilons: Sequence[float], seeds: int) -> list[Cell]:
    """All cells of a table; those that would be the same for several eps or mappings only once."""
    if not mechanisms:
        raise SettingError("name at least one mechanism, such as custext")
    if seeds < 1:
        raise SettingError(f"seeds must be at least 1; found {seeds}")
    cells: dict[Subject, Cell] = {}
    for mechanism in map(check_contender, mechanisms):
        grid = [None] if mechanism in WITHOUT_EPSILON else list(map(check_epsilon, epsilons))
        for arena in arenas:
            for epsilon in grid:
                for seed in range(1 if mechanism == ORIGINAL else seeds):
                    cell = Cell(arena, mechanism, epsilon, seed)
                    cells.setdefault(cell.describe("", ""), cell)
    return list(cells.values())
