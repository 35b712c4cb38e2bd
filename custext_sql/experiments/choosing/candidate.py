"""A mapping that `choose` considered."""

from dataclasses import dataclass

from custext_sql.experiments.attacks.bayes_attack import BayesResult
from custext_sql.experiments.attacks.context_attack import ContextResult
from custext_sql.mapping.recipe import Recipe


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
