"""The verdict: its colors by their thresholds, and numbers behind every sentence."""

import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.experiments.verdict import (
    SECTIONS,
    Figures,
    Sentence,
    Verdict,
    count_words,
    find_worst,
    judge,
    vary,
    write_count,
    write_eps,
    write_factor,
    write_share,
    write_verdict,
)

NONE = dict.fromkeys(
    (
        *("rows", "words", "replaced", "stopwords", "numbers", "unknown_kept", "unknown_masked", "unknown_random"),
        *("endings", "kept", "alone_masked", "units", "symbols"),
    ),
    0,
)
COUNTS = {**NONE, "rows": 10, "words": 10_000, "replaced": 10_000, "median_replaced": 1.0, "largest_replaced": 1}
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
    dataset="films.txt",
    counts=COUNTS,
    unchanged=0.03,
    releases=0,
    spent=0.0,
)
AT_0 = [vary(GREEN, eps=0.0, guess=0.09, context=0.195)]
KEEPING = replace(GREEN, numbers="keep")
BELOW, ABOVE = 1.0 - 1e-9, 1.0 + 1e-9
ROW = math.log(3.0)


def list_sentences(verdict: Verdict) -> list[Sentence]:
    return [sentence for name in ("summary", *SECTIONS) for sentence in getattr(verdict, name)]


def change(figures: Figures, **changes: Any) -> Figures:
    """Return figures with changes, also to what becomes of words; the other words are replaced."""
    counts, others = dict(figures.counts or {}), {}
    for name, value in changes.items():
        if name in COUNTS:
            counts[name] = value
            counts["replaced"] -= 0 if name.endswith("_replaced") else value
        else:
            others[name] = value
    return replace(figures, **{"counts": counts or None, **others})


def test_green_figures_are_green() -> None:
    verdict = judge(GREEN, AT_0)
    assert verdict.color == "green" and {one.color for one in list_sentences(verdict)} == {"green", None}
    assert "It is not a proof" in verdict.limits[0].text


@pytest.mark.parametrize(
    "name, green, amber",
    [("guess", 0.2, 0.4), ("context", 0.2, 0.4), ("certain", 0.05, 0.2), ("texts_guessed", 0.01, 0.1)],
)
def test_shares_change_color_at_their_thresholds(name: str, green: float, amber: float) -> None:
    expected = {green: "green", green * ABOVE: "amber", amber: "amber", amber * ABOVE: "red", 1.0: "red"}
    assert {value: judge(change(GREEN, **{name: value})).color for value in expected} == expected


@pytest.mark.parametrize("kind", ["unknown_kept", "numbers"])
def test_words_in_the_clear_change_color_at_their_thresholds(kind: str) -> None:
    expected = {0: "green", 10: "green", 11: "amber", 100: "amber", 101: "red", 10_000: "red"}  # of 10,000 words
    assert {count: judge(change(KEEPING, **{kind: count})).color for count in expected} == expected


