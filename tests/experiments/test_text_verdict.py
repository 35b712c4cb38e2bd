"""The verdict on one text: the figures are those of the attacker and of the receipt, and the words fit one row."""

from dataclasses import replace

import pytest

from custext_sql import Policy, Receipt, Sanitizer
from custext_sql.errors import SettingError
from custext_sql.experiments import TextAttacker, judge_text
from custext_sql.experiments.verdict import Figures, Verdict, judge, vary
from custext_sql.mapping.mapping import Mapping
from custext_sql.sanitizer.settings import Settings
from custext_sql.sanitizer.traced_text import TracedText
from tests.experiments.test_text_attacker import PUBLIC, STOPWORDS, TEXT, WORDS, make_mapping
from tests.experiments.test_verdict import COUNTS, GREEN, NONE, list_sentences
from tests.small_mapping import small_mapping


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    return make_mapping()


def trace(sanitizer: Sanitizer, text: str) -> tuple[TracedText, Receipt]:
    traced = sanitizer.trace(text)
    return traced, sanitizer.receipt(traced.tally)


@pytest.mark.parametrize("public", [None, PUBLIC])
@pytest.mark.parametrize("eps", [0.0, 3.0])
@pytest.mark.parametrize("policy", ["strict", "paper"])
def test_the_verdict_is_that_of_the_attackers_figures(
    mapping: Mapping, eps: float, policy: str, public: list[str] | None
) -> None:
    settings = Settings.settle(eps=eps, plus=True, policy=policy, calibration="tight")
    sanitizer = Sanitizer(mapping, STOPWORDS, settings)
    attacker, (_, receipt) = TextAttacker(sanitizer, public=public), trace(sanitizer, TEXT)
    chances, floor = attacker.expect(TEXT, eps), attacker.expect(TEXT, 0.0)
    context, context_at_0 = attacker.expect_context(TEXT, eps), attacker.expect_context(TEXT, 0.0)
    assert chances is not None and floor is not None and (context is None) == (public is None)
    is_strict = policy == "strict"
    figures = Figures(
        mapping="small",
        k=4,
        eps=eps,
        plus=True,
        hides_among=receipt.hides_among,
        prior="texts in general (by Zipf's law)" if public is None else "texts",
        guess=chances.right,
        guess_at_0=floor.right,
        certain=chances.certain,
        context=None if context is None else context.right,
        context_at_0=None if context_at_0 is None else context_at_0.right,
        texts_guessed=None if context is None else context.all_right,
        dataset="your text",
        counts={  # of TEXT, counted by hand
            **NONE,
            "rows": 1,
            "words": 20 if is_strict else 22,
            "replaced": 12,
            "stopwords": 4,
            "endings": 1,
            "numbers": 1,
            "unknown_masked": 1 if is_strict else 0,
            "unknown_kept": 0 if is_strict else 4,  # without units, the address is three words
            "units": 1 if is_strict else 0,
            "median_replaced": 12,
            "largest_replaced": 12,
        },
        numbers="mask" if is_strict else "shape",
        unchanged=chances.unchanged,
    )
    at_0 = vary(figures, eps=0.0, guess=floor.right, context=None if context_at_0 is None else context_at_0.right)
    assert judge_text(attacker, TEXT, receipt) == judge(figures, [at_0] if eps else [])


def write(verdict: Verdict) -> str:
    return " ".join(sentence.text for sentence in list_sentences(verdict))


def test_a_verdict_on_one_text_speaks_of_one_row(mapping: Mapping) -> None:
    sanitizer = Sanitizer(mapping, STOPWORDS, Settings(eps=0.25))
    found = write(judge_text(TextAttacker(sanitizer, public=PUBLIC), TEXT, trace(sanitizer, TEXT)[1]))
    assert "This is one row. If its author wrote others, their eps adds up." in found
    assert "The row spends eps once per replaced word: 3.75 in total." in found and "of the draws" in found
    assert "median row" not in found and "of the texts" not in found
    assert "Whether this text was released before" in found and "these texts" not in found
    generalized = Sanitizer(mapping, STOPWORDS, Settings(eps=0.0))
    found = write(judge_text(TextAttacker(generalized, public=PUBLIC), TEXT, trace(generalized, TEXT)[1]))
    assert "a row of any length" in found.lower() and "of the draws" not in found and "of the texts" not in found
    several = write(judge(replace(GREEN, counts={**COUNTS, "rows": 2})))
    assert "Keep them as private as the texts." in several
    assert "in the median row" in several and "of the texts" in several and "The 2 rows are counted" in several


@pytest.mark.parametrize("public", [None, PUBLIC])
@pytest.mark.parametrize("text", ["", "the and", "zyzzyva qwerty"])
def test_without_replaced_words_only_what_stays_is_judged(
    mapping: Mapping, text: str, public: list[str] | None
) -> None:
    sanitizer = Sanitizer(mapping, STOPWORDS, Settings(plus=True, policy=Policy(unknown="keep", units="keep")))
    verdict = judge_text(TextAttacker(sanitizer, public=public), text, trace(sanitizer, text)[1])
    assert verdict.word[0].text == "No word is replaced, so there is nothing to guess."
    assert verdict.word[0].color is None
    assert verdict.row[1].text == "No word is replaced, so a whole text shows no more than its words."
    assert "not measured" not in write(replace(verdict, dataset=(), advice=()))
    if text == "zyzzyva qwerty":
        assert verdict.color == "red" and "reads 100% of all words correctly: 100% because they stay" in write(verdict)
        assert verdict.advice[0].text.startswith("Mask unknown words: --unknown mask")


def test_a_receipt_of_something_else_is_refused(mapping: Mapping) -> None:
    sanitizer = Sanitizer(mapping)
    attacker, (_, receipt) = TextAttacker(sanitizer), trace(sanitizer, TEXT)
    _, two = sanitizer.release([TEXT, TEXT])
    mixed = replace(receipt, eps=2.0, budgets=(1.0, 2.0))
    other = Sanitizer(small_mapping(WORDS, k=4, seed=1))
    for wrong in (two, mixed, trace(other, TEXT)[1]):
        with pytest.raises(SettingError, match="receipt must be that of the one text"):
            judge_text(attacker, TEXT, wrong)
    with pytest.raises(SettingError, match="receipt must be a Receipt; found float"):
        judge_text(attacker, TEXT, 1.0)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="attacker must be a TextAttacker; found Sanitizer"):
        judge_text(sanitizer, TEXT, receipt)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="the text must be a string"):
        judge_text(attacker, None, receipt)  # type: ignore[arg-type]
