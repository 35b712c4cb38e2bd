"""The verdict: its colors by their thresholds, and numbers behind every sentence."""

import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.experiments.verdict.figures import Alternative, Fates, Figures, Sentence, Verdict
from custext_sql.experiments.verdict.judging import judge
from custext_sql.experiments.verdict.thresholds import find_worst
from custext_sql.experiments.verdict.wording import (
    SECTIONS,
    write_count,
    write_eps,
    write_factor,
    write_share,
    write_verdict,
)

FATES = Fates(rows=10, words=10_000, replaced=10_000, unchanged=300, median_replaced=1.0, largest_replaced=1)
GREEN = Figures(
    mapping="starter",
    k=160,
    eps=0.5,
    plus=False,
    hides_among=150,
    prior="films.txt",
    guess=0.1,
    guess_at_0=0.09,
    certain=0.01,
    context=0.2,
    context_at_0=0.195,
    texts_guessed=0.001,
    draws=20_000,
    draws_measured=True,
    fates=FATES,
    dataset="films.txt",
    spent=0.0,
    releases=0,
    alternatives=(Alternative("starter", 160, 0.0, False, 0.09, 0.195),),
)
BELOW, ABOVE = 1.0 - 1e-9, 1.0 + 1e-9
ROW = math.log(3.0)


def list_sentences(verdict: Verdict) -> list[Sentence]:
    return [sentence for name in ("summary", *SECTIONS) for sentence in getattr(verdict, name)]


def change(figures: Figures, **changes: Any) -> Figures:
    """Return figures with changes, also to what becomes of words; the other words are replaced."""
    of_fates = {name: value for name, value in changes.items() if hasattr(FATES, name)}
    fates = figures.fates
    if fates is not None and of_fates:
        moved = sum(value for name, value in of_fates.items() if name not in ("largest_replaced", "median_replaced"))
        fates = replace(fates, replaced=fates.words - moved, **of_fates)
    others = {name: value for name, value in changes.items() if name not in of_fates}
    return replace(figures, **{"fates": fates, **others})


def test_green_figures_are_green() -> None:
    verdict = judge(GREEN)
    assert verdict.color == "green" and {one.color for one in list_sentences(verdict)} == {"green", None}
    assert "It is not a proof" in verdict.limits[0].text


@pytest.mark.parametrize(
    "name, green, amber",
    [
        ("guess", 0.2, 0.4),
        ("context", 0.2, 0.4),
        ("certain", 0.05, 0.2),
        ("texts_guessed", 0.01, 0.1),
    ],
)
def test_shares_change_color_at_their_thresholds(name: str, green: float, amber: float) -> None:
    expected = {green: "green", green * ABOVE: "amber", amber: "amber", amber * ABOVE: "red", 1.0: "red"}
    assert {value: judge(change(GREEN, **{name: value})).color for value in expected} == expected


def test_public_texts_that_teach_nothing_are_never_green() -> None:
    assert judge(change(GREEN, guess=0.1, context=0.09)).color == "amber"
    assert judge(change(GREEN, guess=0.1, context=0.1)).color == "green"


def test_frequencies_from_elsewhere_are_never_green() -> None:
    assert judge(change(GREEN, dataset="films.txt")).color == "green"
    assert judge(change(GREEN, dataset="others.txt")).color == "amber"


def test_symbols_change_color_at_their_threshold() -> None:
    expected = {0: "green", 100: "green", 101: "amber", 10_000: "amber"}  # of 10,000 words
    assert {count: judge(change(GREEN, symbols=count)).color for count in expected} == expected


@pytest.mark.parametrize("kind", ["unknown_kept", "numbers_kept"])
def test_words_in_the_clear_change_color_at_their_thresholds(kind: str) -> None:
    expected = {0: "green", 10: "green", 11: "amber", 100: "amber", 101: "red", 10_000: "red"}  # of 10,000 words
    assert {count: judge(change(GREEN, **{kind: count})).color for count in expected} == expected


@pytest.mark.parametrize("kind", ["stopwords", "public", "endings"])
def test_words_that_stay_on_purpose_are_amber_at_most(kind: str) -> None:
    expected = {500: "green", 501: "amber", 10_000: "amber"}
    assert {count: judge(change(GREEN, **{kind: count})).color for count in expected} == expected


def test_the_promise_for_a_word_is_graded_by_what_it_allows() -> None:
    """Of m words that are equally likely, one can become e^eps / (e^eps + m - 1) likely."""
    for bound, color in ((0.2 * BELOW, "green"), (0.2 * ABOVE, "amber"), (0.4 * BELOW, "amber"), (0.4 * ABOVE, "red")):
        eps = math.log(bound * 149 / (1.0 - bound))
        assert judge(change(GREEN, eps=eps)).word[-1].color == color
        [promise] = [one for one in judge(change(GREEN, eps=eps)).word if "hides_among" in one.numbers]
        assert promise.numbers["bound"] == pytest.approx(bound)
        assert ("hardly a promise" in promise.text) == (color == "red")


