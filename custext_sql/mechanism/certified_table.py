"""Verified weights: nothing else may be sampled from."""

from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Floats, Sizes, Units, Weights
from custext_sql.errors import CertificateError
from custext_sql.mechanism.verifier import verify_weights
from custext_sql.mechanism.weights import build_weights, check_epsilon, choose_temperatures

_FIRST_STEP = 2.0**-44  # the first relative cut to the temperature of a group that fails; it doubles each time


@dataclass(frozen=True, eq=False)
class CertifiedTable:
    """Weights that were verified in this process, in the layout of the scores.

    log_ratios: the worst log-ratio of each group. shrunk: how many groups were rebuilt at a lower temperature.
    """

    epsilons: Floats
    calibration: str
    sizes: Sizes
    weights: Weights
    temperatures: Floats
    log_ratios: Floats
    shrunk: int

    def last_draws(self) -> Weights:
        """Return for each output the last 64-bit draw that selects it; the outputs of a row divide the draws in order.

        These are cumulative weights minus 1, modulo 2**64. Since a row sums to 2**64, each row starts again at 0.
        """
        return np.cumsum(self.weights, dtype=np.uint64) - np.uint64(1)


def certify(sizes: Sizes, scores: Units, epsilon: float | Floats, calibration: str = "paper") -> CertifiedTable:
    """Build the weights of these groups, at one epsilon or at one per group, verify them, and return them.

    If rounding makes a group miss the bound, it is rebuilt at a lower temperature, in doubling steps down to 0
    (uniform). Only verified weights are returned, so the result is sound whatever was built. Raise CertificateError if
    no weights of a group pass, SettingError if an epsilon or the calibration is invalid.
    """
    for value in np.unique(epsilon).tolist():
        check_epsilon(value)
    epsilons = np.array(np.broadcast_to(np.asarray(epsilon, dtype=np.float64), sizes.shape))
    if not epsilons.all():
        raise ValueError("eps = 0 has no table, since nothing is drawn: see find_representatives")
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
    at_most = np.minimum(log_ratios, epsilons)  # proven in integers; a rounded logarithm may be a digit above
    return CertifiedTable(epsilons, calibration, sizes, weights, temperatures, at_most, shrunk)


def cells_of(sizes: Sizes, groups: Sizes) -> Sizes | slice:
    """Return the indices of the scores and weights of these groups; a slice, if they are all groups."""
    if len(groups) == len(sizes) and (np.diff(groups) == 1).all():
        return slice(None)
    starts, lengths = np.cumsum(sizes**2) - sizes**2, sizes[groups] ** 2
    places = np.repeat(starts[groups] - (np.cumsum(lengths) - lengths), lengths)
    return places + np.arange(len(places))
