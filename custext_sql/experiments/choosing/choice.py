"""What `choose` returns: the mappings that it considered, whether larger groups help, and what it suggests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from custext_sql.experiments.attacks.bayes_attack import BayesResult
from custext_sql.experiments.attacks.context_attack import ContextResult
from custext_sql.experiments.verdict.figures import Verdict
from custext_sql.mapping.recipe import Recipe

WORTHWHILE = 0.03  # the least fall of the share that is guessed at eps = 0, for each doubling of K


@dataclass(frozen=True)
class Candidate:
    """A mapping, and an eps at which the attack stays within the bound.

    mapping, k, embedding: the name of the mapping, its group size K, and the name of the embedding it was built from.
    stored: whether the database has the mapping. If not, it was made in memory, and `mapping` is the name that
        `build_mapping` would give it.
    recipe: how the mapping is made, by the settings of `build_mapping`. words, fingerprint: how many words it has, and
        the SHA-256 of its tables.
    success_at_0: the success of the attack at eps = 0, where an output shows the group of the word and nothing else.
    distance_at_0: the distance at eps = 0, like `distance`.
    max_eps: the largest eps that was considered.
    eps: 0, or the largest eps within the bound, rounded down to two digits: the one with the smaller distance, or, if
        they are about equal, with the smaller success; None if neither is within the bound.
    success: the success of the attack at that eps; None if eps is None.
    distance: the mean distance of a word from its replacement at that eps, where 1 is the typical (root mean square)
        distance of two random words; None if eps is None or the vectors are no longer stored.
    drawn: the share of all words, 0 to 1, that are replaced. The bound applies to these words only.
    refused: whether `custext sanitize` would refuse it, because the ledger knows your texts under another mapping only.
    curve: the attack at several eps, in ascending order; for the context attack, only at 0 if that exceeds the bound
        and no larger eps can lower it, because no group has words that are kept and words that are replaced.
    """

    mapping: str
    k: int
    embedding: str
    stored: bool
    recipe: Recipe
    words: int
    fingerprint: str
    success_at_0: float
    distance_at_0: float | None
    max_eps: float
    eps: float | None
    success: float | None
    distance: float | None
    drawn: float
    curve: tuple[BayesResult | ContextResult, ...]
    refused: bool = False

    @property
    def least(self) -> float:
        """The smallest success of the attack at the eps of the curve."""
        return min(result.success for result in self.curve)


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


@dataclass(frozen=True)
class Choice:
    """The mappings that `choose` considered, and the one that it suggests.

    attack: "bayes" or "context". bound: its largest acceptable success: `max_attack`, or the default.
    prior, prior_words: the name of the word frequencies, and the number of words that they were counted from.
    public, left_out, skipped: for the context attack, the name of the public texts, and how many of them were left out
        because they are also in the data, or skipped because they are empty; None for others.
    texts, attacked: for the context attack, the number of your texts, and of those that were attacked; None for others.
    plus: whether stopwords are kept. policy: its name. calibration: how eps sets the temperature, "paper" or "tight".
    candidates: one per mapping.
    chosen: the suggested candidate; None if no mapping meets the bound at any eps. If your texts were released before,
        it has the same mapping, if possible; otherwise its `refused` is true.
    released_under: the mapping of earlier releases of your texts, if any candidate has another one.
    growth: whether larger groups still help; None if the mappings differ in more than K.
    verdict: what the suggestion means for your texts, in plain words; None without a suggestion.
    """

    attack: str
    bound: float
    prior: str
    prior_words: int
    public: str | None
    left_out: int | None
    skipped: int | None
    texts: int | None
    attacked: int | None
    plus: bool
    policy: str
    calibration: str
    candidates: tuple[Candidate, ...]
    chosen: Candidate | None
    growth: Growth | None
    verdict: Verdict | None
    released_under: str | None = None


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
    small, large = steps[min(last, len(steps) - 1)]
    return Growth(
        enough=small.k if last < len(steps) else None,
        worthwhile=WORTHWHILE,
        k=small.k,
        larger=large.k,
        success=small.success_at_0,
        larger_success=large.success_at_0,
        distance=small.distance_at_0,
        larger_distance=large.distance_at_0,
    )
