"""Weights that were verified in this process: the only thing that may be sampled from."""

from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Floats, Sizes, Units, Weights
from custext_sql.errors import CertificateError
from custext_sql.mechanism.verifier import verify_weights
from custext_sql.mechanism.weights import build_weights, check_epsilon, choose_temperatures

_FIRST_STEP = 2.0**-44  # by which the temperature of a group that fails shrinks first; it doubles each time


@dataclass(frozen=True, eq=False)
class CertifiedTable:
    """Verified weights of some groups, laid out as their scores are, and the worst log-ratio of each group.

    shrunk: how many groups had to be made anew at a lower temperature.
    """

    epsilons: Floats
    calibration: str
    sizes: Sizes
    weights: Weights
    temperatures: Floats
    log_ratios: Floats
    shrunk: int

    def last_draws(self) -> Weights:
        """The last of the 64-bit integers that fall to each output, if a row's outputs share them out in order.

        These are cumulative weights less 1, modulo 2**64: since a row sums to 2**64, each begins again at 0.
        """
        return np.cumsum(self.weights, dtype=np.uint64) - np.uint64(1)


def certify(sizes: Sizes, scores: Units, epsilon: float | Floats, calibration: str = "paper") -> CertifiedTable:
    """Make the weights of these groups, at one epsilon or at one for each group, and verify them.

    Where rounding made a group miss the bound, its temperature shrinks in doubling steps, down to 0 (uniform), and it
    is made anew. The result is sound whatever was made, since nothing unverified is returned.
    """
    for value in np.unique(epsilon).tolist():
        check_epsilon(value)
    epsilons = np.array(np.broadcast_to(np.asarray(epsilon, dtype=np.float64), sizes.shape))
    temperatures = choose_temperatures(sizes, scores, epsilons, calibration)
    weights = build_weights(sizes, scores, temperatures)
    verdict = verify_weights(sizes, weights, epsilons)
    log_ratios = verdict.log_ratios
    failed, step = np.flatnonzero(~verdict.holds), _FIRST_STEP
    shrunk = len(failed)
    while len(failed):
        if step > 1.0:
            raise CertificateError(int(failed[0]), float(epsilons[failed[0]]))
        cells = cells_of(sizes, failed)
        rebuilt = build_weights(sizes[failed], scores[cells], temperatures[failed] * (1.0 - step))
        verdict = verify_weights(sizes[failed], rebuilt, epsilons[failed])
        weights[cells], log_ratios[failed] = rebuilt, verdict.log_ratios
        temperatures[failed[verdict.holds]] *= 1.0 - step
        failed, step = failed[~verdict.holds], 2.0 * step
    at_most = np.minimum(log_ratios, epsilons)  # what integers proved is not denied by the last digit of a logarithm
    return CertifiedTable(epsilons, calibration, sizes, weights, temperatures, at_most, shrunk)


def cells_of(sizes: Sizes, groups: Sizes) -> Sizes:
    """Where the scores and weights of these groups lie."""
    starts, lengths = np.cumsum(sizes**2) - sizes**2, sizes[groups] ** 2
    places = np.repeat(starts[groups] - (np.cumsum(lengths) - lengths), lengths)
    return places + np.arange(len(places))
