"""The best eps of a mapping at which an attack stays within a bound, and the best of several mappings."""

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bayes_attack import BayesResult, Prior, measure_bayes, measure_guess
from custext_sql.experiments.attacks.context_attack import ContextAttacker, ContextResult, measure_context
from custext_sql.experiments.choosing.choice import Candidate
from custext_sql.experiments.mechanisms import MappingUnderTest, ShareDone, part_of
from custext_sql.experiments.verdict.thresholds import GUESSED
from custext_sql.mechanism.weights import LARGEST_EPSILON, SMALLEST_EPSILON, check_epsilon, matrices_by_size

CURVE = (0.0, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0)
_CONTEXT_CURVE = (0.0, 1.0, 3.0, 5.0, 8.0)  # fewer, since each takes seconds
_FEWER = 0.01  # the share of words that a chosen mapping may replace less than another
_AS_CLOSE = 0.02  # distances that differ by less count as equal, and the smaller success decides
_BOUND = "--max-attack (in Python: max_attack)"

_Result = BayesResult | ContextResult


@dataclass(frozen=True)
class MappingAttack:
    """An attack on a mapping: the context attack, or the best single guess if there is no attacker.

    prior: how frequent words are; without stopwords if `plus` is true, because they are kept then.
    """

    under_test: MappingUnderTest
    prior: Prior
    attacker: ContextAttacker | None = None
    plus: bool = False

    @property
    def steps(self) -> int:
        """How many bisection steps to make: the curve and 8 more are precise to half a percent, 4 to the error."""
        return 8 if self.attacker is None else 4

    def measure_curve(self, bound: float, progress: ShareDone) -> list[_Result]:
        """Return the attack at several eps, in ascending order.

        For the context attack, only at 0 if that is too much and no larger eps can be safer. One can be if a group has
        kept words too: a drawn word may then look like a kept one, while a representative is never one of them.
        """
        if self.attacker is None:
            return self.measure(CURVE, progress)
        least, *others = _CONTEXT_CURVE
        found = self.measure([least], part_of(progress, 0, 2))
        if found[0].success > bound and not self.under_test.mixes_kept(plus=self.plus):
            return found
        return [*found, *self.measure(others, part_of(progress, 1, 2))]

    def measure(self, epsilons: Sequence[float], progress: ShareDone | None = None) -> list[_Result]:
        """Return the results at some eps."""
        if self.attacker is None:
            return [*measure_bayes(self.under_test, [self.prior], epsilons, plus=self.plus, progress=progress)]
        return [*measure_context(self.attacker, self.under_test, epsilons, plus=self.plus, progress=progress)]

    def find_success(self, epsilon: float) -> float:
        """Return the success at an eps above 0."""
        if self.attacker is not None:
            return self.measure([epsilon])[0].success
        return measure_guess(self.under_test, self.prior.chances, epsilon)


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
    none = Candidate(
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
        eps=None,
        success=None,
        distance=None,
        drawn=attack.prior.drawn,
        curve=tuple(curve),
    )
    within = [one for one in (curve[0], *largest) if one.success <= bound]
    tell(1.0)
    options = [replace(none, eps=one.eps, success=one.success, distance=distances[one.eps]) for one in within]
    return pick_candidate(options) or none


def _find_largest(
    attack: MappingAttack, curve: Sequence[_Result], bound: float, max_eps: float, progress: ShareDone
) -> Sequence[_Result]:
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


def find_eps_limit(hides_among: int) -> float:
    """Return the largest eps, to two digits, at which the promise for a word is not red in a verdict; 0 if none is.

    If all words of a group of n were equally likely before, an output can make one of them 1 / (1 + (n - 1) exp(-eps))
    likely. That must not exceed the share of words from which on a verdict is red.
    """
    most = (hides_among - 1) * GUESSED.amber / (1.0 - GUESSED.amber)
    return min(round_down(math.log(most)), LARGEST_EPSILON) if most > 1.01 else 0.0


def check_max_eps(epsilon: float) -> float:
    """Return the largest eps to consider; SettingError if it is not a valid eps."""
    try:
        return check_epsilon(epsilon)
    except SettingError as error:
        raise SettingError(f"--max-eps (in Python: max_eps): {error}") from None


def measure_distance(under_test: MappingUnderTest, prior: Prior, epsilon: float, *, plus: bool) -> float | None:
    """Return the mean distance of a word from its replacement; None if the vectors are no longer stored.

    The unit is the root mean square distance of two random words, so that the lengths of vectors do not matter. prior:
    how frequent words are. plus: whether stopwords are kept.
    """
    space = under_test.find_space()
    if space is None:
        return None
    mapping, points = under_test.mapping, space.centered
    usual = math.sqrt(4.0 * float(space.half_squares.mean(dtype=np.float64))) or 1.0
    if epsilon == 0.0:
        words = prior.chances.nonzero()[0]
        apart = points[words] - points[under_test.vocabulary.representatives(plus)[words]]
        return float(prior.chances[words] @ np.sqrt(np.einsum("ij,ij->i", apart, apart, dtype=np.float64))) / usual
    weights = under_test.certify(epsilon).weights
    total = 0.0
    for groups, matrices in matrices_by_size(mapping.sizes, weights):
        words = mapping.word_starts[groups][:, None] + np.arange(matrices.shape[1])
        members = points[words].astype(np.float64)
        squares = (members**2).sum(axis=2)
        products = np.einsum("gid,gjd->gij", members, members)
        distances = np.sqrt(np.maximum(squares[:, :, None] + squares[:, None, :] - 2.0 * products, 0.0))
        expected = (distances * (matrices / 2.0**64)).sum(axis=2)
        total += float((expected * prior.chances[words]).sum())
    return total / usual
