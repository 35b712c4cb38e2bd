"""The figures of a verdict, from what was measured for a report, a choice or one text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from custext_sql.experiments.attacks.bayes_attack import BayesResult, Prior, measure_guess
from custext_sql.experiments.attacks.context_attack import ContextResult
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.report.contents import LetThrough, OneOutput
from custext_sql.experiments.report.earlier_releases import Earlier
from custext_sql.experiments.verdict.figures import Alternative, Fates, Figures
from custext_sql.kinds import Fate, list_treatments


@dataclass(frozen=True)
class Measured:
    """What was measured at the settings of a report, or at those that `choose` suggests.

    prior: how frequent words are; with `plus`, `every` also has the stopwords. guess: the best single guess under that
    prior. context: the context attack, if it was made. draws: how many identify the median word; None if no number
    does. let_through: what becomes of the words of the texts, if there are any.
    """

    under_test: MappingUnderTest
    prior: Prior
    every: Prior
    plus: bool
    guess: BayesResult
    context: ContextResult | None
    draws: float | None
    one_output: OneOutput
    let_through: LetThrough | None

    def compare_plus(self) -> Iterator[Alternative]:
        """Yield the same settings without `plus`, if they have it."""
        if self.plus:
            guess, every = self.guess, self.every
            success = measure_guess(self.under_test, every.chances, guess.eps)
            yield Alternative(guess.mapping, guess.k, guess.eps, False, success, replaced=every.drawn)


def collect_figures(measured: Measured, earlier: Earlier | None, alternatives: Iterable[Alternative]) -> Figures:
    """Return the figures at the eps of the guess."""
    guess, context, found = measured.guess, measured.context, measured.let_through
    second = None if earlier is None else earlier.second
    fates = None
    if found is not None:
        is_own = measured.prior.name == found.dataset  # not frequencies from elsewhere
        fates = count_fates(found.counts, found.numbers, measured.one_output.unchanged if is_own else None)
    return Figures(
        mapping=guess.mapping,
        k=guess.k,
        eps=guess.eps,
        plus=measured.plus,
        hides_among=measured.under_test.vocabulary.hides_among(measured.plus) or None,
        prior=guess.prior,
        guess=guess.success,
        guess_at_0=guess.floor,
        certain=measured.one_output.certain,
        context=None if context is None else context.success,
        context_at_0=None if context is None else context.success_at_0,
        texts_guessed=None if context is None else context.texts_guessed,
        draws=measured.draws,
        draws_measured=True,
        fates=fates,
        dataset=None if found is None else found.dataset,
        spent=None if earlier is None else earlier.spent,
        releases=None if earlier is None else earlier.releases,
        released_under=None if second is None else second.before,
        least_left=None if second is None else second.least,
        median_left=None if second is None else second.median,
        alternatives=tuple(alternatives),
    )


def count_fates(counts: Mapping[str, float], numbers: str, unchanged: float | None) -> Fates:
    """Return what becomes of the words of some texts.

    counts: as in `LetThrough`. numbers: what becomes of numbers, as in `Policy`. unchanged: the share of replaced words
    that are expected to be replaced by themselves.
    """
    count = {name: round(number) for name, number in counts.items()}
    by_fate: Counter[Fate] = Counter()
    for _, one in list_treatments(numbers):
        by_fate[one.fate] += count[one.name]
    numbers_masked, numbers_kept = (count["numbers"] if numbers == choice else 0 for choice in ("mask", "keep"))
    return Fates(
        rows=count["rows"],
        words=count["words"],
        replaced=by_fate[Fate.REPLACED],
        stopwords=count["stopwords"],
        public=by_fate[Fate.KEPT] - count["stopwords"] - count["endings"],
        endings=count["endings"],
        unknown_kept=by_fate[Fate.EXPOSED] - numbers_kept,
        numbers_kept=numbers_kept,
        unknown_masked=count["unknown_masked"],
        numbers_masked=numbers_masked,
        units_masked=count["units"],
        others_masked=by_fate[Fate.MASKED] - count["unknown_masked"] - numbers_masked - count["units"],
        symbols=count["symbols"],
        altered=by_fate[Fate.ALTERED],
        unchanged=None if unchanged is None else unchanged * by_fate[Fate.REPLACED],
        median_replaced=counts.get("median_replaced"),
        largest_replaced=count.get("largest_replaced"),
    )