def test_the_promise_for_a_row_is_amber_above_three_to_one_and_says_when_it_means_nothing() -> None:
    for eps, color, words in ((ROW * BELOW, "green", 1), (ROW * ABOVE, "amber", 1), (1.0, "amber", 3)):
        row = judge(change(GREEN, eps=eps, largest_replaced=words)).row[0]
        assert row.color == color and row.numbers["largest_row_eps"] == pytest.approx(eps * words)
        assert ("no meaningful promise" in row.text) == (eps * words > math.log(19.0))
    long = judge(change(GREEN, eps=1.0, largest_replaced=100, median_replaced=50.0)).row[0]
    assert long.color == "amber" and "no meaningful promise for a row as a whole" in long.text
    assert "the longest rows" in judge(change(GREEN, eps=1.0, largest_replaced=100)).row[0].text


def test_draws_change_color_at_their_thresholds() -> None:
    expected = {1000: "green", 999.9: "amber", 100: "amber", 99.9: "red"}
    assert {draws: judge(change(GREEN, draws=draws)).color for draws in expected} == expected


def test_earlier_releases_are_amber_and_unprotected_ones_red() -> None:
    assert judge(change(GREEN, releases=1, spent=5.0)).color == "amber"
    assert judge(change(GREEN, releases=1, spent=None)).color == "amber"
    assert judge(change(GREEN, releases=2, spent=math.inf)).color == "red"


@pytest.mark.parametrize(
    "missing, said",
    [
        ({"context": None}, "was not measured"),
        ({"guess": None}, "was not measured"),
        ({"hides_among": None}, "was not measured"),
        ({"fates": None}, "was not counted"),
        ({"prior": "uniform"}, "provide your texts to measure it"),
    ],
)
def test_what_was_not_measured_is_said_and_never_green(missing: dict[str, Any], said: str) -> None:
    verdict = judge(change(GREEN, **missing))
    assert verdict.color == "amber"
    assert any(said in one.text and one.color == "amber" for one in list_sentences(verdict))


def test_nothing_at_all_can_be_judged() -> None:
    verdict = judge(Figures("starter", 40, 1.0, False))
    assert verdict.color == "amber" and all(getattr(verdict, name) for name in SECTIONS)


def test_at_eps_0_the_sum_is_0_and_the_groups_are_shown() -> None:
    verdict = judge(change(GREEN, eps=0.0, largest_replaced=1000))
    assert verdict.row[0].color is None and "everyone sees the group of every replaced word" in verdict.row[0].text
    assert verdict.dataset[1].color is None and "reveals nothing new" in verdict.dataset[1].text
    assert "everyone sees the group" in verdict.word[-1].text


@given(st.data())
def test_a_worse_figure_never_improves_the_color(data: st.DataObject) -> None:
    """A larger share, a larger eps, a smaller group, fewer draws: each can only make it worse.

    An attack with context that guesses less than the single guess has learned nothing, and is no better figure.
    """
    share = st.floats(0, 1)
    start = change(GREEN, guess=data.draw(share), certain=data.draw(share))
    name, values = data.draw(
        st.sampled_from(
            [
                *((name, share) for name in ("guess", "certain", "texts_guessed")),
                ("context", st.floats(start.guess, 1)),
                *((name, st.integers(0, 10_000)) for name in ("unknown_kept", "numbers_kept", "stopwords")),
                ("largest_replaced", st.integers(1, 10_000)),
                ("eps", st.floats(0.001, 100)),
                ("hides_among", st.integers(2, 500).map(lambda size: -size)),
                ("draws", st.floats(1, 1e6).map(lambda draws: -draws)),
            ]
        )
    )
    better, worse = sorted((data.draw(values), data.draw(values)))
    colors = [judge(change(start, **{name: abs(value)})).color for value in (better, worse)]
    assert find_worst(*colors) == colors[1]


