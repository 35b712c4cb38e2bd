"""What was verified in this process: tables of weights, and the constant outputs of eps = 0. Nothing else is used."""

from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Flags, Floats, Places, Scores, Sizes, Weights
from custext_sql.errors import CertificateError
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.verifier import verify_constant, verify_weights
from custext_sql.mechanism.weights import build_weights, cells_of, check_epsilon, choose_temperatures

_FIRST_CUT = 2.0**-44  # the first relative cut to the temperature of a group that fails; it doubles each time


@dataclass(frozen=True, eq=False)
class CertifiedTable:
    """Weights that were verified in this process, in the layout of the scores.

    log_ratios: the worst log-ratio of each group. shrunk: how many groups were rebuilt at a lower temperature.
    """

    weights: Weights
    temperatures: Floats
    log_ratios: Floats
    shrunk: int

    def last_draws(self) -> Weights:
        """Return for each output the last 64-bit draw that selects it; the outputs of a row divide the draws in order.

        These are cumulative weights minus 1, modulo 2**64. Since a row sums to 2**64, each row starts again at 0: the
        rows (1/4, 3/4) and (1/2, 1/2) give 2**62 - 1, 2**64 - 1, 2**63 - 1, 2**64 - 1.
        """
        return np.cumsum(self.weights, dtype=np.uint64) - np.uint64(1)


def certify(sizes: Sizes, scores: Scores, epsilon: float | Floats, calibration: str = "paper") -> CertifiedTable:
    """Return verified weights of these groups, at one epsilon or at one per group; CertificateError if there are none.

    If rounding makes a group miss the bound, it is rebuilt at a lower temperature, in doubling cuts down to 0
    (uniform). Only verified weights are returned, so the result is sound whatever was built.
    """
    for value in np.unique(epsilon).tolist():
        check_epsilon(value)
    epsilons = np.array(np.broadcast_to(np.asarray(epsilon, dtype=np.float64), sizes.shape))
    if not epsilons.all():
        raise ValueError("eps = 0 has no table, since nothing is drawn: see find_representatives")
    temperatures = choose_temperatures(sizes, scores, epsilons, calibration)
    weights = build_weights(sizes, scores, temperatures)
    verdict = verify_weights(sizes, [weights], epsilons)
    log_ratios = verdict.log_ratios
    failed, cut = np.flatnonzero(~verdict.holds), _FIRST_CUT
    shrunk = len(failed)
    while len(failed):
        if cut > 1.0:
            raise CertificateError(int(failed[0]), float(epsilons[failed[0]]))
        cells = cells_of(sizes, failed)
        rebuilt = build_weights(sizes[failed], scores[cells], temperatures[failed] * (1.0 - cut))
        verdict = verify_weights(sizes[failed], [rebuilt], epsilons[failed])
        weights[cells], log_ratios[failed] = rebuilt, verdict.log_ratios
        temperatures[failed[verdict.holds]] *= 1.0 - cut
        failed, cut = failed[~verdict.holds], 2.0 * cut
    at_most = np.minimum(log_ratios, epsilons)  # proven in integers; a rounded logarithm may be a digit above
    return CertifiedTable(weights, temperatures, at_most, shrunk)


def find_representatives(mapping: Mapping, drawn: Flags | None = None) -> Places:
    """Return for each word of a mapping the representative of its group, by number: what replaces it at eps = 0.

    It is the most frequent word of the group (first in the vector file) that is drawn, or of all if none is. No random
    number is used: the output is a function of the group alone, so it reveals nothing else. drawn: which words are
    drawn at all; None if all are. Raise CertificateError if words of a group have different representatives.
    """
    inputs = np.ones(len(mapping.words), dtype=bool) if drawn is None else drawn
    first = np.lexsort((mapping.ranks, ~inputs, mapping.group_of))[mapping.word_starts]
    representatives = first[mapping.group_of]
    verdict = verify_constant(mapping.sizes, representatives, inputs)
    if not verdict.holds.all():
        raise CertificateError(int(np.argmin(verdict.holds)), 0.0)
    return representatives
