"""When larger groups stop helping."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from custext_sql.experiments.choosing.candidate import Candidate

WORTHWHILE = 0.03  # the least fall of the share that is guessed at eps = 0, for each doubling of K


@dataclass(frozen=True)
class Growth:
    """What larger groups do to the share of words that are guessed at eps = 0.

    enough: the K beyond which doubling K lowers it by less than `worthwhile`; None if the largest groups still help.
    worthwhile: 0.03. k, larger: the step of K that decides: the first after which none is worthwhile, or the last one.
    success, larger_success: the shares that are guessed at these K. distance, larger_distance: how far replacements are
        from the words, as in `Candidate`; None if the vectors are no longer stored.
    """

    enough: int | None
    worthwhile: float
    k: int
    larger: int
    success: float
    larger_success: float
    distance: float | None
    larger_distance: float | None

    def describe(self) -> str:
        """Return a sentence about it, with its figures."""
        farther = ""
        if self.distance is not None and self.larger_distance is not None:
            farther = f", and the distance of replacements grows from {self.distance:.3f} to {self.larger_distance:.3f}"
        fall = f"from {self.success:.3f} to {self.larger_success:.3f} with K = {self.larger}"
        limit = f"{self.worthwhile:g} per doubling"
        if self.enough is None:
            return f"Larger groups still help: the share guessed at eps = 0 falls {fall}, at least {limit}{farther}."
        return (
            f"Larger groups than K = {self.enough} help little: the share guessed at eps = 0 falls {fall}, less than "
            f"{limit}{farther}."
        )


def measure_growth(candidates: Sequence[Candidate]) -> Growth | None:
    """Return what larger groups do. None if the candidates are not mappings of several K that are alike otherwise."""
    ordered = sorted(candidates, key=lambda candidate: candidate.k)
    kinds = {(replace(one.recipe, k=2), one.words) for one in ordered}
    if len({one.k for one in ordered}) < max(2, len(ordered)) or len(kinds) > 1:
        return None
    steps = [*pairwise(ordered)]
    falls = [(small.success_at_0 - large.success_at_0) / math.log2(large.k / small.k) for small, large in steps]
    helpful = [place for place, fall in enumerate(falls) if fall >= WORTHWHILE]
    last = helpful[-1] + 1 if helpful else 0  # from here on, no step is worthwhile
    if last == len(steps):
        return _compare(None, *steps[-1])
    return _compare(steps[last][0].k, *steps[last])


def _compare(enough: int | None, small: Candidate, large: Candidate) -> Growth:
    distances = small.distance_at_0, large.distance_at_0
    return Growth(enough, WORTHWHILE, small.k, large.k, small.success_at_0, large.success_at_0, *distances)
