"""How many draws identify shares of the vocabulary: the query attack on a sample of words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from custext_sql.experiments.attacks.query_attack import QueryResult, find_quantile, measure_queries
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.progress import ShareDone

QUANTILES = (0.05, 0.5, 0.95)
_SIMULATIONS = 400  # per number: precise to about 7%, less than what differs from sample to sample


@dataclass(frozen=True)
class Quantile:
    """How many draws suffice to identify a share of the vocabulary with probability 0.95, at one eps.

    share: 0 to 1. n_mode: for an attacker who guesses the most frequent output. n_ml: for one who guesses the input of
    maximum likelihood. None: no number is enough.
    n_mode_error, n_ml_error: their standard errors, mostly due to the words that happen to be in the sample.
    """

    share: float
    eps: float
    n_mode: int | None
    n_mode_error: float | None
    n_ml: int | None
    n_ml_error: float | None


def measure_sample(
    under_test: MappingUnderTest, count: int, epsilons: Sequence[float], *, progress: ShareDone | None = None
) -> list[Quantile]:
    """Return how many draws suffice for shares of some random words of the vocabulary, at each eps."""
    words = under_test.mapping.words
    places = np.random.default_rng(0).choice(len(words), count, replace=False)
    found = measure_queries(
        under_test.mapping,
        [words[place] for place in places],
        epsilons,
        calibration=under_test.calibration,
        simulations=_SIMULATIONS,
        progress=progress,
    )
    return [
        Quantile(share, epsilon, *_find_draws(some, "n_mode", share), *_find_draws(some, "n_ml", share))
        for share in QUANTILES
        for epsilon in epsilons
        for some in [[result for result in found if result.eps == epsilon]]
    ]


def _find_draws(results: Sequence[QueryResult], name: str, share: float) -> tuple[int | None, float | None]:
    """Return a quantile of the draws that words need, and its standard error."""
    counts = [getattr(result, name) for result in results]
    wanted = find_quantile(counts, share)
    own = next(getattr(result, f"{name}_error") for result in results if getattr(result, name) == wanted)
    wide = math.sqrt(share * (1.0 - share) / len(counts))  # standard error of a share of the sample
    low, high = (find_quantile(counts, min(max(share + step, 0.0), 1.0)) for step in (-wide, wide))
    if own is None or low is None or high is None:
        return wanted, None
    return wanted, math.hypot(own, (high - low) / 2.0)
