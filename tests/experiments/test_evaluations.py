"""Evaluations: trials of the utility table, and privacy against utility."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from custext_sql import build_mapping, drop_embedding
from custext_sql.errors import CusTextError
from custext_sql.experiments import attack_context, evaluate_tradeoff, evaluate_utility
from custext_sql.experiments.bayes_attack import measure_guess
from custext_sql.experiments.evaluations import Experiment, TradeOff, measure_utility, summarize
from custext_sql.experiments.mask_attack import attack_trial, choose_guesser, find_r_mask
from custext_sql.experiments.mechanisms import MappingUnderTest, Trial, list_trials
from custext_sql.kinds import Kind

PUBLIC = ["the film was great and the story was dull", "a great story", "a dull film"]


def evaluate(database: Path, experiment: Experiment, **settings: Any) -> list[TradeOff]:
    return list(evaluate_tradeoff(database, train=experiment.train, test=experiment.test, **settings).points)


def attack(database: Path, experiment: Experiment, mechanism: str, epsilon: float, seeds: int) -> list[Counter[str]]:
    """Return how many words an attacker guesses who knows the training texts, for each seed."""
    trials = list_trials([MappingUnderTest(database)], [mechanism], [epsilon], seeds)
    open_guesser = choose_guesser("ngram", public=[text for row in experiment.train.texts for text in row])
    return [attack_trial(trial, experiment.tested, open_guesser, lambda share: None) for trial in trials]


def test_a_table_has_one_trial_per_eps_and_seed(mapped_db: Path) -> None:
    build_mapping(mapped_db, embedding="small", k=8)
    mappings = [MappingUnderTest(mapped_db), MappingUnderTest(mapped_db, mapping="small-euclidean-k8")]
    for name, count in (("original", 1), ("random", 3), ("custext", 12), ("santext", 6)):  # SANTEXT has no groups
        assert len(list_trials(mappings, [name], [1.0, 2.0], 3)) == count


def test_a_model_uses_what_the_words_retain(few_db: Path, experiment: Experiment) -> None:
    under_test = MappingUnderTest(few_db)
    trials = list_trials([under_test], ["original", "custext", "random"], [20.0], 1)
    found = dict(zip([trial.name for trial in trials], measure_utility(experiment, trials), strict=True))
    assert found["original"] > 0.95
    assert found["custext"] > 0.9  # at eps = 20, words hardly change
    assert found["random"] < 0.7


def test_the_accuracy_is_that_of_a_model_trained_by_hand(few_db: Path, experiment: Experiment) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    trials = list_trials([MappingUnderTest(few_db)], ["custext"], [4.0], 2)
    texts = [text for part in (experiment.train, experiment.test) for (text,) in part.texts]
    new, count = Trial(MappingUnderTest(few_db), "custext", 4.0, 1).sanitize(texts), len(experiment.train.texts)
    words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    model = make_pipeline(words, LogisticRegression(max_iter=1000)).fit(new[:count], experiment.train.labels)
    expected = model.score(new[count:], experiment.test.labels)
    assert measure_utility(experiment, trials)[1] == pytest.approx(expected, abs=1e-12)


def test_missing_vectors_are_an_error_before_anything_is_trained(
    few_db: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("custext_sql.experiments.evaluations.predict_by_tfidf", None)
    drop_embedding(few_db, name="starter")
    for more in ({"mechanisms": ["custext", "santext"]}, {"mechanisms": "custext", "model": "embedding"}):
        with pytest.raises(CusTextError, match="this needs the vectors"):
            evaluate_utility(
                few_db, train=experiment.train, test=experiment.test, mappings="starter-euclidean-k20", **more
            )


def test_points_are_means_over_seeds(few_db: Path, experiment: Experiment) -> None:
    trials = list_trials([MappingUnderTest(few_db)], ["custext"], [3.0], 3)
    [point] = evaluate(few_db, experiment, mechanisms="custext", eps=3.0, seeds=3)
    assert point.utility == summarize(measure_utility(experiment, trials))
    assert point.success == summarize([find_r_mask(one) for one in attack(few_db, experiment, "custext", 3.0, 3)])
    figure = summarize([0.5, 0.7])
    assert figure.mean == pytest.approx(0.6) and figure.spread == pytest.approx(0.1414, abs=1e-4)
    assert summarize([0.5]).spread is None


@pytest.mark.slow
def test_bayes_uses_groups_and_frequencies(few_db: Path, experiment: Experiment) -> None:
    build_mapping(few_db, embedding="starter", k=50)
    names = ["starter-euclidean-k20", "starter-euclidean-k50"]
    settings: dict[str, Any] = {"mappings": names, "attack": "bayes", "eps": 2.0}
    found = evaluate(few_db, experiment, mechanisms=["custext", "custext+"], seeds=2, **settings)
    points = {(one.mechanism, one.k): one for one in found}
    assert len(points) == 4 and all(one.success.spread is None for one in points.values())
    words = [word for (text,) in experiment.test.texts for word in text.split()]
    for under_test in (MappingUnderTest(few_db, mapping=name) for name in names):
        for name, kept in (("custext", frozenset()), ("custext+", under_test.stopwords)):
            drawn = np.zeros(len(under_test.mapping.words))
            in_clear = 0
            for word in words:
                if word in under_test.mapping.index and word not in kept:
                    drawn[under_test.mapping.index[word]] += 1.0
                elif not word.isdigit():
                    in_clear += 1
            expected = (in_clear + measure_guess(under_test, drawn, 2.0)) / len(words)
            assert points[name, under_test.mapping.info.k].success.mean == pytest.approx(expected)
    with pytest.raises(CusTextError, match="--attack mask"):
        evaluate(few_db, experiment, mechanisms="santext", seeds=1, **settings)
    with pytest.raises(CusTextError, match="the mechanism original leaves all words in the clear"):
        evaluate(few_db, experiment, mechanisms="original", seeds=1, **settings)


@pytest.mark.slow
def test_the_success_of_the_context_attack_is_a_share_of_all_words(few_db: Path, experiment: Experiment) -> None:
    found = evaluate(few_db, experiment, attack="context", eps=[0.0, 2.0], seeds=1, public=PUBLIC)
    points = {(point.mechanism, point.eps): point for point in found}
    assert set(points) == {(name, eps) for name in ("custext", "custext+") for eps in (0.0, 2.0)}
    for plus, name in ((False, "custext"), (True, "custext+")):
        single = attack_context(few_db, public=PUBLIC, data=experiment.tested, eps=2.0, plus=plus).results[0]
        compared = Trial(MappingUnderTest(few_db), name, 2.0).compare(experiment.tested)
        pieces = [piece for row in compared for piece in row if piece.kind is not None]
        replaced = sum(piece.kind == Kind.REPLACED for piece in pieces)
        expected = (single.success * replaced + sum(piece.in_clear for piece in pieces)) / len(pieces)
        assert points[name, 2.0].success.mean == pytest.approx(expected)


@pytest.mark.slow
def test_by_default_the_attacker_knows_the_training_texts(few_db: Path, experiment: Experiment) -> None:
    train = [text for row in experiment.train.texts for text in row]
    settings: dict[str, Any] = {"attack": "context", "eps": 1.0, "seeds": 2, "mechanisms": "custext"}
    [point] = evaluate(few_db, experiment, **settings)
    assert [point] == evaluate(few_db, experiment, **settings, public=train)
    assert point.success.spread is not None