FEW = Fates(3, 1_234, 1_000, *(40, 30, 20, 25, 15, 44, 20, 10, 5, 25), symbols=7, unchanged=33.3)
LONGER = replace(FEW, median_replaced=18.5, largest_replaced=400)
OTHERS = (
    Alternative("starter", 40, 0.0, True, 0.2, 0.25),
    Alternative("starter", 40, 1.0, True, 0.21, 0.26),
    Alternative("starter", 80, 3.0, True, 0.15, estimated=True),
    Alternative("large", 80, 3.0, True, 0.15, 0.2),
    Alternative("starter", 40, 3.0, False, 0.19),
)
MEDIUM = change(GREEN, k=40, eps=3.0, plus=True, fates=LONGER, alternatives=OTHERS)
CASES = [
    GREEN,
    change(GREEN, eps=0.0),
    change(GREEN, fates=None, hides_among=None),
    change(GREEN, fates=FEW),
    Figures("starter", 40, 1.0, False),
    change(MEDIUM, context=0.55, guess=0.5, releases=2, spent=12.5),
    change(MEDIUM, context=None, guess=0.3),
    change(GREEN, eps=20.0, draws=3, prior="uniform", guess=0.9999, certain=0.00001, fates=LONGER),
    change(GREEN, eps=0.25, draws=None, releases=1, spent=None),
    change(GREEN, releases=1, spent=0.5, released_under="small", least_left=3, median_left=17),
]


@pytest.mark.parametrize("figures", CASES)
def test_every_number_in_a_sentence_is_among_its_numbers(figures: Figures) -> None:
    writers = (write_share, write_count, write_eps, "{:,.0f}".format, "{:g}".format, "{:.0%}".format, write_factor)
    for sentence in list_sentences(judge(figures)):
        assert all(math.isfinite(value) for value in sentence.numbers.values())
        known = {text for value in sentence.numbers.values() for text in (*(w(value) for w in writers), f"{value:.2g}")}
        known |= {number for text in known for number in re.findall(r"[\d,.]*\d%?", text)}
        shown = re.sub(r"films\.txt|K = n", "", sentence.text)
        assert set(re.findall(r"\d[\d,.]*\d%?|\d%?", shown)) <= known, sentence


@pytest.mark.parametrize("figures", CASES)
def test_lines_fit_a_terminal_and_hold_every_sentence(figures: Figures) -> None:
    verdict = judge(figures)
    lines = write_verdict(verdict)
    assert max(map(len, lines)) <= 80
    together = re.sub(r"\s+", " ", " ".join(lines))
    assert all(sentence.text in together for sentence in list_sentences(verdict))
    assert lines[0].startswith(f"Verdict: {verdict.color}. ")


def test_advice_is_ordered_by_its_effect_and_measured_by_one_attack() -> None:
    found = judge(change(CASES[5], releases=0, spent=0.0)).advice
    effects = [one.numbers["effect"] for one in found if "after" in one.numbers]
    assert len(effects) == 3 and all(a >= b >= 0.01 for a, b in pairwise(effects))
    by_text = {one.text.split(".")[0]: one for one in found}
    larger = by_text["Use mapping large, with groups of 80 words instead of 40"]
    known = (40 + 30 + 20 + 25 + 15) / 1234
    assert larger.numbers["before"] == pytest.approx(known + 0.55 * 1000 / 1234)
    assert larger.numbers["after"] == pytest.approx(known + 0.2 * 1000 / 1234)
    stopwords = by_text["Replace the stopwords too, without --plus (in Python: plus=False)"]
    assert stopwords.numbers["after"] == pytest.approx(known - 40 / 1234 + 0.19 * 1040 / 1234)
    assert "by the best single guess" in stopwords.text and "by the best" not in larger.text


def test_a_larger_eps_that_is_nearly_as_good_is_named() -> None:
    curve = tuple(Alternative("starter", 160, eps, False, guess) for eps, guess in ((0, 0.2), (2, 0.22), (3, 0.4)))
    advice, *_ = judge(change(GREEN, eps=8.0, guess=0.6, context=None, alternatives=curve)).advice
    assert advice.text.startswith("Use eps = 0 instead of 8. ") and "(or 22% with eps = 2)" in advice.text


def test_a_text_that_is_guessed_more_often_at_eps_0_is_said_to_be() -> None:
    found = judge(change(GREEN, eps=1.0, guess=0.1, guess_at_0=0.16)).word[0].text
    assert "At eps = 0 it would be 16%: more, because" in found and "Nearly all" not in found
    assert "Nearly all of that" in judge(change(GREEN, eps=1.0, guess=0.1, guess_at_0=0.101)).word[0].text


def test_what_would_not_help_is_said() -> None:
    verdict = judge(GREEN)
    assert verdict.advice[0].text == (
        "A smaller eps would hardly help: what an attacker reads would fall by less than 1% of the words, or not at "
        "all. A smaller eps still strengthens the promise for a word."
    )
    assert "Larger groups usually help most" in verdict.advice[1].text


@pytest.mark.parametrize(
    "share, text",
    [(0, "0%"), (1e-9, "less than 0.1%"), (0.0512, "5.1%"), (0.5, "50%"), (0.9999, "more than 99.9%"), (1, "100%")],
)
def test_no_share_is_rounded_to_nothing_or_all(share: float, text: str) -> None:
    assert write_share(share) == text
