"""The best eps of a mapping within a bound, and the best of several mappings."""

import math
import numbers
from collections.abc import Sequence

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bayes_attack import BayesResult
from custext_sql.experiments.attacks.context_attack import ContextResult
from custext_sql.experiments.choosing.attack_curve import MappingAttack
from custext_sql.experiments.choosing.candidate import Candidate
from custext_sql.experiments.progress import ShareDone, part_of
from custext_sql.experiments.replacement_distance import measure_distance
from custext_sql.mechanism.weights import LARGEST_EPSILON, SMALLEST_EPSILON

_FEWER = 0.01  # the share of words that a chosen mapping may replace less than another
_AS_CLOSE = 0.02  # distances that differ by less count as equal, and the smaller success decides
_BOUND = "--max-attack (in Python: max_attack)"


def check_bound(bound: float) -> float:
    """Return the bound on an attack; SettingError if it is not a number above 0 and below 1."""
    if isinstance(bound, bool) or not isinstance(bound, numbers.Real):
        raise SettingError(f"{_BOUND} must be a number between 0 and 1; found {type(bound).__name__}")
    if not 0.0 < bound < 1.0:
        raise SettingError(f"{_BOUND} must be above 0 and below 1; found {float(bound):g}")
    return bound


def pick_candidate(candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the best candidate; None if none is within the bound.

    A mapping that replaces fewer words than another is not chosen. Among the others, the replacements closest to the
    original words win; if some are about as close, the smallest success of the attack. If the distances are unknown,
    the largest eps wins.
    """
    most = max((candidate.drawn for candidate in candidates), default=0.0)
    fitting = [one for one in candidates if one.eps is not None and one.drawn >= most - _FEWER]
    known = [one.distance for one in fitting if one.distance is not None]
    if not known:
        return max(fitting, key=lambda one: one.eps or 0.0, default=None)
    close = [one for one in fitting if one.distance is not None and one.distance <= min(known) + _AS_CLOSE]
    return min(close, key=lambda one: (one.success or 0.0, one.eps or 0.0, one.k))


def find_candidate(
    attack: MappingAttack,
    bound: float,
    *,
    max_eps: float = LARGEST_EPSILON,
    stored: bool = True,
    progress: ShareDone | None = None,
) -> Candidate:
    """Return a mapping with 0 or the largest eps within the bound, found by bisection between the eps of the curve.

    max_eps: the largest eps to consider. stored: whether the database has the mapping.
    """
    tell = part_of(progress, 0, 1)
    curve = attack.measure_curve(check_bound(bound), part_of(progress, 0, 2))
    largest = _find_largest(attack, curve, bound, max_eps, part_of(progress, 1, 2))
    info = attack.under_test.mapping.info
    distances = {
        result.eps: measure_distance(attack.under_test, attack.prior, result.eps, plus=attack.plus)
        for result in (curve[0], *largest)
    }
    options = [
        Candidate(
            mapping=info.name,
            k=info.k,
            embedding=info.embedding,
            stored=stored,
            recipe=info.recipe,
            words=info.words,
            fingerprint=info.fingerprint,
            success_at_0=curve[0].success,
            distance_at_0=distances[0.0],
            max_eps=max_eps,
            eps=None if result is None else result.eps,
            success=None if result is None else result.success,
            distance=None if result is None else distances[result.eps],
            drawn=attack.prior.drawn,
            curve=tuple(curve),
        )
        for result in (curve[0], *largest, None)
        if result is None or result.success <= bound
    ]
    tell(1.0)
    return pick_candidate(options) or options[-1]


def _find_largest(
    attack: MappingAttack,
    curve: Sequence[BayesResult | ContextResult],
    bound: float,
    max_eps: float,
    progress: ShareDone,
) -> Sequence[BayesResult | ContextResult]:
    """Return the attack at about the largest eps within the bound; nothing if there is no eps above 0 within it."""
    if all(one.success > bound for one in curve) or max_eps < SMALLEST_EPSILON:
        return []
    low = max_eps
    if attack.find_success(max_eps) > bound:
        within = [one.eps for one in curve[1:] if one.success <= bound and one.eps < max_eps]
        low = max(within, default=SMALLEST_EPSILON)
        high = min((one.eps for one in curve if one.success > bound and low < one.eps < max_eps), default=max_eps)
        if low == SMALLEST_EPSILON and attack.find_success(low) > bound:
            return []
        for step in range(attack.steps):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if attack.find_success(middle) > bound else (middle, high)
            progress((step + 1) / (attack.steps + 1))
    return attack.measure([max(SMALLEST_EPSILON, round_down(low))])


def round_down(epsilon: float) -> float:
    """Return an eps rounded down to two digits."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return float(f"{math.floor(epsilon / unit * (1.0 + 1e-12)) * unit:.6g}")
