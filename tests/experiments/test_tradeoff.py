"""Privacy versus utility."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from custext_sql import build_mapping, evaluate_tradeoff, load_embeddings
from custext_sql.errors import CusTextError
from custext_sql.experiments import tradeoff_page
from custext_sql.experiments.attacks.bayes_attack import measure_success
from custext_sql.experiments.attacks.mask_attack import GuessCounts, attack_trial, choose_guesser
from custext_sql.experiments.charts import draw_chart
from custext_sql.experiments.evaluation.evaluations import (
    Figure,
    TradeOff,
    TradeOffEvaluation,
    measure_utility,
    summarize,
)
from custext_sql.experiments.evaluation.experiment import EvaluationSetup, Experiment
from custext_sql.experiments.mechanisms import MappingUnderTest, list_trials
from custext_sql.mechanism.certified_table import certify


def evaluate(database: Path, experiment: Experiment, **settings: Any) -> list[TradeOff]:
    return list(evaluate_tradeoff(database, train=experiment.train, test=experiment.test, **settings).points)


def attack(database: Path, experiment: Experiment, mechanism: str, epsilon: float, seeds: int) -> list[GuessCounts]:
    """Return how many words an attacker guesses who knows the training texts, for each seed."""
    trials = list_trials([MappingUnderTest(database)], [mechanism], [epsilon], seeds)
    open_guesser = choose_guesser("ngram", public=[text for row in experiment.train.texts for text in row])
    return [attack_trial(trial, experiment.tested, open_guesser, lambda share: None) for trial in trials]


@pytest.mark.slow
def test_more_eps_is_more_useful_and_less_private(few_db: Path, experiment: Experiment) -> None:
    found = evaluate(few_db, experiment, mechanisms=["custext", "random"], eps=[0.5, 20.0], seeds=2)
    points = {(one.mechanism, one.eps): one for one in found}
    little, much = points["custext", 0.5], points["custext", 20.0]
    assert little.utility.mean < much.utility.mean
    assert little.success.mean < much.success.mean
    assert points["random", None].success.mean < much.success.mean
    assert much.attack == "mask (ngram)" and much.k == 20
    assert much.utility.spread is not None and much.success.spread is not None


def test_points_are_means_over_seeds(few_db: Path, experiment: Experiment) -> None:
    trials = list_trials([MappingUnderTest(few_db)], ["custext"], [3.0], 3)
    [point] = evaluate(few_db, experiment, mechanisms="custext", eps=3.0, seeds=3)
    assert point.utility == summarize(measure_utility(experiment, trials))
    assert point.success == summarize([one.r_mask for one in attack(few_db, experiment, "custext", 3.0, 3)])


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
        weights = certify(under_test.mapping.sizes, under_test.mapping.scores, 2.0).weights
        for name, kept in (("custext", frozenset()), ("custext+", under_test.stopwords)):
            drawn = np.zeros(len(under_test.mapping.words))
            in_clear = 0
            for word in words:
                if word in under_test.mapping.index and word not in kept:
                    drawn[under_test.mapping.index[word]] += 1.0
                elif not word.isdigit():
                    in_clear += 1
            expected = (in_clear + measure_success(under_test.mapping.sizes, weights, drawn)) / len(words)
            assert points[name, under_test.mapping.info.k].success.mean == pytest.approx(expected)
    with pytest.raises(CusTextError, match="--attack mask"):
        evaluate(few_db, experiment, mechanisms="santext", seeds=1, **settings)
    with pytest.raises(CusTextError, match="the mechanism original leaves all words in the clear"):
        evaluate(few_db, experiment, mechanisms="original", seeds=1, **settings)


@pytest.mark.slow
def test_vectors_of_two_embeddings_are_two_rows(few_db: Path, experiment: Experiment) -> None:
    """This includes two embeddings from one file, of which more was loaded the second time."""
    load_embeddings(few_db, "starter", name="less", limit=1000)
    build_mapping(few_db, embedding="less", k=20)
    names = ["starter-euclidean-k20", "less-euclidean-k20"]
    points = evaluate(few_db, experiment, mappings=names, mechanisms=["random", "santext"], eps=5.0, seeds=1)
    assert len(points) == 4 and {(one.mechanism, one.embedding) for one in points} == {
        (mechanism, embedding) for mechanism in ("random", "santext") for embedding in ("starter", "less")
    }


def test_kept_stopwords_are_easy_to_guess(few_db: Path, experiment: Experiment) -> None:
    [found] = attack(few_db, experiment, "custext+", 5.0, 1)
    assert found.r_mask_sampled is not None and found.r_mask > found.r_mask_sampled
    assert found.standard_error == pytest.approx((found.r_mask * (1 - found.r_mask) / 500) ** 0.5, rel=0.1)


def test_the_built_in_attacker_needs_public_texts() -> None:
    with pytest.raises(CusTextError, match=r"learns from public texts; use --public FILE"):
        choose_guesser("ngram", public=None)


def test_a_figure_is_a_mean_and_a_spread() -> None:
    figure = summarize([0.5, 0.7])
    assert figure.mean == pytest.approx(0.6)
    assert figure.spread == pytest.approx(0.1414, abs=1e-4)
    assert summarize([0.5]).spread is None


@pytest.mark.parametrize("metric, low", [("accuracy", 0.0), ("pearson", -0.03)])
def test_an_error_bar_goes_below_0_only_for_a_correlation(
    metric: str, low: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = TradeOff("custext", "glove", None, 20, 1.0, metric, Figure(0.02, 0.05), "mask", Figure(0.1, None))
    setup = EvaluationSetup("train; test", metric, "model", 1, 1, ("glove",), "paper", "paper", {})
    given: dict[str, Any] = {}
    monkeypatch.setattr(tradeoff_page, "embed_chart", lambda title, series, **more: given.update(more, series=series))
    tradeoff_page.render_tradeoff(TradeOffEvaluation(setup, "mask", (point,)))
    figure = draw_chart(**given)
    [[(_, lowest), _]] = figure.axes[0].collections[0].get_segments()
    assert lowest == pytest.approx(low)