@pytest.mark.parametrize("kind", ["stopwords", "kept", "endings"])
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
        ({"counts": None}, "was not counted"),
        ({"prior": "uniform"}, "provide your texts to measure it"),
    ],
)
def test_what_was_not_measured_is_said_and_never_green(missing: dict[str, Any], said: str) -> None:
    verdict = judge(change(GREEN, **missing))
    assert verdict.color == "amber"
    assert any(said in one.text and one.color == "amber" for one in list_sentences(verdict))


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
    start = change(KEEPING, guess=data.draw(share), certain=data.draw(share))
    name, values = data.draw(
        st.sampled_from(
            [
                *((name, share) for name in ("guess", "certain", "texts_guessed")),
                ("context", st.floats(start.guess, 1)),
                *((name, st.integers(0, 10_000)) for name in ("unknown_kept", "numbers", "stopwords")),
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


FEW = {  # the numbers are kept
    **NONE,
    "rows": 3,
    "words": 1_234,
    "replaced": 1_000,
    "stopwords": 40,
    "kept": 30,
    "endings": 20,
    "unknown_kept": 25,
    "numbers": 15,
    "unknown_masked": 44,
    "units": 10,
    "alone_masked": 5,
    "unknown_random": 45,
    "symbols": 7,
    "median_replaced": 18.5,
    "largest_replaced": 400,
}
MEDIUM = replace(GREEN, k=40, eps=3.0, plus=True, counts=FEW, numbers="keep", unchanged=0.0333)


def list_others(figures: Figures) -> list[Figures]:
    return [
        vary(figures, eps=0.0, guess=0.2, context=0.25),
        vary(figures, eps=1.0, guess=0.21, context=0.26),
        vary(figures, k=80, guess=0.15, estimated=True),
        vary(figures, mapping="large", k=80, guess=0.15, context=0.2),
        vary(figures, plus=False, guess=0.19),
    ]


FIGURES = [
    GREEN,
    replace(GREEN, eps=0.0),
    replace(GREEN, counts=None, hides_among=None),
    replace(GREEN, counts=FEW, numbers="keep", unchanged=0.0333),
    Figures("starter", 40, 1.0, False),
    replace(MEDIUM, context=0.55, guess=0.5, releases=2, spent=12.5),
    replace(MEDIUM, context=None, guess=0.3),
    replace(GREEN, eps=20.0, draws=3, prior="uniform", guess=0.9999, certain=0.00001, counts=FEW, numbers="keep"),
    replace(GREEN, eps=0.25, draws=None, releases=1, spent=None),
    replace(GREEN, releases=1, spent=0.5, released_under="small", least_left=3, median_left=17),
]
CASES = [judge(figures, list_others(figures)) for figures in FIGURES]


@pytest.mark.parametrize("verdict", CASES)
def test_every_number_in_a_sentence_is_among_its_numbers(verdict: Verdict) -> None:
    writers = (write_share, write_count, write_eps, "{:,.0f}".format, "{:g}".format, "{:.0%}".format, write_factor)
    for sentence in list_sentences(verdict):
        assert all(math.isfinite(value) for value in sentence.numbers.values())
        known = {text for value in sentence.numbers.values() for text in (*(w(value) for w in writers), f"{value:.2g}")}
        known |= {number for text in known for number in re.findall(r"[\d,.]*\d%?", text)}
        shown = re.sub(r"films\.txt|K = n", "", sentence.text)
        assert set(re.findall(r"\d[\d,.]*\d%?|\d%?", shown)) <= known, sentence


@pytest.mark.parametrize("verdict", CASES)
def test_lines_fit_a_terminal_and_hold_every_sentence(verdict: Verdict) -> None:
    lines = write_verdict(verdict)
    assert max(map(len, lines)) <= 80
    together = re.sub(r"\s+", " ", " ".join(lines))
    assert all(sentence.text in together for sentence in list_sentences(verdict))
    assert lines[0].startswith(f"Verdict: {verdict.color}. ")


def test_advice_is_ordered_by_its_effect_and_measured_by_one_attack() -> None:
    figures = replace(FIGURES[5], releases=0, spent=0.0)
    found = judge(figures, list_others(figures)).advice
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
    figures = replace(GREEN, eps=8.0, guess=0.6, context=None)
    curve = [vary(figures, eps=eps, guess=guess) for eps, guess in ((0.0, 0.2), (2.0, 0.22), (3.0, 0.4))]
    advice, *_ = judge(figures, curve).advice
    assert advice.text.startswith("Use eps = 0 instead of 8. ") and "(or 22% with eps = 2)" in advice.text


@pytest.mark.parametrize(
    "share, text",
    [(0, "0%"), (1e-9, "less than 0.1%"), (0.0512, "5.1%"), (0.5, "50%"), (0.9999, "more than 99.9%"), (1, "100%")],
)
def test_no_share_is_rounded_to_nothing_or_all(share: float, text: str) -> None:
    assert write_share(share) == text


@pytest.mark.parametrize("numbers", ["keep", "mask", "shape"])
def test_every_word_has_one_fate(numbers: str) -> None:
    fates, shares = count_words(replace(MEDIUM, numbers=numbers))
    parts = ("replaced", "stopwords", "public", "endings", "unknown_kept", "numbers_kept", "masked", "altered")
    assert sum(fates[name] for name in parts) == fates["words"] == 1_234
    assert sum(shares[name] for name in ("replaced", "kept", "exposed", "masked", "altered")) == pytest.approx(1.0)
    assert (fates["numbers_kept"], fates["exposed"]) == ((15, 40) if numbers == "keep" else (0, 25))
    assert fates["masked"] == 44 + 10 + 5 + (15 if numbers == "mask" else 0)
    assert fates["altered"] == 45 + (15 if numbers == "shape" else 0)


@pytest.mark.parametrize(
    ("least", "median", "said"),
    [
        (1, 2, "leave as few as 1 candidate for a word (median 2)."),
        (3, 1200, "leave as few as 3 candidates for a word (median 1,200)."),
        (0, 0, "the two mappings have no word in common."),
        (None, None, "How few candidates both groups leave for a word is unknown."),
    ],
)
def test_a_second_mapping_is_red_whatever_was_spent(least: int | None, median: int | None, said: str) -> None:
    other: dict[str, Any] = {"released_under": "small", "least_left": least, "median_left": median}
    for spent in (0.0, 5.0, None, math.inf):
        sentence = judge(replace(GREEN, releases=2, spent=spent, **other)).dataset[-1]
        assert sentence.color == "red" and said in sentence.text
        assert "They used another mapping, small," in sentence.text and "This one adds to it" not in sentence.text
        assert "Use --mapping small (in Python: mapping=...); custext sanitize refuses any other." in sentence.text
        left = {name: number for name, number in sentence.numbers.items() if name.endswith("_left")}
        assert left == ({"least_left": least, "median_left": median} if least else {})


def test_no_other_groups_are_advised_for_texts_that_were_released_before() -> None:
    larger = [vary(GREEN, mapping="large", k=320, guess=0.01, context=0.02)]
    assert "Use mapping large" in judge(GREEN, larger).advice[0].text
    for released in (replace(GREEN, releases=1), replace(GREEN, releases=1, spent=None)):
        advice = " ".join(one.text for one in judge(released, larger).advice)
        assert "large," not in advice and "custext sanitize refuses a second one" in advice
    assert "Use mapping large" in judge(replace(GREEN, releases=1, spent=math.inf), larger).advice[0].text
