"""The choice of eps and a mapping for a bound on an attack."""

from pathlib import Path

import numpy as np
import pytest

from custext_sql import attack_context, build_mapping, choose, drop_embedding
from custext_sql.errors import CusTextError
from custext_sql.experiments.attacks.bayes_attack import measure_bayes
from custext_sql.experiments.attacks.priors import Prior, count_words, uniform_prior
from custext_sql.experiments.choice import choose_setting
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.text.columns import open_column

TEXTS = ["the doctor said that the nurse was kind and the doctor was late", "I love this camera and the music"]


def count(under_test: MappingUnderTest) -> Prior:
    return count_words([open_column(TEXTS)[0]], under_test.vocabulary, "texts")


def test_the_largest_eps_within_the_bound_is_chosen(few_db: Path) -> None:
    under_test = MappingUnderTest(few_db)
    prior = uniform_prior(len(under_test.mapping.words))
    choice = choose_setting(few_db, [(under_test, prior)], 0.2)
    assert choice.chosen is not None and choice.chosen.eps is not None
    eps = choice.chosen.eps
    [here, above] = measure_bayes(few_db, under_test.mapping, [prior], [eps, eps * 1.04])
    assert choice.chosen.success == here.success <= 0.2 < above.success
    assert float(f"{eps:.2g}") == eps


@pytest.mark.slow
@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_the_bound_holds_with_either_calibration(few_db: Path, calibration: str) -> None:
    under_test = MappingUnderTest(few_db, calibration=calibration)
    prior = count(under_test)
    choice = choose_setting(few_db, [(under_test, prior)], 0.97)
    assert choice.calibration == calibration
    assert choice.chosen is not None and choice.chosen.eps is not None
    [found] = measure_bayes(few_db, under_test.mapping, [prior], [choice.chosen.eps], calibration=calibration)
    assert found.success <= 0.97


@pytest.mark.slow
def test_among_mappings_the_closest_replacements_win(few_db: Path) -> None:
    build_mapping(few_db, embedding="starter", k=5)
    mappings = [MappingUnderTest(few_db), MappingUnderTest(few_db, mapping="starter-euclidean-k5")]
    choice = choose_setting(few_db, [(under_test, count(under_test)) for under_test in mappings], 0.95)
    distances = {candidate.mapping: candidate.distance for candidate in choice.candidates}
    assert None not in distances.values()
    assert choice.chosen is not None
    assert choice.chosen.distance == min(distance for distance in distances.values() if distance is not None)


@pytest.mark.slow
def test_without_vectors_the_largest_eps_wins(few_db: Path) -> None:
    build_mapping(few_db, embedding="starter", k=40)
    drop_embedding(few_db, name="starter")
    mappings = [MappingUnderTest(few_db), MappingUnderTest(few_db, mapping="starter-euclidean-k40")]
    choice = choose_setting(few_db, [(under_test, count(under_test)) for under_test in mappings], 0.9)
    assert choice.chosen is not None
    assert choice.chosen.eps == max(candidate.eps or 0.0 for candidate in choice.candidates)


def test_a_bound_below_the_floor_is_out_of_reach(few_db: Path) -> None:
    under_test = MappingUnderTest(few_db)
    choice = choose_setting(few_db, [(under_test, count(under_test))], 0.3)
    assert choice.chosen is None
    [candidate] = choice.candidates
    assert candidate.eps is None and candidate.floor > 0.3
    assert len(candidate.curve) > 10


def test_kept_stopwords_are_not_in_the_prior(few_db: Path) -> None:
    under_test = MappingUnderTest(few_db)
    both = [
        choose_setting(few_db, [(under_test, count(under_test))], 0.99, plus=plus).candidates[0]
        for plus in (False, True)
    ]
    assert both[0].floor != both[1].floor


@pytest.mark.parametrize("bound", [0.0, 1.0, -1.0, float("nan")])
def test_a_bound_is_a_probability(few_db: Path, bound: float) -> None:
    under_test = MappingUnderTest(few_db)
    with pytest.raises(CusTextError, match="must be above 0 and below 1"):
        choose_setting(few_db, [(under_test, count(under_test))], bound)


def test_a_bound_is_a_number(few_db: Path) -> None:
    with pytest.raises(CusTextError, match="must be a number between 0 and 1; found str"):
        choose(few_db, max_attack="0.3", data=TEXTS)  # type: ignore[arg-type]


def test_eps_0_is_chosen_if_its_replacements_are_closer(few_db: Path) -> None:
    under_test = MappingUnderTest(few_db)
    candidates = [(under_test, count(under_test))]
    chosen = choose_setting(few_db, candidates, 0.9).chosen
    assert chosen is not None and chosen.eps == 0.0
    assert chosen.success == chosen.floor == chosen.curve[0].success
    assert chosen.distance == pytest.approx(find_distance_at_0(under_test, TEXTS))
    uniform = [(under_test, uniform_prior(len(under_test.mapping.words)))]
    barely = choose_setting(few_db, uniform, 0.0501).chosen  # groups have 20 words
    assert barely is not None and barely.eps == 0.0 and barely.success == pytest.approx(0.05)


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
    lenient = choose(few_db, max_attack=0.97, attack="context", data=TEXTS, public=public)
    [candidate] = lenient.candidates
    assert (lenient.attack, lenient.public, lenient.left_out) == ("context", "texts", 0)
    assert candidate.eps is not None and candidate.success is not None and candidate.success <= 0.97
    assert candidate.floor == attack_context(few_db, data=TEXTS, public=public, eps=0.0).results[0].success
    [same] = attack_context(few_db, data=TEXTS, public=public, eps=candidate.eps).results
    assert same.success == candidate.success
    strict = choose(few_db, max_attack=0.001, attack="context", data=TEXTS, public=public)
    assert strict.chosen is None


def test_the_context_attack_needs_both_texts(few_db: Path) -> None:
    for more in ({"data": TEXTS}, {"public": TEXTS, "prior": "words.csv"}):
        with pytest.raises(CusTextError, match="needs your texts and public texts; use --data FILE and --public FILE"):
            choose(few_db, max_attack=0.5, attack="context", **more)
    with pytest.raises(CusTextError, match="is for the context attack; add --attack context"):
        choose(few_db, max_attack=0.5, data=TEXTS, public=TEXTS)
    with pytest.raises(CusTextError, match="attack must be one of bayes, context; found 'mask'"):
        choose(few_db, max_attack=0.5, attack="mask", data=TEXTS)
