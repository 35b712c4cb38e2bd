"""The verdict on one sanitized text."""

from dataclasses import asdict, replace

from custext_sql.errors import SettingError
from custext_sql.experiments.one_text.text_attacker import TextAttacker
from custext_sql.experiments.report.verdict_figures import count_fates
from custext_sql.experiments.verdict.figures import Alternative, Figures, Verdict
from custext_sql.experiments.verdict.judging import judge
from custext_sql.parameters import check_type
from custext_sql.replacing.policy import name_policy
from custext_sql.replacing.receipt import Receipt

_ELSEWHERE = "texts in general (by Zipf's law)"  # from the ranks of words in the vector file
_YOURS = "your text"


def judge_text(attacker: TextAttacker, text: str, receipt: Receipt) -> Verdict:
    """Return the verdict on a text: what its receipt counts, and what the attacker guesses. Nothing is saved.

    text: the original. receipt: that of the text, from the attacked sanitizer; it says which eps. The best single guess
    is averaged over all possible draws, and the guesses with context over simulated ones. SettingError if the receipt
    is of several texts, or of another mapping.
    """
    check_type(attacker, TextAttacker, "attacker must be a TextAttacker")
    check_type(receipt, Receipt, "receipt must be a Receipt")
    sanitizer, eps, plus = attacker.sanitizer, receipt.eps, attacker.plus
    info, policy = sanitizer.mapping.info, sanitizer.policy
    if (receipt.rows, receipt.budgets, receipt.fingerprint) != (1, (eps,), info.fingerprint):
        raise SettingError("receipt must be that of the one text, made by the attacked sanitizer at one eps")
    now, at_zero = attacker.expect(text, eps), attacker.expect(text, 0.0)
    by_context, context_at_0 = attacker.expect_context(text, eps), attacker.expect_context(text, 0.0)
    figures = Figures(
        mapping=info.name,
        k=info.k,
        eps=eps,
        plus=plus,
        calibration=sanitizer.calibration,
        policy=name_policy(policy),
        hides_among=receipt.hides_among or None,
        prior=attacker.public or _ELSEWHERE,
        guess=None if now is None else now.right,
        guess_at_0=None if at_zero is None else at_zero.right,
        certain=None if now is None else now.certain,
        context=None if by_context is None else by_context.right,
        context_at_0=None if context_at_0 is None else context_at_0.right,
        texts_guessed=None if by_context is None else by_context.all_right,
        fates=count_fates(
            {name: value for name, value in asdict(receipt).items() if isinstance(value, int)},
            policy.numbers,
            unchanged=None if now is None else now.unchanged,
            median_replaced=receipt.sampled,
            largest_replaced=receipt.sampled,
        ),
        dataset=_YOURS,
    )
    if at_zero is not None and eps > 0.0:
        at_0 = Alternative(info.name, info.k, 0.0, plus, figures.guess_at_0, figures.context_at_0)
        figures = replace(figures, alternatives=(at_0,))
    return judge(figures)
