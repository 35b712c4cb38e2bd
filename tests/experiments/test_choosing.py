"""The choice of eps and a mapping for a bound on an attack."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from custext_sql import build_mapping
from custext_sql.errors import CusTextError
from custext_sql.experiments import attack_context, choose, write_report
from custext_sql.experiments.bayes_attack import Prior, count_words, measure_bayes, uniform_prior
from custext_sql.experiments.choosing import BOUNDS, Candidate, find_candidate, find_eps_limit, pick_candidate
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.report import Attacked
from custext_sql.experiments.verdict import GUESSED
from custext_sql.text.columns import open_column

TEXTS = ["the doctor said that the nurse was kind and the doctor was late", "I love this camera and the music"]


def count(under_test: MappingUnderTest) -> Prior:
    return count_words([open_column(TEXTS)[0]], under_test, "texts")


def find(under_test: MappingUnderTest, prior: Prior, bound: float) -> Candidate:
    return find_candidate(Attacked(under_test, prior, plus=False), bound)


def test_the_largest_eps_within_the_bound_is_found(few_db: Path) -> None:
    under_test = MappingUnderTest(few_db)
    prior = uniform_prior(len(under_test.mapping.words))
    found = find(under_test, prior, 0.5)
    assert found.eps is not None and found.eps > 1.0
    [here, above] = measure_bayes(under_test, [prior], [found.eps, found.eps * 1.04])
    assert found.success == here.success <= 0.5 < above.success
    assert float(f"{found.eps:.2g}") == found.eps


@pytest.mark.slow
@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_the_bound_holds_with_either_calibration(few_db: Path, calibration: str) -> None:
    choice = choose(few_db, data=TEXTS, max_attack=0.97, calibration=calibration, k=20)
    assert choice.calibration == calibration
    assert choice.chosen is not None and choice.chosen.eps is not None
    under_test = MappingUnderTest(few_db, calibration=calibration)
    [found] = measure_bayes(under_test, [count(under_test)], [choice.chosen.eps])
    assert found.success == choice.chosen.success and found.success <= 0.97


def make(template: Candidate, distance: float | None, success: float, **more: Any) -> Candidate:
    settings = {"eps": 1.0, "distance": distance, "success": success, "k": 20, "drawn": 0.9} | more
    return replace(template, **settings)


def test_the_closest_replacements_win_unless_fewer_words_are_replaced(few_db: Path) -> None:
    under_test = MappingUnderTest(few_db)
    some = find(under_test, count(under_test), 0.9)
    near, far = make(some, 0.4, 0.3), make(some, 0.43, 0.1)
    assert pick_candidate([far, near]) is near
    about_as_near = make(some, 0.419, 0.2, eps=2.0)
    assert pick_candidate([far, near, about_as_near]) is about_as_near  # the attack succeeds less
    assert pick_candidate([replace(near, drawn=0.8), far]) is far
    beyond = make(some, None, 0.5, eps=None)
    assert pick_candidate([beyond, far]) is far
    assert pick_candidate([beyond]) is None
    unknown = make(some, None, 0.1)
    larger = make(some, None, 0.2, eps=2.0)
    assert pick_candidate([unknown, larger]) is larger  # without vectors, the largest eps
    assert pick_candidate([unknown, far]) is far
    equal = make(some, 0.4, 0.3, k=40)
    assert pick_candidate([equal, near]) is near  # smaller groups, if nothing else differs


def test_a_bound_below_the_floor_is_out_of_reach(few_db: Path) -> None:
    choice = choose(few_db, data=TEXTS, max_attack=0.3, k=20)
    assert choice.chosen is None
    [candidate] = choice.candidates
    assert candidate.eps is None and candidate.success_at_0 > 0.3
    assert len(candidate.curve) > 10


def test_kept_stopwords_are_not_in_the_prior(few_db: Path) -> None:
    both = [choose(few_db, data=TEXTS, max_attack=0.99, plus=plus, k=20).candidates[0] for plus in (False, True)]
    assert both[0].success_at_0 != both[1].success_at_0


@pytest.mark.parametrize("bound", [0.0, 1.0, -1.0, float("nan")])
def test_a_bound_is_a_probability(few_db: Path, bound: float) -> None:
    with pytest.raises(CusTextError, match="must be above 0 and below 1"):
        choose(few_db, data=TEXTS, max_attack=bound)


def test_a_bound_is_a_number(few_db: Path) -> None:
    with pytest.raises(CusTextError, match="must be a number between 0 and 1; found str"):
        choose(few_db, max_attack="0.3", data=TEXTS)  # type: ignore[arg-type]


def test_the_default_bounds_are_those_of_a_verdict(few_db: Path) -> None:
    assert (GUESSED.green, GUESSED.amber) == (BOUNDS["bayes"], BOUNDS["context"])
    assert choose(few_db, data=TEXTS, k=20).bound == BOUNDS["bayes"] == 0.2


def test_eps_0_is_chosen_if_its_replacements_are_closer(few_db: Path) -> None:
    under_test = MappingUnderTest(few_db)
    chosen = find(under_test, count(under_test), 0.9)
    assert chosen.eps == 0.0
    assert chosen.success == chosen.success_at_0 == chosen.curve[0].success
    assert chosen.distance == chosen.distance_at_0 == pytest.approx(find_distance_at_0(under_test, TEXTS))
    barely = find(under_test, uniform_prior(len(under_test.mapping.words)), 0.0501)  # groups have 20 words
    assert barely.eps == 0.0 and barely.success == pytest.approx(0.05)


def find_distance_at_0(under_test: MappingUnderTest, texts: list[str]) -> float:
    """Return the mean distance of the words of some texts from their representatives, word by word."""
    mapping, points = under_test.mapping, under_test.space.points.astype(np.float64)
    usual = np.sqrt(2.0 * points.var(axis=0).sum())
    found = []
    for word in " ".join(texts).lower().split():
        if word in mapping.index:
            group = np.searchsorted(mapping.word_starts, mapping.index[word], "right") - 1
            members = np.arange(mapping.sizes[group]) + mapping.word_starts[group]
            first = members[mapping.ranks[members].argmin()]
            found.append(float(np.linalg.norm(points[mapping.index[word]] - points[first])) / float(usual))
    return sum(found) / len(found)


@pytest.mark.slow
def test_the_context_attack_can_be_bounded(few_db: Path) -> None:
    public = ["the doctor said that the nurse was late", "the nurse was kind and I love the music"] * 10
    lenient = choose(few_db, max_attack=0.97, attack="context", data=TEXTS, public=public, k=20, policy="paper")
    [candidate] = lenient.candidates
    assert (lenient.attack, lenient.public, lenient.left_out) == ("context", "texts", 0)
    assert (lenient.texts, lenient.attacked) == (2, 2)
    assert candidate.eps is not None and candidate.success is not None and candidate.success <= 0.97
    assert candidate.success_at_0 == attack_context(few_db, data=TEXTS, public=public, eps=0.0).results[0].success
    [same] = attack_context(few_db, data=TEXTS, public=public, eps=candidate.eps).results
    assert same.success == candidate.success
    strict = choose(few_db, max_attack=0.001, attack="context", data=TEXTS, public=public, k=20)
    assert strict.chosen is None
    assert [one.eps for one in strict.candidates[0].curve] == [0.0]  # no other eps succeeds less


def test_the_context_attack_needs_both_texts(few_db: Path) -> None:
    for more in ({"data": TEXTS}, {"public": TEXTS, "prior": "words.csv"}):
        with pytest.raises(CusTextError, match="needs your texts and public texts: custext choose INPUT --public FILE"):
            choose(few_db, max_attack=0.5, attack="context", **more)
    with pytest.raises(CusTextError, match="is for the context attack; add --attack context"):
        choose(few_db, max_attack=0.5, data=TEXTS, public=TEXTS)
    with pytest.raises(CusTextError, match="attack must be one of bayes, context; found 'mask'"):
        choose(few_db, max_attack=0.5, attack="mask", data=TEXTS)


def test_eps_stays_where_it_promises_something(few_db: Path) -> None:
    assert find_eps_limit(40) == 3.2 and find_eps_limit(2) == find_eps_limit(0) == 0.0
    for size in (5, 20, 160):
        limit = find_eps_limit(size)
        likely = [1.0 / (1.0 + (size - 1) * np.exp(-eps)) for eps in (limit, limit * 1.1)]
        assert likely[0] <= GUESSED.amber < likely[1]
    under_test = MappingUnderTest(few_db)
    attack = Attacked(under_test, uniform_prior(len(under_test.mapping.words)), plus=False)
    limited = find_candidate(attack, 0.9, max_eps=2.0)
    assert (limited.max_eps, [one.eps for one in limited.curve][-1]) == (2.0, 20.0)
    assert limited.eps in (0.0, 2.0)
    only = choose(few_db, data=TEXTS, max_attack=0.9, k=20, max_eps=0).candidates[0]
    assert (only.max_eps, only.eps) == (0.0, 0.0)
    far = choose(few_db, data=TEXTS, max_attack=0.999, k=20, max_eps=100).candidates[0]
    assert far.eps is not None and far.eps > 4.0
    with pytest.raises(CusTextError, match=r"--max-eps \(in Python: max_eps\): eps must be 0, or between"):
        choose(few_db, data=TEXTS, max_eps=-1.0)


def test_the_verdict_is_that_of_a_report(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custext_sql.experiments.report.SIMULATIONS", 50)
    texts = ["alice met the bob and carol", "dave saw erin", "frank grace heidi ivan and judy", "mallory niaj olivia"]
    choice = choose(mapped_db, data=texts, max_attack=0.9, k=[4, 8], plus=True)
    assert choice.chosen is not None and choice.chosen.eps == 0.0 and choice.verdict is not None
    build_mapping(mapped_db, embedding="small", k=8)
    report = write_report(mapped_db, data=texts, eps=0.0, plus=True, mapping=choice.chosen.mapping, words="alice")
    for part in ("word", "row", "dataset", "in_clear", "summary"):
        assert getattr(choice.verdict, part) == getattr(report.verdict, part)
    assert choice.verdict.advice  # the report knows other alternatives
    assert choose(mapped_db, data=texts, max_attack=0.01, k=4).verdict is None
