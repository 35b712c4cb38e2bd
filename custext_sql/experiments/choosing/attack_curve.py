"""An attack on a mapping over several eps."""

from collections.abc import Sequence
from dataclasses import dataclass

from custext_sql.experiments.attacks.bayes_attack import BayesResult, measure_bayes, measure_guess
from custext_sql.experiments.attacks.context_attack import ContextResult, measure_context
from custext_sql.experiments.attacks.context_attacker import ContextAttacker
from custext_sql.experiments.attacks.priors import Prior
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.progress import ShareDone, part_of

CURVE = (0.0, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0)
_CONTEXT_CURVE = (0.0, 1.0, 3.0, 5.0, 8.0)  # fewer, since each takes seconds
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
