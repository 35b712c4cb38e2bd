"""The figures of a verdict, from what was measured for a report or a choice."""

from collections.abc import Iterable, Mapping

from custext_sql.experiments.attacks.bayes_attack import BayesResult
from custext_sql.experiments.attacks.context_attack import ContextResult
from custext_sql.experiments.attacks.priors import Prior
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.report.earlier_releases import Earlier
from custext_sql.experiments.report.let_through import LetThrough
from custext_sql.experiments.report.one_output import OneOutput
from custext_sql.experiments.verdict.figures import Alternative, Fates, Figures
from custext_sql.replacing.policy import name_policy


def collect_figures(
    under_test: MappingUnderTest,
    prior: Prior,
    guess: BayesResult,
    context: ContextResult | None,
    one_output: OneOutput,
    *,
    plus: bool,
    draws: float | None,
    let_through: LetThrough | None,
    earlier: Earlier | None,
    alternatives: Iterable[Alternative],
) -> Figures:
    """Return the figures at the eps of a guess. draws: how many identify the median word; None if no number does."""
    info = under_test.mapping.info
    second = None if earlier is None else earlier.second
    return Figures(
        mapping=info.name,
        k=info.k,
        eps=guess.eps,
        plus=plus,
        calibration=guess.calibration,
        policy=name_policy(under_test.policy),
        hides_among=under_test.vocabulary.hides_among(plus) or None,
        prior=prior.name,
        guess=guess.success,
        guess_at_0=guess.floor,
        certain=one_output.certain,
        context=None if context is None else context.success,
        context_at_0=None if context is None else context.success_at_0,
        texts_guessed=None if context is None else context.texts_guessed,
        draws=draws,
        draws_measured=True,
        fates=None if let_through is None else _count_fates(let_through, prior, one_output),
        dataset=None if let_through is None else let_through.dataset,
        spent=None if earlier is None else earlier.spent,
        releases=None if earlier is None else earlier.releases,
        released_under=None if second is None else second.before,
        least_left=None if second is None else second.least,
        median_left=None if second is None else second.median,
        alternatives=tuple(alternatives),
    )


def count_fates(
    counts: Mapping[str, float],
    numbers: str,
    *,
    unchanged: float | None,
    median_replaced: float | None,
    largest_replaced: float | None,
) -> Fates:
    """Return what becomes of the words of some texts.

    counts: those of a receipt, by its names. numbers: what becomes of numbers, as in `Policy`. unchanged: the share of
    replaced words that are expected to be replaced by themselves. median_replaced, largest_replaced: as in `Fates`.
    """
    count = {name: round(number) for name, number in counts.items()}
    fates = {part: count["numbers"] if numbers == part else 0 for part in ("keep", "mask", "shape")}
    return Fates(
        rows=count["rows"],
        words=count["words"],
        replaced=count["sampled"],
        stopwords=count["stopwords"],
        public=count["kept"],
        endings=count["endings"],
        unknown_kept=count["unknown_kept"],
        numbers_kept=fates["keep"],
        unknown_masked=count["unknown_masked"],
        numbers_masked=fates["mask"],
        units_masked=count["units_masked"],
        alone_masked=count["alone_masked"],
        altered=count["unknown_random"] + fates["shape"],
        symbols=count["symbols"],
        unchanged=None if unchanged is None else unchanged * count["sampled"],
        median_replaced=median_replaced,
        largest_replaced=None if largest_replaced is None else round(largest_replaced),
    )


def _count_fates(found: LetThrough, prior: Prior, one_output: OneOutput) -> Fates:
    """Return what becomes of the words of some texts. one_output: what was measured under the prior."""
    is_own = prior.name == found.dataset  # not frequencies from elsewhere
    return count_fates(
        found.counts,
        found.numbers,
        unchanged=one_output.unchanged if is_own else None,
        median_replaced=found.counts["median_replaced"],
        largest_replaced=found.counts["largest_replaced"],
    )
