"""When larger groups stop helping."""

from dataclasses import replace
from pathlib import Path

import pytest

from custext_sql.experiments import choose
from custext_sql.experiments.choice_lines import describe_choice
from custext_sql.experiments.choosing import Candidate, Choice, measure_growth


@pytest.fixture
def choice(mapped_db: Path) -> Choice:
    return choose(mapped_db, data=["alice and bob"], max_attack=0.99)


@pytest.fixture
def candidate(choice: Choice) -> Candidate:
    return choice.candidates[0]


def vary(candidate: Candidate, shares: dict[int, float]) -> list[Candidate]:
    return [
        replace(candidate, k=k, recipe=replace(candidate.recipe, k=k), success_at_0=share, distance_at_0=1.0 - share)
        for k, share in shares.items()
    ]


def test_the_first_doubling_that_gains_little_is_named(choice: Choice, candidate: Candidate) -> None:
    growth = measure_growth(vary(candidate, {160: 0.117, 20: 0.272, 80: 0.145, 40: 0.204}))
    assert growth is not None and (growth.enough, growth.k, growth.larger) == (80, 80, 160)
    assert describe_choice(replace(choice, growth=growth), "choice")[1] == (
        "Larger groups than K = 80 help little: the share guessed at eps = 0 falls from 0.145 to 0.117 with K = 160, "
        "less than 0.03 per doubling, and the distance of replacements grows from 0.855 to 0.883."
    )


def test_a_step_without_gain_before_others_does_not_count(candidate: Candidate) -> None:
    growth = measure_growth(vary(candidate, {20: 1.0, 40: 1.0, 80: 0.87, 160: 0.8}))
    assert growth is not None and (growth.enough, growth.k, growth.larger) == (None, 80, 160)
    flat = measure_growth(vary(candidate, {20: 1.0, 40: 0.9, 80: 0.9, 160: 0.9}))
    assert flat is not None and (flat.enough, flat.k, flat.larger) == (40, 40, 80)


def test_groups_that_still_help_are_said_to(choice: Choice, candidate: Candidate) -> None:
    growth = measure_growth(vary(candidate, {20: 0.4, 80: 0.32}))  # two doublings, 0.04 each
    assert growth is not None and growth.enough is None
    said = describe_choice(replace(choice, growth=growth), "choice")[1]
    assert said.startswith("Larger groups still help: the share guessed at eps = 0 falls from 0.400 to")
    slower = measure_growth(vary(candidate, {20: 0.4, 80: 0.35}))
    assert slower is not None and slower.enough == 20


def test_mappings_that_differ_in_more_than_k_are_not_compared(candidate: Candidate) -> None:
    one, two = vary(candidate, {20: 0.4, 40: 0.3})
    assert measure_growth([one, two]) is not None
    assert measure_growth([one]) is None
    assert measure_growth([one, one]) is None
    assert measure_growth([one, replace(two, recipe=replace(two.recipe, grouping="refined"))]) is None
    assert measure_growth([one, replace(two, words=15)]) is None
