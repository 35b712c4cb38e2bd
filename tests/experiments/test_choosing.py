"""The choice of eps and a mapping for a bound on an attack, and the mappings that it compares."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from custext_sql import build_mapping, drop_embedding, list_mappings, load_embeddings, use_mapping
from custext_sql.errors import CusTextError
from custext_sql.experiments import attack_context, choose, write_report
from custext_sql.experiments.bayes_attack import Prior, count_words, measure_bayes, uniform_prior
from custext_sql.experiments.choice_lines import describe_choice
from custext_sql.experiments.choosing import (
    BOUNDS,
    Candidate,
    Choice,
    find_candidate,
    find_eps_limit,
    list_contenders,
    measure_growth,
    pick_candidate,
    sample_texts,
)
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.report import Attacked
from custext_sql.experiments.verdict import GUESSED
from custext_sql.text.columns import open_column

NAMES = ["alice met the bob and carol", "dave saw erin", "frank grace heidi ivan and judy", "mallory niaj olivia"]
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


def test_a_bound_below_the_floor_is_out_of_reach(mapped_db: Path) -> None:
    choice = choose(mapped_db, data=NAMES, max_attack=0.3, k=4)
    assert choice.chosen is None and choice.verdict is None
    [candidate] = choice.candidates
    assert candidate.eps is None and candidate.success_at_0 > 0.3
    assert len(candidate.curve) > 10


@pytest.mark.parametrize("bound", [0.0, 1.0, -1.0, float("nan")])
def test_a_bound_is_a_probability(few_db: Path, bound: float) -> None:
    with pytest.raises(CusTextError, match="must be above 0 and below 1"):
        choose(few_db, data=TEXTS, max_attack=bound)


def test_the_default_bounds_are_those_of_a_verdict(mapped_db: Path) -> None:
    assert (GUESSED.green, GUESSED.amber) == (BOUNDS["bayes"], BOUNDS["context"])
    assert choose(mapped_db, data=["alice"], k=4).bound == BOUNDS["bayes"] == 0.2


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


def test_eps_stays_where_it_promises_something(mapped_db: Path) -> None:
    assert find_eps_limit(40) == 3.2 and find_eps_limit(2) == find_eps_limit(0) == 0.0
    for size in (5, 20, 160):
        limit = find_eps_limit(size)
        likely = [1.0 / (1.0 + (size - 1) * np.exp(-eps)) for eps in (limit, limit * 1.1)]
        assert likely[0] <= GUESSED.amber < likely[1]
    under_test = MappingUnderTest(mapped_db)
    attacked = Attacked(under_test, uniform_prior(16), plus=False)
    only, far = (find_candidate(attacked, 0.999, max_eps=most) for most in (0.0, 100.0))
    assert (only.max_eps, only.eps, only.curve[-1].eps) == (0.0, 0.0, 20.0)
    assert far.eps is not None and far.eps > 4.0
    with pytest.raises(CusTextError, match=r"--max-eps \(in Python: max_eps\): eps must be 0, or between"):
        choose(mapped_db, data=NAMES, max_eps=-1.0)


def test_the_verdict_is_that_of_a_report(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custext_sql.experiments.report.SIMULATIONS", 50)
    choice = choose(mapped_db, data=NAMES, max_attack=0.9, k=[4, 8], plus=True)
    assert choice.chosen is not None and choice.chosen.eps == 0.0 and choice.verdict is not None
    build_mapping(mapped_db, embedding="small", k=8)
    report = write_report(mapped_db, data=NAMES, eps=0.0, plus=True, mapping=choice.chosen.mapping, words="alice")
    for part in ("word", "row", "dataset", "in_clear", "summary"):
        assert getattr(choice.verdict, part) == getattr(report.verdict, part)
    assert choice.verdict.advice  # the report knows other alternatives


def test_several_k_are_tried_and_nothing_is_stored(mapped_db: Path) -> None:
    before = list_mappings(mapped_db)
    shares: list[float] = []
    choice = choose(mapped_db, data=["alice and bob"], k=[8, 4, 2], max_attack=0.9, progress=shares.append)
    assert [(one.k, one.stored) for one in choice.candidates] == [(2, False), (4, True), (8, False)]
    assert list_mappings(mapped_db) == before
    assert shares == sorted(shares) and shares[-1] == 1.0
    for one in choice.candidates:
        assert {result.k for result in one.curve} == {one.k}


def test_a_mapping_in_memory_is_the_one_that_would_be_built(mapped_db: Path) -> None:
    recipe: dict[str, Any] = {"embedding": "small", "grouping": "refined", "separate_stopwords": True}
    build_mapping(mapped_db, k=4, name="mine", **recipe)
    use_mapping(mapped_db, name="mine")
    made = {one.k: one for one in choose(mapped_db, data=["alice and bob"], k=(4, 8), max_attack=0.9).candidates}
    assert made[4].stored and made[4].mapping == "mine"
    report = build_mapping(mapped_db, k=8, **recipe)
    assert report.info.name == made[8].mapping == "small-euclidean-k8-refined-apart"
    assert report.info.fingerprint == made[8].fingerprint
    again = choose(mapped_db, data=["alice and bob"], k=(4, 8), max_attack=0.9)
    assert again.candidates[1].stored and again.candidates[1].curve == made[8].curve


def test_the_usual_k_are_those_for_which_there_are_enough_words(few_db: Path, mapped_db: Path) -> None:
    assert [one.k for one in list_contenders(few_db)] == [20, 40, 80, 160]
    assert [(one.k, one.stored) for one in list_contenders(mapped_db)] == [(4, True)]


def test_another_embedding_is_grouped_in_the_same_way(mapped_db: Path) -> None:
    load_embeddings(mapped_db, "starter", name="other", limit=30)
    [contender] = list_contenders(mapped_db, 10, "other")
    assert (contender.name, contender.stored) == ("other-euclidean-k10", False)
    assert len(contender.open(lambda share: None).words) == 30


def test_what_cannot_be_tried_is_an_error_that_says_what_to_do(mapped_db: Path) -> None:
    for sizes, message in (([1], "at least 2, such as 20,40; found 1"), ([], "found none"), ("20", "a whole number")):
        with pytest.raises(CusTextError, match=message):
            list_contenders(mapped_db, sizes, None)  # type: ignore[arg-type]
    with pytest.raises(CusTextError, match="embedding 'smal' does not exist; did you mean 'small'"):
        list_contenders(mapped_db, None, "smal")
    with pytest.raises(CusTextError, match=r"leave out --k \(in Python: k\)"):
        choose(mapped_db, data=TEXTS, k=4, mappings="small-euclidean-k4")
    with pytest.raises(CusTextError, match="must not exceed the number of words, 16; found 17"):
        list_contenders(mapped_db, [4, 17], None)
    drop_embedding(mapped_db, name="small")
    with pytest.raises(CusTextError, match="custext load FILE --name small --replace; or name stored mappings"):
        list_contenders(mapped_db)
    assert list_contenders(mapped_db, mappings="small-euclidean-k4")[0].stored


@pytest.mark.parametrize(
    ("data", "message"), [("nothing.txt", "nothing.txt does not exist"), (["unknown"], "found no words")]
)
def test_wrong_texts_are_found_before_anything_is_made(
    mapped_db: Path, data: str | list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("custext_sql.experiments.choosing.make_mapping", None)
    with pytest.raises(CusTextError, match=message):
        choose(mapped_db, data=data, k=[2, 4])


def test_a_similarity_function_has_no_other_k(loaded_db: Path) -> None:
    build_mapping(loaded_db, embedding="small", k=4, measure=lambda a, b: a @ b.T, larger_is_closer=True)
    with pytest.raises(CusTextError, match="made with a similarity function.*--mapping NAME"):
        list_contenders(loaded_db)


def test_a_sample_of_texts_covers_all_of_them() -> None:
    texts = [f"word {number}" for number in range(1000)]
    assert sample_texts(texts) == texts
    sample = sample_texts(texts, words=200, fewest=50)
    assert sample[:3] == ["word 0", "word 10", "word 20"] and len(sample) == 100
    assert len(sample_texts(texts, words=20, fewest=50)) == 50


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
