"""The verdict on texts that were released before, perhaps under another mapping."""

import math
from dataclasses import replace
from typing import Any

import pytest

from custext_sql.experiments.verdict import judge, vary
from tests.experiments.test_verdict import GREEN


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
