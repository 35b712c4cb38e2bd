"""The verdict on what `choose` suggests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from custext_sql.experiments.attacks.bayes_attack import measure_bayes, measure_guess
from custext_sql.experiments.attacks.context_attack import ContextResult
from custext_sql.experiments.attacks.priors import Prior
from custext_sql.experiments.choosing.attack_curve import MappingAttack
from custext_sql.experiments.choosing.candidate import Candidate
from custext_sql.experiments.report.earlier_releases import Earlier
from custext_sql.experiments.report.let_through import count_let_through
from custext_sql.experiments.report.one_output import measure_one_output
from custext_sql.experiments.report.quantiles import measure_sample
from custext_sql.experiments.report.verdict_figures import collect_figures
from custext_sql.experiments.verdict.figures import Alternative, Verdict
from custext_sql.experiments.verdict.judging import judge
from custext_sql.release.inputs.texts import Texts

_SAMPLE = 50  # words whose draws are counted, as in a report


@dataclass(frozen=True)
class Judgment:
    """Everything that the verdict on a candidate depends on.

    attack: on its mapping. every: how frequent words are, with stopwords even if they are kept. others: all candidates.
    earlier: earlier releases of the texts, if the ledger can know of them.
    """

    attack: MappingAttack
    every: Prior
    chosen: Candidate
    others: Sequence[Candidate]
    data: Texts | None
    column: str | None
    earlier: Earlier | None

    def judge(self) -> Verdict:
        """Return the verdict, which takes a few seconds."""
        attack, eps, plus = self.attack, self.chosen.eps, self.attack.plus
        assert eps is not None
        under_test, prior = attack.under_test, attack.prior
        [guess] = measure_bayes(under_test, [prior], [eps], plus=plus)
        context = None
        if attack.attacker is not None:
            [found] = attack.measure([eps])
            context = found if isinstance(found, ContextResult) else None
        one_output = measure_one_output(under_test, prior, eps, plus=plus)
        let_through = (
            None if self.data is None else count_let_through(under_test, self.data, self.column, epsilon=eps, plus=plus)
        )
        figures = collect_figures(
            under_test,
            prior,
            guess,
            context,
            one_output,
            plus=plus,
            draws=self._count_draws(eps),
            let_through=let_through,
            earlier=self.earlier,
            alternatives=self._list_alternatives(eps),
        )
        return judge(figures)

    def _count_draws(self, eps: float) -> float | None:
        """Return how many draws identify the median word; None at eps = 0, where no number is enough."""
        if eps == 0.0:
            return None
        under_test = self.attack.under_test
        quantiles = measure_sample(under_test, min(_SAMPLE, len(under_test.mapping.words)), [eps])
        return next(one.n_ml for one in quantiles if one.share == 0.5)

    def _list_alternatives(self, eps: float) -> Iterator[Alternative]:
        """Yield other settings that were measured: another K at the same eps, a smaller eps, no kept stopwords."""
        attack, chosen = self.attack, self.chosen
        for one in self.others:
            for result in one.curve:
                same_eps = one.k > chosen.k and result.eps == eps
                if same_eps or (one.mapping == chosen.mapping and result.eps < eps):
                    by_context = isinstance(result, ContextResult)
                    yield Alternative(
                        mapping=one.mapping,
                        k=one.k,
                        eps=result.eps,
                        plus=attack.plus,
                        guess=None if by_context else result.success,
                        context=result.success if by_context else None,
                        replaced=one.drawn,
                    )
        if attack.plus:
            guess = measure_guess(attack.under_test, self.every.chances, eps)
            yield Alternative(chosen.mapping, chosen.k, eps, False, guess, replaced=self.every.drawn)
